/**
 * A machine's life without failures, and its number of requests.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure, fixture, request, USER_DATA, withId } from './fixture.js';

test('an ordinary create takes one request and its initialization none', async () => {
  const { cloud, driver, sent } = fixture();
  const vm = await driver.create(request(1));
  assert.deepEqual(sent(), ['POST /v1/vms']);
  const [made] = cloud.live;
  assert.equal(vm.providerId, `sim:///sim-1a/${made.id}`);
  assert.deepEqual([vm.nodeName, vm.failureDomain, vm.addresses], ['machine-1', 'sim-1a', [{ kind: 'InternalIP', address: '10.0.0.1' }]]);
  assert.deepEqual(made.tags, { cluster: 'c1', 'machine-uid': 'uid-1', 'machine-name': 'machine-1' });

  assert.equal((await failure(driver.initialize(request(1)))).code, 'unimplemented');
  assert.equal((await driver.initialize(withId(request(1), vm))).providerId, vm.providerId);
  assert.deepEqual(sent(), []);
});

test('the cloud gets token and user data, and the driver sees neither', async () => {
  const { cloud, driver } = fixture();
  await driver.create(request(1));
  assert.equal(atob(cloud.live[0].userData), USER_DATA);
  const seen = JSON.stringify(driver.sent) + new TextDecoder().decode(driver.sent[0].body);
  for (const secret of ['sim-token', btoa(USER_DATA), USER_DATA]) assert.ok(!seen.includes(secret));
});

test('a create repeated is the same VM', async () => {
  const { cloud, driver } = fixture();
  const first = await driver.create(request(1));
  cloud.complete();
  const second = await driver.create(request(1));
  assert.deepEqual([second.providerId, second.state, cloud.live.length], [first.providerId, 'running', 1]);
});

test('a VM is found by id and without it by uid', async () => {
  const { driver, sent } = fixture();
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'not-found');
  const vm = await driver.create(request(1));
  sent();
  for (const asked of [request(1), withId(request(1), vm)]) {
    assert.equal((await driver.getStatus(asked)).providerId, vm.providerId);
    assert.equal(sent().length, 1);
  }
});

test('a class that asks is initialized once', async () => {
  const { cloud, driver, sent } = fixture();
  const asked = request(1, { initialize: true });
  const vm = await driver.create(asked);
  cloud.complete();
  const due = await failure(driver.getStatus(asked));
  assert.deepEqual([due.code, due.facts.providerId, due.facts.nodeName], ['uninitialized', vm.providerId, 'machine-1']);
  sent();
  await driver.initialize(withId(asked, vm));
  assert.equal(sent().length, 1);
  assert.equal((await driver.initialize(asked)).providerId, vm.providerId);
  assert.deepEqual(sent(), ['GET /v1/vms']);
  assert.equal((await driver.getStatus(asked)).state, 'running');
  assert.equal((await failure(driver.initialize(request(2, { initialize: true })))).code, 'not-found');
});

test('a deletion takes the VM and its volumes and may be repeated', async () => {
  const { cloud, driver, sent } = fixture();
  const made = request(1, { volumes: [{ sizeGib: 20, name: 'data' }] });
  const asked = withId(made, await driver.create(made));
  const other = await driver.create(request(2));
  cloud.addVolume({ cluster: 'c1', 'machine-uid': 'uid-1' });
  const foreign = cloud.addVolume({ cluster: 'c2', 'machine-uid': 'uid-1' });
  cloud.complete();
  sent();
  await driver.delete(asked);
  assert.equal(sent().length, 4);
  cloud.complete();
  assert.deepEqual([...cloud.volumes.keys()], [foreign.id]);
  assert.equal((await failure(driver.getStatus(asked))).code, 'not-found');
  sent();
  await driver.delete(asked);
  assert.equal(sent().length, 3);
  assert.deepEqual(
    (await driver.list({ class: asked.class, cluster: 'c1' })).machines.map(({ providerId }) => providerId),
    [other.providerId],
  );
});

test('a deletion works without an id and with any class', async () => {
  const { cloud, driver } = fixture();
  await driver.create(request(1));
  const asked = request(1);
  await driver.delete({ ...asked, class: { ...asked.class, spec: '{ nonsense' } });
  cloud.complete();
  assert.equal(cloud.live.length, 0);
});

test('all VMs of one uid are seen and deleted', async () => {
  const { cloud, driver } = fixture();
  await driver.create(request(1));
  await driver.create({ ...request(1), idempotencyKey: 'another' });
  const error = await failure(driver.getStatus(request(1)));
  assert.equal(error.code, 'out-of-range');
  assert.match(error.message, /2 VMs/);
  await driver.delete(request(1));
  cloud.complete();
  assert.equal(cloud.live.length, 0);
});

test('what belongs to another cluster is left alone', async () => {
  const { cloud, driver } = fixture();
  const theirs = await driver.create({ ...request(1), cluster: 'c2' });
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'not-found');
  await driver.delete(request(1));
  // The id leads to it: the control plane was moved, and both "there is none" and "it is removed" would be wrong.
  const known = withId(request(1), theirs);
  assert.equal((await failure(driver.getStatus(known))).code, 'failed-precondition');
  assert.match((await failure(driver.delete(known))).message, /--cluster-id=c2/);
  assert.equal(cloud.live.length, 1);
  assert.ok(driver.lines.length > 0 && driver.lines.every(({ message }) => message.includes('left alone')));
  assert.deepEqual((await driver.list({ class: request(1).class, cluster: 'c1' })).machines, []);
});

test('a machine restored under another uid keeps its VM', async () => {
  const { cloud, driver } = fixture();
  const vm = await driver.create(request(1));
  const restored = withId(request(1), vm);
  restored.machine.uid = 'uid-of-later';
  assert.equal((await driver.getStatus(restored)).providerId, vm.providerId);
  await driver.delete(restored);
  cloud.complete();
  assert.equal(cloud.live.length, 0);
});

test('a listing shows each VM once over all pages', async () => {
  const { driver } = fixture();
  for (let number = 0; number < 450; number += 1) await driver.create(request(number));
  const uids = [];
  let token;
  do {
    const page = await driver.list({ class: request(0).class, cluster: 'c1', token });
    uids.push(...page.machines.map(({ machineUid }) => machineUid));
    assert.ok(page.machines.every(({ createdAtMs }) => createdAtMs === 1_767_323_045_000));
    token = page.next;
  } while (token !== undefined);
  assert.deepEqual([uids.length, new Set(uids).size], [450, 450]);
});

test('a rebooted VM stays the same', async () => {
  const { cloud, driver, sent } = fixture();
  assert.equal((await failure(driver.reboot(request(1)))).code, 'not-found');
  const vm = await driver.create(request(1));
  cloud.complete();
  sent();
  await driver.reboot(withId(request(1), vm));
  const [{ id, bootId }] = cloud.live;
  assert.deepEqual(sent(), [`GET /v1/vms/${id}`, `POST /v1/vms/${id}/reboot`]);
  assert.equal(bootId, 2);
  await driver.delete(request(1));
  assert.equal((await failure(driver.reboot(request(1)))).code, 'not-found');
});

test('volumes of other kinds have no id here', async () => {
  const { driver } = fixture();
  const csi = (/** @type {object} */ fields) => JSON.stringify({ csi: fields });
  const specs = [
    csi({ driver: 'sim.csi.machinist.dev', volumeHandle: 'vol-1' }),
    csi({ driver: 'other', volumeHandle: 'vol-1' }),
    csi({ driver: 'sim.csi.machinist.dev' }),
    '{"hostPath": {"path": "/"}}',
  ];
  assert.deepEqual(await driver.getVolumeIds(specs), ['vol-1', undefined, undefined, undefined]);
  const error = await failure(driver.getVolumeIds(['{}', '{']));
  assert.deepEqual([error.code, error.message], ['invalid-argument', 'failed to read volume spec 1: it is not JSON']);
});

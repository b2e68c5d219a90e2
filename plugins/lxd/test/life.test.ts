/**
 * The life of an instance: made, found, restarted, removed; what is foreign is left alone.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { InProgress } from 'machinist-sdk';

import { NEVER, refusal, sync } from './fake-lxd.js';
import { after, created, deleted, failure, fixture, request, USER_DATA } from './fixture.js';

const UID = request(1).machine.uid;
const MARKS = { 'user.machinist-cluster': 'lab', 'user.machinist-uid': UID, 'user.machinist-name': 'worker-1' };

test('a create orders an instance and starts it, with four requests', async () => {
  const { lxd, driver, sent } = fixture();
  const vm = await created(driver, request(1));
  const [instance] = lxd.live;
  assert.match(instance!.name, /^worker-1-[0-9a-f]{10}$/);
  assert.deepEqual(sent(), [
    'POST /1.0/instances',
    'GET /1.0/operations/ID/wait',
    `PUT /1.0/instances/${instance!.name}/state`,
    'GET /1.0/operations/ID/wait',
  ]);
  assert.deepEqual(
    { providerId: vm.providerId, nodeName: vm.nodeName, state: vm.state, failureDomain: vm.failureDomain },
    { providerId: `lxd:///default/${instance!.name}`, nodeName: instance!.name, state: 'running', failureDomain: 'lab-1' },
  );
  assert.equal(instance!.status, 'Running');
  assert.deepEqual(instance!.body, {
    name: instance!.name,
    type: 'container',
    source: { type: 'image', alias: 'small' },
    profiles: ['default'],
    config: { 'limits.cpu': '2', 'limits.memory': '2GiB', ...MARKS, 'cloud-init.user-data': USER_DATA },
    devices: {},
  });
});

test('the host authenticates each request over TLS and none over plain HTTP', async () => {
  const { driver } = fixture();
  await created(driver, request(1));
  assert.ok(
    driver.sent.every(({ headers }) => headers.some(([name, value]) => name === 'machinist-auth' && value === 'client-certificate')),
  );
  driver.sent.splice(0);
  driver.surroundings = { ...driver.surroundings, settings: { endpoint: 'http://lxd.test:8080' }, grants: undefined, secrets: {} };
  await driver.getStatus(request(1));
  assert.ok(driver.sent.length > 0 && driver.sent.every(({ headers }) => headers.every(([name]) => name !== 'machinist-auth')));
});

test('an operation that takes longer ends the call, and the next one continues', async () => {
  const { lxd, driver, sent } = fixture();
  lxd.rounds = 1;
  const first = (await driver.create(request(1))) as InProgress;
  assert.ok(first instanceof InProgress);
  assert.match(first.message, /LXD makes the instance/);
  sent();
  const second = (await driver.create(after(request(1), { lastKnownState: first.resumeToken }))) as InProgress;
  // The instance is there, and its start takes a round as well.
  assert.match(second.message, /LXD starts the instance/);
  assert.deepEqual(sent()[0], 'GET /1.0/operations/ID/wait');
  const vm = await created(driver, after(request(1), { lastKnownState: second.resumeToken }));
  assert.deepEqual([vm.state, lxd.created, vm.lastKnownState], ['running', 1, '{"project":"default","step":"started","location":"lab-1"}']);
});

test('a wait is no longer than the call, and no longer than five seconds', async () => {
  const { driver } = fixture();
  for (const [remainingMs, seconds] of [
    [60_000, '5'],
    [6_500, '3'],
    [2_000, '0'],
  ] as const) {
    driver.surroundings = { ...driver.surroundings, remainingMs };
    driver.arrived.splice(0);
    await created(driver, request(seconds === '5' ? 1 : seconds === '3' ? 2 : 3));
    assert.equal(driver.arrived[1]!.url.searchParams.get('timeout'), seconds);
  }
});

test('a call with little time ends after a step, and the next one continues', async () => {
  const { lxd, driver, sent } = fixture();
  driver.surroundings = { ...driver.surroundings, remainingMs: 900 };
  const first = (await driver.create(request(1))) as InProgress;
  assert.match(first.message, /LXD starts the instance/);
  const vm = await created(driver, after(request(1), { lastKnownState: first.resumeToken }));
  assert.equal(lxd.created, 1);
  sent();
  assert.ok((await driver.delete(after(request(1), vm))) instanceof InProgress);
  assert.equal(sent().length, 3);
  await deleted(driver, after(request(1), vm));
  assert.equal(lxd.live.length, 0);
});

test('an operation that LXD has forgotten is looked up in the instance', async () => {
  const { lxd, driver } = fixture();
  lxd.rounds = 5;
  const { resumeToken } = (await driver.create(request(1))) as InProgress;
  lxd.forgetOperations();
  lxd.rounds = 0;
  await created(driver, after(request(1), { lastKnownState: resumeToken }));
  assert.deepEqual([lxd.created, lxd.live[0]!.status], [1, 'Running']);
});

test('a creation that failed while nobody asked begins again', async () => {
  const { lxd, driver } = fixture();
  lxd.rounds = 5;
  lxd.failing.create = 'no space left on device';
  const { resumeToken } = (await driver.create(request(1))) as InProgress;
  lxd.forgetOperations();
  lxd.rounds = 0;
  const error = await failure(driver.create(after(request(1), { lastKnownState: resumeToken })));
  assert.deepEqual([error.code, error.mayHaveHappened], ['aborted', true]);
  await created(driver, after(request(1), { lastKnownState: error.facts.lastKnownState }));
  assert.deepEqual([lxd.created, lxd.live.length], [2, 1]);
});

test('a create that is repeated without its note finds the same instance in every stage', async () => {
  for (const rounds of [0, 1, 3]) {
    const { lxd, driver } = fixture();
    lxd.rounds = rounds;
    const first = await driver.create(request(1));
    const vm = await created(driver, request(1));
    assert.deepEqual([lxd.created, lxd.live.length, lxd.live[0]!.status], [1, 1, 'Running']);
    if (!(first instanceof InProgress)) assert.equal(vm.providerId, first.providerId);
  }
});

test('an LXD that refuses at once what others refuse in the operation is understood', async () => {
  const { lxd, driver } = fixture();
  const vm = await created(driver, request(1));
  lxd.live[0]!.status = 'Stopped';
  let starts = 0;
  lxd.fault = ({ method, url }) => {
    if (method === 'POST') return refusal(409, 'Instance "worker-1" already exists');
    if (method !== 'PUT') return undefined;
    starts += 1;
    if (starts > 1) return undefined;
    return refusal(400, 'Instance is busy running a "start" operation');
  };
  assert.deepEqual([(await created(driver, request(1))).providerId, starts, lxd.created], [vm.providerId, 2, 1]);
  lxd.fault = ({ method }) => (method === 'PUT' ? refusal(400, 'The instance is already running') : undefined);
  lxd.live[0]!.status = 'Stopped';
  // It is shown as stopped for ever: the call ends all the same.
  assert.ok((await driver.create(request(1))) instanceof InProgress);
  lxd.fault = ({ method }) => (method === 'PUT' ? refusal(400, 'The instance is already stopped') : undefined);
  lxd.live[0]!.status = 'Running';
  const asked = after(request(1), vm);
  assert.ok((await driver.delete(asked)) instanceof InProgress);
  lxd.live[0]!.status = 'Stopped';
  await deleted(driver, asked);
  assert.equal(lxd.live.length, 0);
});

test('a deletion while reads do not show the instance removes it', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.fault = ({ method, url }) => {
    if (method !== 'GET' || !url.pathname.startsWith('/1.0/instances')) return undefined;
    return url.pathname === '/1.0/instances' ? sync([]) : refusal(404, 'Instance not found');
  };
  await deleted(driver, asked);
  assert.equal(lxd.live.length, 0);
});

test('a member that is offline hides no instance', async () => {
  const { lxd, driver } = fixture();
  await created(driver, request(1));
  // Its instances have no configuration in a search, so a filter leaves them out.
  lxd.fault = ({ method, url }) => {
    if (method !== 'GET' || !url.pathname.startsWith('/1.0/instances')) return undefined;
    return url.pathname === '/1.0/instances' ? sync([]) : refusal(503, 'Cluster member "lab-2" is offline');
  };
  for (const call of [driver.getStatus(request(1)), driver.delete(request(1))]) {
    assert.equal((await failure(call)).code, 'unavailable');
  }
});

test('a start that fails says so, keeps the instance and is tried again', async () => {
  const { lxd, driver } = fixture();
  lxd.failing.start = 'Failed to start device "eth0": Missing source path "/dev/net"';
  const error = await failure(driver.create(request(1)));
  assert.deepEqual([error.code, error.cloudCode, error.mayHaveHappened], ['failed-precondition', 'start-failed', true]);
  assert.match(error.message, /lxc info --show-log/);
  const vm = await created(driver, after(request(1), { lastKnownState: error.facts.lastKnownState }));
  assert.deepEqual([vm.state, lxd.created], ['running', 1]);
});

test('a status finds the instance by id and by uid, with its addresses', async () => {
  const { lxd, driver, sent } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  sent();
  const { name } = lxd.live[0]!;
  const vm = await driver.getStatus(asked);
  assert.deepEqual([sent().length, vm.state, vm.failureDomain], [1, 'running', 'lab-1']);
  assert.deepEqual(vm.addresses, [
    { kind: 'Hostname', address: name },
    { kind: 'InternalIP', address: '10.1.2.3' },
  ]);
  assert.deepEqual(await driver.getStatus(request(1)), vm);
});

test('a state is that of the instance', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  const [instance] = lxd.live;
  instance!.status = 'Stopped';
  assert.equal((await driver.getStatus(asked)).state, 'stopped');
  instance!.lastUsed = NEVER;
  assert.equal((await failure(driver.getStatus(asked))).code, 'uninitialized');
});

test('an instance whose create was interrupted before its start is uninitialized, and initialize starts it', async () => {
  const { lxd, driver, sent } = fixture();
  lxd.rounds = 1;
  await driver.create(request(1));
  lxd.forgetOperations();
  lxd.rounds = 0;
  const error = await failure(driver.getStatus(request(1)));
  assert.deepEqual([error.code, error.facts.nodeName], ['uninitialized', lxd.live[0]!.name]);
  const asked = after(request(1), { providerId: error.facts.providerId });
  lxd.failing.start = 'Failed to start device "eth0"';
  assert.deepEqual((await failure(driver.initialize(asked))).code, 'failed-precondition');
  lxd.rounds = 1;
  assert.deepEqual((await failure(driver.initialize(asked))).code, 'unavailable');
  lxd.rounds = 0;
  lxd.forgetOperations();
  assert.equal((await driver.initialize(asked)).state, 'running');
  assert.equal((await driver.getStatus(asked)).state, 'running');
  assert.deepEqual([lxd.created, lxd.live[0]!.status], [1, 'Running']);
  // A create that has noted the start costs no request.
  const vm = await created(driver, request(2));
  sent();
  assert.equal((await driver.initialize(after(request(2), vm))).providerId, vm.providerId);
  assert.deepEqual(sent(), []);
  assert.equal((await failure(driver.initialize(request(3)))).code, 'not-found');
});

test('an instance that is gone is not-found, whether it has an id or not', async () => {
  const { lxd, driver, sent } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.instances.clear();
  sent();
  assert.equal((await failure(driver.getStatus(asked))).code, 'not-found');
  assert.equal(sent().length, 1);
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'not-found');
  assert.equal(sent().length, 2);
});

test('a deletion stops and removes the instance, and is success when nothing is there', async () => {
  const { lxd, driver, sent } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  sent();
  await deleted(driver, asked);
  assert.equal(lxd.live.length, 0);
  assert.equal(sent().length, 5);
  await deleted(driver, asked);
  await deleted(driver, request(2));
  await deleted(driver, { ...asked, class: { ...asked.class, spec: '{"image": 7, "config": []}' } });
});

test('a deletion without an id, or of a stopped instance, or in the middle of a creation removes it', async () => {
  for (const rounds of [0, 2]) {
    const { lxd, driver } = fixture();
    lxd.rounds = rounds;
    await driver.create(request(1));
    await deleted(driver, request(1));
    assert.equal(lxd.live.length, 0);
  }
});

test('a deletion that comes while the stop still ends is continued', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.failing.delete = 'Failed to create instance delete operation: A matching non-reusable operation has now succeeded';
  assert.ok((await driver.delete(asked)) instanceof InProgress);
  await deleted(driver, asked);
  assert.equal(lxd.live.length, 0);
});

test('a deletion that fails says what is in the way', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.failing.delete = 'Instance is protected';
  const error = await failure(driver.delete(asked));
  assert.deepEqual([error.code, error.cloudCode], ['failed-precondition', 'protected']);
  assert.match(error.message, /security\.protection\.delete/);
});

test('two instances of a uid are out of range, and a deletion removes both', async () => {
  const { lxd, driver } = fixture();
  await created(driver, request(1));
  lxd.plant('copy', MARKS);
  const error = await failure(driver.getStatus(request(1)));
  assert.equal(error.code, 'out-of-range');
  assert.match(error.message, /copy/);
  await deleted(driver, request(1));
  assert.equal(lxd.live.length, 0);
});

test('foreign instances are refused and never touched', async () => {
  const { lxd, driver } = fixture();
  const other = { ...MARKS, 'user.machinist-cluster': 'other' };
  for (const [config, text] of [
    [other, /carries the mark of cluster other.*--cluster-id=other/],
    [{}, /no cluster's mark.*lxc config set/],
  ] as const) {
    lxd.plant('theirs', config);
    const asked = request(1, {}, { providerId: 'lxd:///default/theirs' });
    for (const call of [driver.getStatus(asked), driver.delete(asked), driver.reboot(asked)]) {
      const error = await failure(call);
      assert.equal(error.code, 'failed-precondition');
      assert.match(error.message, text);
    }
    assert.equal(lxd.live.length, 1);
  }
});

test('of two instances the one that is named is removed, and no other', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.plant('again', MARKS);
  lxd.plant('theirs', { ...MARKS, 'user.machinist-cluster': 'other' });
  lxd.plant('nobodys', {});
  for (const [id, code] of [
    [asked.machine.providerId ?? '', 'failed-precondition'],
    ['lxd:///default/theirs', 'failed-precondition'],
    ['lxd:///default/nobodys', 'failed-precondition'],
    ['aws:///a/i-1', 'invalid-argument'],
  ] as const) {
    assert.equal((await failure(driver.deleteById(asked, id))).code, code);
  }
  assert.equal(lxd.live.length, 4);
  for (let calls = 0; calls < 2; calls += 1) {
    await driver.deleteById(asked, 'lxd:///default/again');
    assert.equal(lxd.live.length, 3);
  }
  assert.equal((await driver.getStatus(asked)).providerId, asked.machine.providerId);
});

test('the instance of another Machine of the cluster leads nowhere and stays', async () => {
  const { lxd, driver } = fixture();
  const theirs = await created(driver, request(2));
  const asked = after(request(1), theirs);
  assert.equal((await failure(driver.getStatus(asked))).code, 'not-found');
  await deleted(driver, asked);
  assert.equal(lxd.live.length, 1);
});

test('a Machine that was restored with another uid keeps its instance by id and name', async () => {
  const { lxd, driver } = fixture();
  const vm = await created(driver, request(1));
  const restored = after(request(1, {}, { uid: 'another' }), vm);
  assert.equal((await driver.getStatus(restored)).providerId, vm.providerId);
  await deleted(driver, restored);
  assert.equal(lxd.live.length, 0);
});

test('an instance of the same name without marks is neither taken, nor absent, nor removed', async () => {
  const { lxd, driver } = fixture();
  await created(driver, request(1));
  const [instance] = lxd.live;
  instance!.config = {};
  for (const call of [driver.create(request(1)), driver.getStatus(request(1)), driver.delete(request(1))]) {
    assert.equal((await failure(call)).code, 'failed-precondition');
  }
  assert.equal(lxd.live.length, 1);
});

test('a reboot restarts a running instance alone', async () => {
  const { lxd, driver, sent } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  sent();
  await driver.reboot(asked);
  assert.deepEqual(sent(), [`GET /1.0/instances/${lxd.live[0]!.name}`, `PUT /1.0/instances/${lxd.live[0]!.name}/state`]);
  assert.deepEqual(driver.arrived.length, 0);
  lxd.live[0]!.status = 'Stopped';
  assert.equal((await failure(driver.reboot(asked))).code, 'not-found');
});

test('a listing has pages, every instance of the cluster once and nobody else', async () => {
  const { lxd, driver } = fixture();
  for (let number = 0; number < 40; number += 1) {
    lxd.plant(`n-${number}`, { ...MARKS, 'user.machinist-uid': `uid-${number}`, 'user.machinist-name': `worker-${number}` });
  }
  lxd.plant('theirs', { ...MARKS, 'user.machinist-cluster': 'other' });
  // A filter is a regular expression, and LXD compares without regard to case.
  lxd.plant('wider', { ...MARKS, 'user.machinist-cluster': 'LAB' });
  const found: string[] = [];
  let token: string | undefined;
  let pages = 0;
  do {
    const page = await driver.list({ class: request(1).class, cluster: 'lab', token });
    found.push(...page.machines.map(({ machineUid }) => machineUid!));
    token = page.next;
    pages += 1;
  } while (token !== undefined);
  assert.deepEqual([pages, found.length, new Set(found).size], [3, 40, 40]);
  const [first] = (await driver.list({ class: request(1).class, cluster: 'lab' })).machines;
  assert.deepEqual(first, {
    providerId: 'lxd:///default/n-0',
    machineName: 'worker-0',
    machineUid: 'uid-0',
    createdAtMs: 1_767_323_045_123,
  });
});

test('the names of clusters and uids that a filter would read as an expression are found', async () => {
  const { driver } = fixture();
  for (const cluster of ['a b', 'a+b', 'a.b', '^a$', 'a"b', 'c(']) {
    const asked = { ...request(1, {}, { uid: 'u.(1)+"x"' }), cluster };
    await created(driver, asked);
    assert.equal((await driver.getStatus(asked)).state, 'running');
    assert.equal((await driver.list({ class: asked.class, cluster })).machines.length, 1, cluster);
  }
});

test('a name of an instance is one that LXD allows', async () => {
  const { lxd, driver } = fixture();
  for (const name of ['1st', 'a.b.c', 'a'.repeat(200), 'a-', 'Ünï']) await created(driver, request(1, {}, { name, uid: `uid of ${name}` }));
  assert.equal(lxd.live.length, 5);
  for (const { name } of lxd.live) assert.match(name, /^[a-z][a-z0-9-]{0,61}[a-z0-9]$/);
});

test('projects come from the id, then from the note, then from the class', async () => {
  const { lxd, driver } = fixture();
  const vm = await created(driver, request(1, { project: 'nodes' }));
  assert.equal(vm.providerId, `lxd:///nodes/${lxd.live[0]!.name}`);
  assert.equal((await driver.getStatus(after(request(1, { project: 'moved' }), { providerId: vm.providerId }))).state, 'running');
  assert.equal((await driver.getStatus(after(request(1), { lastKnownState: vm.lastKnownState }))).state, 'running');
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'not-found');
});

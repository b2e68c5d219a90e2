/**
 * The methods for Cluster API: ids of Nodes, zones, interruptions, resources. And the removal of one VM of two.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { failure, fixture, request, SPEC, withId } from './fixture.js';

test("a Node has the driver's own id", async () => {
  const { driver, sent } = fixture();
  const vm = await driver.create(request(1));
  sent();
  assert.equal(await driver.nodeId(request(1), vm), vm.providerId);
  assert.deepEqual(sent(), []);
});

test('a placed class makes VMs in that zone and nowhere else', async () => {
  const { cloud, driver } = fixture();
  const several = { ...request(1).class, zones: ['sim-1a', 'sim-1c'] };
  const placed = await driver.place(several, 'sim-1b');
  assert.deepEqual(placed, { ...SPEC, zone: 'sim-1b' });
  assert.equal((await driver.create(request(1, placed))).failureDomain, 'sim-1b');
  cloud.full.add('sim-1b');
  assert.equal((await failure(driver.create(request(2, placed)))).code, 'resource-exhausted');
  const invalid = { ...request(1).class, spec: '{"type": "sim.small"}' };
  assert.equal((await failure(driver.place(invalid, 'sim-1b'))).code, 'invalid-argument');
});

test('of two VMs the one that is named is removed, and no other', async () => {
  const { cloud, driver } = fixture();
  const kept = withId(request(1), await driver.create(request(1)));
  const extra = await driver.create({ ...request(1), idempotencyKey: 'another key' });
  const foreign = await driver.create({ ...request(1), idempotencyKey: 'their key', cluster: 'theirs' });
  /** @type {[string, string][]} */
  const refused = [
    [kept.machine.providerId ?? '', 'failed-precondition'],
    [foreign.providerId, 'failed-precondition'],
    ['aws:///a/i-1', 'invalid-argument'],
  ];
  for (const [id, code] of refused) assert.equal((await failure(driver.deleteById(kept, id))).code, code);
  const working = () => cloud.live.filter(({ state }) => state !== 'stopping').length;
  assert.equal(working(), 3);
  for (let calls = 0; calls < 2; calls += 1) {
    await driver.deleteById(kept, extra.providerId);
    assert.equal(working(), 2);
  }
  cloud.complete();
  await driver.deleteById(kept, extra.providerId);
  assert.equal((await driver.getStatus(kept)).providerId, kept.machine.providerId);
});

test('a VM may be taken away if its class says so', async () => {
  const { driver, sent } = fixture();
  /** @type {[object, boolean][]} */
  const rows = [
    [{}, false],
    [{ interruptible: null }, false],
    [{ interruptible: true }, true],
  ];
  for (const [change, expected] of rows) assert.equal(await driver.isInterruptible(request(1, change).class), expected);
  const invalid = request(1, { interruptible: 'yes' }).class;
  assert.equal((await failure(driver.isInterruptible(invalid))).code, 'invalid-argument');
  assert.deepEqual(sent(), []);
});

test('a Node has the resources of its type', async () => {
  const { driver, sent } = fixture();
  assert.deepEqual(await driver.nodeCapacity(request(1).class), {
    resources: { cpu: '2', memory: '4Gi' },
    architecture: 'amd64',
    operatingSystem: 'linux',
  });
  assert.deepEqual(sent(), ['GET /v1/regions']);
  const { resources } = await driver.nodeCapacity(request(1, { type: 'sim.gpu' }).class);
  assert.equal(resources['nvidia.com/gpu'], '1');
  assert.equal((await failure(driver.nodeCapacity(request(1, { type: 'sim.none' }).class))).code, 'not-found');
});

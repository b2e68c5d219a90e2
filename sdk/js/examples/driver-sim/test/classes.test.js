/**
 * Classes that the driver accepts and refuses.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import schema from '../src/class-schema.json';
import { failure, fixture, request, SPEC } from './fixture.js';

/** @type {[object, string][]} */
const FAULTS = [
  [{ zone: null }, 'providerSpec.zone is required'],
  [{ zone: '' }, 'providerSpec.zone must be a text that is not empty, got ""'],
  [{ type: 7 }, 'providerSpec.type must be a text that is not empty, got 7'],
  [{ image: null }, 'providerSpec.image is required'],
  [{ initialize: 'yes' }, 'providerSpec.initialize must be true or false, got "yes"'],
  [{ interruptible: 1 }, 'providerSpec.interruptible must be true or false, got 1'],
  [{ tags: [] }, 'providerSpec.tags must be an object of texts, got []'],
  [{ tags: { a: 1 } }, 'providerSpec.tags["a"] must be a text of at most 256 bytes, got 1'],
  [{ tags: { 'a:b': '' } }, 'providerSpec.tags["a:b"] must have a key of 1 to 128 bytes without a colon'],
  [{ tags: { cluster: 'mine' } }, 'providerSpec.tags["cluster"] is set by the driver: use another key'],
  [{ tags: Object.fromEntries(Array.from({ length: 48 }, (_, at) => [at, ''])) }, 'providerSpec.tags has 48 entries: at most 47 fit'],
  [{ volumes: {} }, 'providerSpec.volumes must be a list, got {}'],
  [{ volumes: [1] }, 'providerSpec.volumes[0] must be an object, got 1'],
  [{ volumes: [{}] }, 'providerSpec.volumes[0].sizeGib is required'],
  [{ volumes: [{ sizeGib: 1 }, { sizeGib: 1.5 }] }, 'providerSpec.volumes[1].sizeGib must be a whole number from 1 on, got 1.5'],
  [{ volumes: [{ sizeGib: 1, name: 2 }] }, 'providerSpec.volumes[0].name must be a text that is not empty, got 2'],
];

for (const [change, message] of FAULTS) {
  test(`a fault names its field: ${message}`, async () => {
    const { driver, sent } = fixture();
    const asked = request(1, change);
    for (const call of [driver.validateClass(asked.class), driver.create(asked)]) {
      const error = await failure(call);
      assert.deepEqual([error.message, error.code, error.isTerminal], [message, 'invalid-argument', true]);
    }
    assert.deepEqual(sent(), []);
  });
}

test('what is no object is no class', async () => {
  const { driver } = fixture();
  for (const spec of ['[]', '7', '{ nonsense', '']) {
    const { code, message } = await failure(driver.validateClass({ ...request(1).class, spec }));
    assert.equal(code, 'invalid-argument');
    assert.match(message, /^providerSpec (must be an object|is not JSON)/);
  }
});

test('a class is read leniently', async () => {
  const { cloud, driver } = fixture();
  const spec = { tags: { team: 'a' }, initialize: true, volumes: [{ sizeGib: 20, name: null, keep: true }], colour: 'blue', region: null };
  assert.deepEqual(await driver.validateClass(request(1, spec).class), [
    'providerSpec.colour is not a field and is ignored',
    'providerSpec.region is not a field and is ignored',
    'providerSpec.volumes[0].keep is not a field and is ignored',
  ]);
  await driver.create(request(1, spec));
  assert.equal(cloud.live[0].tags.team, 'a');
});

test('a class without a zone takes the alternatives', async () => {
  const { driver } = fixture();
  const asked = request(1, { zone: null });
  asked.class.zones = ['', 'sim-1b', 'sim-1c'];
  assert.equal((await driver.create(asked)).failureDomain, 'sim-1b');
});

test('tags with unusual names are tags', async () => {
  const { cloud, driver } = fixture();
  await driver.create({
    ...request(1),
    class: { ...request(1).class, spec: JSON.stringify(SPEC).replace('}', ',"tags":{"__proto__":"a","constructor":"b"}}') },
  });
  assert.deepEqual(Object.entries(cloud.live[0].tags).slice(0, 2), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
});

test('the schema knows the fields that are read', async () => {
  const { driver } = fixture();
  const all = Object.fromEntries(
    Object.keys(schema.properties).map((name) => [name, /** @type {Record<string, unknown>} */ (SPEC)[name] ?? null]),
  );
  assert.deepEqual(await driver.validateClass(request(1, all).class), []);
  const volume = Object.fromEntries(
    Object.keys(schema.properties.volumes.items.properties).map((name) => [name, name === 'sizeGib' ? 1 : null]),
  );
  assert.deepEqual(await driver.validateClass(request(1, { volumes: [volume] }).class), []);
  assert.equal(Object.keys(schema.properties).length, 7);
  assert.deepEqual(JSON.parse(/** @type {string} */ ((await driver.describe()).classSchema)), schema);
});

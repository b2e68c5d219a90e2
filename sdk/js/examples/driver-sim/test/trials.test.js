/**
 * The driver with a cloud that refuses, breaks and lies, and whose reads are stale.
 */

/** @import { CloudAnswer } from 'machinist-sdk/mock' */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MockDriver, NoAnswer } from 'machinist-sdk/mock';

import { SimDriver } from '../src/driver.js';
import { refusal } from './fake-cloud.js';
import { failure, fixture, request, withId } from './fixture.js';

const CODES = /** @type {const} */ ([
  [400, 'invalid_parameter', 'invalid-argument', true, false],
  [400, 'image_not_found', 'invalid-argument', true, false],
  [401, 'unauthorized', 'unauthenticated', true, false],
  [403, 'forbidden', 'permission-denied', false, false],
  [403, 'quota_exceeded', 'resource-exhausted', false, false],
  [404, 'not_found', 'not-found', false, false],
  [409, 'conflict', 'aborted', false, false],
  [409, 'capacity_exhausted', 'resource-exhausted', false, false],
  [410, 'idempotency_gone', 'failed-precondition', true, false],
  [429, 'throttled', 'unavailable', false, false],
  [500, 'internal', 'unavailable', false, true],
  [503, 'unavailable', 'unavailable', false, true],
  [507, 'disk_full', 'unavailable', false, true],
  [418, 'teapot', 'unknown', false, false],
]);

for (const [status, name, code, isTerminal, mayHaveHappened] of CODES) {
  test(`${name} is ${code}`, async () => {
    const { cloud, driver } = fixture();
    cloud.fault = () => refusal(status, name, { 'retry-after': '2' });
    const error = await failure(driver.create(request(1)));
    assert.deepEqual([error.code, error.isTerminal, error.mayHaveHappened], [code, isTerminal, mayHaveHappened]);
    assert.deepEqual([error.cloudCode, error.retryAfterMs], [name, 2_000]);
    assert.match(error.message, /^failed to create the VM: because/);
  });
}

/**
 * The cloud does the work, and the answer is lost in some way.
 * @type {[string, string, (answer: CloudAnswer) => CloudAnswer][]}
 */
const LOST = [
  [
    'an answer that never comes',
    'deadline-exceeded',
    () => {
      throw new NoAnswer('timed-out', 'cloud.test');
    },
  ],
  [
    'a connection that ends',
    'unavailable',
    () => {
      throw new NoAnswer('cut-off', 'cloud.test');
    },
  ],
  ['half of an answer', 'unavailable', ({ body }) => ({ body: JSON.stringify(body).slice(0, 40) })],
  ['nothing', 'unavailable', () => ({ body: '' })],
  ['garbage', 'internal', () => ({ body: new Uint8Array([0xff, 0x00, 0x7b]) })],
  ['another kind of answer', 'internal', () => ({ body: { id: 'vm-1' } })],
  ['a page of a proxy', 'unavailable', () => ({ status: 502, headers: { 'Content-Type': 'text/html' }, body: '<html>' })],
  ['a page that says success', 'unavailable', () => ({ status: 200, headers: { 'Content-Type': 'text/html' }, body: '<html>' })],
];

for (const [name, code, spoil] of LOST) {
  test(`${name} says that it may have happened, and the key brings the VM back`, async () => {
    const { cloud, driver } = fixture();
    cloud.fault = (_, answer) => spoil(answer());
    const error = await failure(driver.create(request(1)));
    assert.deepEqual([error.code, error.mayHaveHappened, error.isTerminal], [code, true, false]);
    assert.ok(!error.message.includes('<') && error.message.length < 300, error.message);
    cloud.fault = () => undefined;
    await driver.create(request(1));
    assert.equal(cloud.live.length, 1);
  });
}

test('a full zone leads to the next and full zones to exhaustion', async () => {
  const { cloud, driver, sent } = fixture();
  const asked = request(1);
  asked.class.zones = ['sim-1a', 'sim-1b'];
  cloud.full = new Set(['sim-1a', 'sim-1b']);
  const error = await failure(driver.create(asked));
  assert.deepEqual([error.code, error.cloudCode, sent().length], ['resource-exhausted', 'capacity_exhausted', 2]);
  assert.match(error.message, /asked for in sim-1a, sim-1b$/);
  cloud.full.delete('sim-1b');
  const vm = await driver.create(asked);
  assert.equal(vm.failureDomain, 'sim-1b');
  // The first zone has room again, but the machine's VM is still the one in the second.
  cloud.full.clear();
  assert.deepEqual([(await driver.create(asked)).providerId, cloud.live.length], [vm.providerId, 1]);
});

test('a key used with another class means the VM that it made', async () => {
  const { cloud, driver, sent } = fixture();
  const vm = await driver.create(request(1));
  sent();
  const adopted = await driver.create(request(1, { type: 'sim.large' }));
  assert.deepEqual([adopted.providerId, cloud.live.length, sent()], [vm.providerId, 1, ['POST /v1/vms', 'GET /v1/vms']]);
});

test('a VM that reads do not show yet is waited for, and deleted by its id', async () => {
  const { cloud, driver } = fixture();
  const vm = await driver.create(request(1));
  cloud.hidden.add(cloud.live[0].id);
  const error = await failure(driver.create(request(1, { image: 'linux-2' })));
  assert.deepEqual([error.code, error.mayHaveHappened, error.retryAfterMs], ['aborted', true, 1_000]);
  await driver.delete(withId(request(1), vm));
  cloud.complete();
  assert.equal(cloud.live.length, 0);
});

test('while a VM is adopted no error hides that there is one', async () => {
  const { cloud, driver } = fixture();
  await driver.create(request(1));
  cloud.fault = ({ method }) => (method === 'GET' ? refusal(503, 'unavailable') : undefined);
  const error = await failure(driver.create(request(1, { image: 'linux-2' })));
  assert.deepEqual([error.code, error.mayHaveHappened], ['unavailable', true]);
});

test('a deletion that fails half-way says so and ends well when repeated', async () => {
  const { cloud, driver } = fixture();
  const asked = withId(request(1), await driver.create(request(1)));
  cloud.fault = ({ method }) => {
    if (method === 'DELETE') throw new NoAnswer('timed-out', 'cloud.test');
    return undefined;
  };
  let error = await failure(driver.delete(asked));
  assert.deepEqual([error.code, error.mayHaveHappened], ['deadline-exceeded', true]);
  cloud.fault = ({ url }) => (url.pathname === '/v1/volumes' ? refusal(503, 'unavailable', { 'retry-after': '3' }) : undefined);
  error = await failure(driver.delete(asked));
  assert.deepEqual([error.code, error.mayHaveHappened, error.retryAfterMs], ['unavailable', false, 3_000]);
  cloud.fault = () => undefined;
  await driver.delete(asked);
  cloud.complete();
  assert.equal(cloud.live.length, 0);
});

test("a proxy's page of nothing is no proof that there is no VM", async () => {
  const { cloud, driver } = fixture();
  const asked = withId(request(1), await driver.create(request(1)));
  cloud.fault = () => ({ status: 404, headers: { 'content-type': 'text/html' }, body: '<html>' });
  for (const call of [driver.getStatus(asked), driver.delete(asked)]) assert.equal((await failure(call)).code, 'unavailable');
});

/** Gives the same answer to every request. @param {CloudAnswer['body']} body */
function parrot(body) {
  return new MockDriver(new SimDriver(), {
    cloud: () => ({ body }),
    secrets: { token: 't' },
    settings: { endpoint: 'https://parrot.test' },
  });
}

test('a listing that turns in circles ends with an error', async () => {
  const driver = parrot({ vms: [], nextCursor: 'again' });
  const list = (/** @type {string} */ token) => driver.list({ class: request(1).class, cluster: 'c1', token });
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'internal');
  assert.equal((await list('first')).next, 'again');
  assert.equal((await failure(list('again'))).code, 'internal');
});

test("answers that are not the API's are errors and never an absence", async () => {
  for (const body of ['', '{', 'null', '{}', '[]', '{"vms": 1}', '{"vms": [{"id": ""}]}', '{"vms": [{"id": "vm-1"}]}']) {
    const driver = parrot(body);
    for (const call of [driver.getStatus(request(1)), driver.create(request(1)), driver.delete(request(1))]) {
      assert.ok(['internal', 'unavailable'].includes((await failure(call)).code), body);
    }
  }
});

test('what a cloud lists beside the question is not ours', async () => {
  const driver = parrot({ vms: [{ id: 'vm-1', name: 'a', state: 'running', zone: 'z', tags: { cluster: 'c2' } }], volumes: [] });
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'not-found');
  assert.deepEqual((await driver.list({ class: request(1).class, cluster: 'c1' })).machines, []);
  await driver.delete(request(1));
});

test('a secret, a setting or a grant that is missing says what to do', async () => {
  const { driver } = fixture();
  const rest = { ...driver.surroundings };
  const reported = async (/** @type {object} */ change) => {
    Object.assign(driver.surroundings, rest, change);
    const { code, isTerminal, message, mayHaveHappened } = await failure(driver.create(request(1)));
    assert.equal(mayHaveHappened, false);
    return `${code}${isTerminal ? ' terminal' : ''}: ${message}`;
  };
  assert.match(await reported({ secrets: {} }), /^unauthenticated terminal: .*no key token: add the cloud's API token/);
  assert.match(await reported({ settings: {} }), /^failed-precondition: endpoint is missing/);
  assert.match(await reported({ settings: '{' }), /^failed-precondition: settings.json is not JSON: correct it/);
  assert.match(await reported({ settings: { endpoint: 'ftp://a' } }), /^failed-precondition: endpoint in the plugin's settings must be/);
  assert.match(
    await reported({ grants: { egress: [], secrets: rest.grants?.secrets } }),
    /^failed-precondition: .*cloud\.test is not granted.*egress/,
  );
  assert.match(
    await reported({ grants: { egress: rest.grants?.egress } }),
    /^failed-precondition: the secret token is not granted: add token .* to secrets/,
  );
  assert.match(await reported({ remainingMs: 100 }), /^deadline-exceeded: .*time was over/);
});

test('endpoints may have a path, a port and brackets', async () => {
  for (const [endpoint, host] of [
    ['http://127.0.0.1:8080/', '127.0.0.1'],
    ['https://[::1]/cloud/', '[::1]'],
    ['https://a.example', 'a.example'],
  ]) {
    const driver = new MockDriver(new SimDriver(), { settings: { endpoint } });
    assert.deepEqual((await driver.describe()).hosts, [host]);
  }
  for (const endpoint of ['127.0.0.1:1', 'http://', 'http://me@a', 'http://a/?b', 7, null]) {
    assert.deepEqual((await new MockDriver(new SimDriver(), { settings: { endpoint } }).describe()).hosts, []);
  }
});

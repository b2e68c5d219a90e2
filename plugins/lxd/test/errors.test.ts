/**
 * LXD's errors as codes of the contract, and answers that are none. The texts are those of LXD 5.0, which a test of
 * `tests/clouds/lxd` compares with the daemon's own.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type CloudAnswer, NoAnswer } from 'machinist-sdk/mock';

import { refusal, sync } from './fake-lxd.js';
import { created, driverOf, failure, fixture, request } from './fixture.js';
import texts from './texts.json';

/** Texts of LXD, from its answers or its operations, with their meaning. */
const MEANINGS: [keyof typeof texts, string, string, boolean][] = [
  ['unknown image', 'image-not-found', 'invalid-argument', true],
  ['unknown fingerprint', 'image-not-found', 'invalid-argument', true],
  ['unknown project', 'project-not-found', 'invalid-argument', true],
  ['unknown profile', 'profile-not-found', 'invalid-argument', true],
  ['unknown member', 'target-not-found', 'invalid-argument', true],
  ['unknown pool', 'pool-not-found', 'invalid-argument', true],
  ['no root disk', 'pool-not-found', 'invalid-argument', true],
  ['unknown key', 'invalid-instance', 'invalid-argument', true],
  ['invalid limit', 'invalid-instance', 'invalid-argument', true],
  ['unknown device', 'invalid-instance', 'invalid-argument', true],
  ['invalid value', 'invalid-instance', 'invalid-argument', true],
  ['unknown network', 'invalid-instance', 'invalid-argument', true],
  ['other type', 'invalid-instance', 'invalid-argument', true],
  ['missing source', 'start-failed', 'failed-precondition', false],
  ['project limit', 'project-limit', 'resource-exhausted', false],
  ['project restriction', 'project-restriction', 'permission-denied', false],
  ['not trusted', 'not-authorized', 'unauthenticated', true],
  ['protected', 'protected', 'failed-precondition', false],
];

for (const [name, cloudCode, code, isTerminal] of MEANINGS) {
  test(`${name} is ${code}`, async () => {
    for (const status of [400, 404, 500]) {
      const { lxd, driver } = fixture();
      lxd.fault = ({ method }) => (method === 'POST' ? refusal(status, texts[name], { 'retry-after': '2' }) : undefined);
      const error = await failure(driver.create(request(1)));
      assert.deepEqual([error.code, error.cloudCode, error.isTerminal, error.mayHaveHappened], [code, cloudCode, isTerminal, false]);
      assert.equal(error.retryAfterMs, 2_000);
    }
    const { lxd, driver } = fixture();
    lxd.failing.create = texts[name];
    const error = await failure(driver.create(request(1)));
    assert.deepEqual([error.code, error.cloudCode, error.isTerminal, error.mayHaveHappened], [code, cloudCode, isTerminal, false]);
    assert.match(error.message, /^failed to create the instance: .*: /);
  });
}

test('an unknown error goes by its status, and an unknown failure is unavailable', async () => {
  for (const [status, code, mayHaveHappened] of [
    [400, 'invalid-argument', false],
    [409, 'aborted', false],
    [429, 'unavailable', false],
    [500, 'unavailable', true],
    [503, 'unavailable', true],
  ] as const) {
    const { lxd, driver } = fixture();
    lxd.fault = () => refusal(status, 'something new');
    const error = await failure(driver.create(request(1)));
    assert.deepEqual([error.code, error.mayHaveHappened, error.cloudCode], [code, mayHaveHappened, `status-${status}`]);
  }
  const { lxd, driver } = fixture();
  lxd.failing.create = 'something new';
  const error = await failure(driver.create(request(1)));
  assert.deepEqual([error.code, error.cloudCode], ['unavailable', 'operation-failed']);
});

test('not every 404 means that an instance is gone', async () => {
  for (const answer of [
    refusal(404, texts['unknown project']),
    refusal(404, 'not found'),
    { status: 404, headers: { 'content-type': 'text/html' }, body: '<html>' },
  ]) {
    const { lxd, driver } = fixture();
    const asked = { ...request(1), machine: { ...request(1).machine, providerId: (await created(driver, request(1))).providerId } };
    lxd.fault = ({ url }) => (url.pathname.startsWith('/1.0/instances') ? answer : undefined);
    const { code, cloudCode } = await failure(driver.getStatus(asked));
    assert.ok(code !== 'not-found' || cloudCode !== undefined);
    await failure(driver.delete(asked));
    assert.equal(lxd.live.length, 1);
  }
});

/** LXD does the work, and the answer is lost in some way. */
const LOST: [string, string, (answer: CloudAnswer) => CloudAnswer][] = [
  [
    'an answer that never comes',
    'deadline-exceeded',
    () => {
      throw new NoAnswer('timed-out', 'lxd.test');
    },
  ],
  ['half of an answer', 'unavailable', ({ body }) => ({ body: JSON.stringify(body).slice(0, 40) })],
  ['nothing', 'unavailable', () => ({ body: '' })],
  ['garbage', 'internal', () => ({ body: new Uint8Array([0xff, 0x00, 0x7b]) })],
  ['another kind of answer', 'internal', () => ({ body: { name: 'worker-1' } })],
  ['an operation without an id', 'internal', () => ({ body: { type: 'async', metadata: { id: '../..', status_code: 103 } } })],
  ['a page of a proxy', 'unavailable', () => ({ status: 502, headers: { 'content-type': 'text/html' }, body: '<html>' })],
];

for (const [name, code, spoil] of LOST) {
  test(`${name} says that it may have happened, and the name brings the instance back`, async () => {
    const { lxd, driver } = fixture();
    lxd.fault = ({ method }, answer) => (method === 'POST' ? spoil(answer()) : undefined);
    const error = await failure(driver.create(request(1)));
    assert.deepEqual([error.code, error.mayHaveHappened, error.isTerminal], [code, true, false]);
    lxd.fault = () => undefined;
    await created(driver, request(1));
    assert.deepEqual([lxd.created, lxd.live.length], [1, 1]);
  });
}

test("answers that are not LXD's are errors and never an absence", async () => {
  const bodies = [
    '',
    '{',
    'null',
    '{}',
    '[]',
    '{"metadata": 1}',
    '{"metadata": null}',
    '{"metadata": {}}',
    '{"metadata": [{}]}',
    '{"metadata": [{"name": "a"}]}',
  ];
  for (const body of bodies) {
    const driver = driverOf(() => ({ body }));
    for (const call of [
      driver.getStatus(request(1)),
      driver.create(request(1)),
      driver.delete(request(1)),
      driver.list({ class: request(1).class, cluster: 'lab' }),
    ]) {
      assert.ok(['internal', 'unavailable'].includes((await failure(call)).code), body);
    }
  }
});

test('instances that LXD lists beside the question are not ours', async () => {
  const instance = { name: 'theirs', status_code: 103, config: { 'user.machinist-cluster': 'other' } };
  const driver = driverOf(({ url }) =>
    url.searchParams.get('recursion') === '0'
      ? sync(['/1.0/instances/theirs'])
      : url.pathname === '/1.0/instances'
        ? sync([instance])
        : refusal(404, 'Instance not found'),
  );
  assert.equal((await failure(driver.getStatus(request(1)))).code, 'not-found');
  assert.deepEqual((await driver.list({ class: request(1).class, cluster: 'lab' })).machines, []);
});

test('no error shows the user data', async () => {
  const { lxd, driver } = fixture();
  lxd.fault = (asked) => refusal(400, `Invalid value ${asked.text()}`);
  const error = await failure(driver.create(request(1)));
  assert.ok(!error.message.includes('echo') && error.message.length < 700, error.message);
});

test('a secret or a grant that is missing says what to do', async () => {
  const { driver } = fixture();
  const rest = { ...driver.surroundings };
  const reported = async (change: object) => {
    driver.surroundings = { ...rest, ...change };
    const { code, isTerminal, message } = await failure(driver.create(request(1)));
    return `${code}${isTerminal ? ' terminal' : ''}: ${message}`;
  };
  assert.match(await reported({ secrets: {} }), /^unauthenticated terminal: .*no key clientCert: add the client certificate/);
  assert.match(await reported({ secrets: { clientCert: 'PEM' } }), /^unauthenticated terminal: .*no key clientKey/);
  assert.match(await reported({ settings: { endpoint: 'https://lxd.test/1.0' } }), /endpoint is required/);
  assert.match(await reported({ grants: { egress: [] } }), /^failed-precondition: the secret userData is not granted/);
  assert.match(await reported({ grants: { ...rest.grants, egress: [] } }), /^failed-precondition: .*lxd\.test is not granted/);
});

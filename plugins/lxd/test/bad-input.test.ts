/**
 * Bad input: each refusal has its code and a next step, nothing is left of a create that failed, and nothing of others
 * is touched. `errors.test.ts` has the codes of all texts, `life.test.ts` the instances of others.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { InProgress } from 'machinist-sdk';
import { type CloudAnswer, NoAnswer } from 'machinist-sdk/mock';

import { refusal, sync } from './fake-lxd.js';
import { after, created, deleted, driverOf, failure, fixture, request } from './fixture.js';
import texts from './texts.json';

const CLUSTER = 'user.machinist-cluster';
const OTHERS = { [CLUSTER]: 'other', 'user.machinist-uid': request(1).machine.uid, 'user.machinist-name': 'worker-1' };
const PAGE: CloudAnswer = { headers: { 'content-type': 'text/html' }, body: '<html><body>sign in</body></html>' };

/** A text of LXD, its code, and the next step. */
const REFUSALS: [string, string, RegExp][] = [
  [texts['not trusted'], 'unauthenticated', /lxc config trust add/],
  [texts['unknown project'], 'invalid-argument', /correct project/],
  [texts['unknown member'], 'invalid-argument', /correct target/],
  [texts['unknown image'], 'invalid-argument', /correct image/],
  [texts['unknown fingerprint'], 'invalid-argument', /correct image/],
  [texts['unknown profile'], 'invalid-argument', /correct profiles/],
  [texts['unknown pool'], 'invalid-argument', /correct pool/],
  [texts['unknown network'], 'invalid-argument', /correct config, devices or type/],
  [texts['other type'], 'invalid-argument', /correct config, devices or type/],
  [texts['missing source'], 'failed-precondition', /lxc info --show-log/],
  [texts['project limit'], 'resource-exhausted', /raise the project's limits/],
  [texts['project restriction'], 'permission-denied', /restrictions/],
  ['Create instance from image: no space left on device', 'resource-exhausted', /free space in the storage pool/],
  ['Cannot allocate memory', 'resource-exhausted', /memory on the server/],
  ['No suitable cluster member could be found', 'resource-exhausted', /lxc cluster list/],
  ["Couldn't find a cluster member for the instance", 'resource-exhausted', /lxc cluster list/],
  ['Cluster member "lab-2" is offline', 'unavailable', /lxc cluster list/],
  [texts.protected, 'failed-precondition', /security\.protection\.delete/],
  ['Invalid config: Invalid value "#cloud-config\\nruncmd: [echo]" for "cloud-init.user-data"', 'invalid-argument', /correct userData/],
];

for (const [text, code, step] of REFUSALS) {
  test(`${text.slice(0, 60)}: a next step, nothing left, nothing foreign touched`, async () => {
    const { lxd, driver } = fixture();
    lxd.plant('theirs', OTHERS);
    lxd.fault = ({ method }) => (method === 'POST' ? refusal(400, text) : undefined);
    const refused = await failure(driver.create(request(1)));
    lxd.fault = () => undefined;
    lxd.failing.create = text;
    const failed = await failure(driver.create(request(1)));
    for (const error of [refused, failed]) {
      assert.deepEqual([error.code, error.mayHaveHappened], [code, false]);
      assert.match(error.message, step);
      assert.doesNotMatch(error.message, /echo/);
    }
    await deleted(driver, request(1));
    assert.deepEqual(
      lxd.live.map(({ name, status }) => [name, status]),
      [['theirs', 'Running']],
    );
  });
}

test('a certificate that does not count names serverCert and the clock', async () => {
  const { lxd, driver } = fixture();
  lxd.fault = () => {
    throw new NoAnswer('tls', 'lxd.test');
  };
  for (const call of [driver.create(request(1)), driver.getStatus(request(1)), driver.delete(request(1))]) {
    const error = await failure(call);
    assert.deepEqual([error.code, error.mayHaveHappened], ['unavailable', false]);
    assert.match(error.message, /serverCert of the MachineClass's Secret.*check the host's clock/);
  }
});

test('a certificate that LXD trusts no longer stops every call and touches nothing', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.fault = () => refusal(403, texts['not trusted']);
  for (const call of [
    driver.getStatus(asked),
    driver.delete(asked),
    driver.reboot(asked),
    driver.create(request(2)),
    driver.list({ class: asked.class, cluster: 'lab' }),
    driver.nodeCapacity(asked.class),
  ]) {
    const error = await failure(call);
    assert.deepEqual([error.code, error.isTerminal], ['unauthenticated', true]);
    assert.match(error.message, /lxc config trust add/);
  }
  assert.deepEqual(
    lxd.live.map(({ status }) => status),
    ['Running'],
  );
});

test('a 429 is a clear no, whoever says it', async () => {
  const answers: [CloudAnswer, RegExp][] = [
    [{ status: 429, headers: { 'retry-after': '9' }, body: 'slow down' }, /too many requests.*asks again/],
    [{ ...PAGE, status: 429, headers: { 'content-type': 'text/html', 'retry-after': '9' } }, /too many requests/],
    [
      { status: 429, headers: { 'machinist-throttled': 'true', 'retry-after': '9' }, body: 'the host holds this request back' },
      /the host holds this request back/,
    ],
  ];
  for (const [answer, text] of answers) {
    const { lxd, driver } = fixture();
    lxd.fault = ({ method }) => (method === 'POST' ? answer : undefined);
    const error = await failure(driver.create(request(1)));
    assert.deepEqual([error.code, error.mayHaveHappened, error.retryAfterMs], ['unavailable', false, 9_000]);
    assert.match(error.message, text);
    assert.doesNotMatch(error.message, /</);
  }
});

/** Answers to reads that are none, made from LXD's own. */
const SPOILT: [string, (answer: CloudAnswer) => CloudAnswer, string][] = [
  ['HTML with status 200', () => PAGE, 'unavailable'],
  ['HTML with status 404', () => ({ ...PAGE, status: 404 }), 'unavailable'],
  ['half of an answer', ({ body }) => ({ body: JSON.stringify(body).slice(0, 30) }), 'unavailable'],
  ['another shape', () => ({ body: { items: [] } }), 'internal'],
  ['another kind', () => sync({ name: 7 }), 'internal'],
];

for (const [name, spoil, code] of SPOILT) {
  test(`${name} never means that there is no instance`, async () => {
    const { lxd, driver } = fixture();
    const asked = after(request(1), await created(driver, request(1)));
    lxd.fault = ({ method }, answer) => (method === 'GET' ? spoil(answer()) : undefined);
    for (const call of [driver.getStatus(asked), driver.getStatus(request(1)), driver.delete(asked), driver.reboot(asked)]) {
      const error = await failure(call);
      assert.equal(error.code, code);
      assert.doesNotMatch(error.message, /</);
    }
    // The order of this create was accepted before its wait was spoilt.
    const error = await failure(driver.create(request(2)));
    assert.deepEqual([error.code, error.mayHaveHappened, lxd.live.length], [code, true, 2]);
    lxd.fault = () => undefined;
    await created(driver, after(request(2), error.facts));
    assert.deepEqual([lxd.created, lxd.live.length], [2, 2]);
  });
}

test('a server that ignores filters and repeats names lists each instance once', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `n-${String(index).padStart(2, '0')}`);
  const instances = names.map((name) => ({ name, status_code: 103, config: { [CLUSTER]: 'lab', 'user.machinist-uid': `uid-${name}` } }));
  const driver = driverOf(({ url }) => {
    const isOfNames = url.searchParams.get('recursion') === '0';
    return sync(isOfNames ? [...names, ...names].map((name) => `/1.0/instances/${name}`) : instances);
  });
  const found: string[] = [];
  let token: string | undefined;
  let pages = 0;
  do {
    const page = await driver.list({ class: request(1).class, cluster: 'lab', token });
    found.push(...page.machines.map(({ providerId }) => providerId));
    token = page.next;
    pages += 1;
  } while (token !== undefined && pages < 10);
  assert.deepEqual([pages, found], [2, names.map((name) => `lxd:///default/${name}`)]);
});

test('an instance that is removed by hand is gone, and nothing foreign goes with it', async () => {
  const { lxd, driver } = fixture();
  const asked = after(request(1), await created(driver, request(1)));
  lxd.instances.clear();
  lxd.plant('theirs', OTHERS);
  assert.equal((await failure(driver.getStatus(asked))).code, 'not-found');
  assert.equal((await failure(driver.reboot(asked))).code, 'not-found');
  await driver.deleteById(request(2), asked.machine.providerId ?? '');
  await deleted(driver, asked);
  assert.deepEqual(
    lxd.live.map(({ name }) => name),
    ['theirs'],
  );
});

test('an instance that is removed by hand while it is made is made again', async () => {
  const { lxd, driver } = fixture();
  lxd.rounds = 5;
  const { resumeToken } = (await driver.create(request(1))) as InProgress;
  lxd.forgetOperations();
  lxd.instances.clear();
  lxd.rounds = 0;
  const error = await failure(driver.create(after(request(1), { lastKnownState: resumeToken })));
  assert.deepEqual([error.code, error.mayHaveHappened], ['aborted', true]);
  assert.match(error.message, /failed, or was deleted/);
  await created(driver, after(request(1), error.facts));
  assert.deepEqual([lxd.created, lxd.live.length], [2, 1]);
});

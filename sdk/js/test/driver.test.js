import assert from 'node:assert/strict';
import { test } from 'node:test';

import { DriverError, InProgress } from 'machinist-sdk';
import { NoAnswer, sampleRequest } from 'machinist-sdk/mock';

import { failure, mock, VM } from './probe.js';

const url = 'https://cloud.test/v1';
const request = sampleRequest();

test('an author gets objects and numbers', async () => {
  const seen = [];
  const driver = mock({
    create: (/** @type {any} */ asked) => {
      seen.push(asked);
      return VM;
    },
  });
  await driver.create(sampleRequest({ machine: { labels: { a: 'b', __proto__x: 'c' }, providerId: 'p' } }));
  assert.deepEqual([seen[0].machine.labels, seen[0].deadlineMs, seen[0].machine.providerId], [{ a: 'b', __proto__x: 'c' }, 300_000, 'p']);
});

test('what is left out is empty', async () => {
  const driver = mock({ create: () => VM, delete: () => undefined, list: () => ({ machines: [] }) });
  assert.deepEqual(await driver.create(request), {
    ...VM,
    addresses: [],
    conditions: [],
    failureDomain: undefined,
    lastKnownState: undefined,
  });
  assert.deepEqual(await driver.delete(request), { lastKnownState: undefined });
  assert.deepEqual(await driver.list({ class: request.class, cluster: 'c' }), { machines: [], next: undefined });
});

test('what takes longer comes back as such', async () => {
  const facts = { resumeToken: 'op-1', askAgainMs: 5_000, message: 'the cloud works on it' };
  const driver = mock({ create: () => new InProgress(facts), delete: () => new InProgress(facts) });
  for (const answer of [await driver.create(request), await driver.delete(request)]) {
    assert.ok(answer instanceof InProgress);
    assert.deepEqual({ ...answer }, facts);
  }
});

test('errors arrive with all their facts', async () => {
  const facts = {
    cloudCode: 'c',
    retryAfterMs: 1_500.2,
    terminal: true,
    mayHaveHappened: true,
    lastKnownState: 's',
    providerId: 'p',
    nodeName: 'n',
  };
  const driver = mock({
    create: () => {
      throw new DriverError('already-exists', 'is there', facts);
    },
  });
  const error = await failure(driver.create(request));
  assert.deepEqual([error.code, error.message, error.facts], ['already-exists', 'is there', { ...facts, retryAfterMs: 1_501 }]);
});

test('what a driver lacks is unimplemented', async () => {
  const driver = mock({});
  for (const call of [driver.initialize(request), driver.reboot(request), driver.deleteById(request, 'a'), driver.getVolumeIds([])]) {
    assert.equal((await failure(call)).code, 'unimplemented');
  }
});

test('a defect is an internal error with a message and a line in the log', async () => {
  const driver = mock({ getStatus: () => /** @type {any} */ (undefined).oops });
  const error = await failure(driver.getStatus(request));
  assert.equal(error.code, 'internal');
  assert.match(error.message, /^the driver has a defect: TypeError: /);
  assert.equal(error.mayHaveHappened, false);
  assert.deepEqual(
    driver.lines.map(({ level, message }) => [level, message]),
    [['error', 'the driver has a defect']],
  );
  assert.match(driver.lines[0].fields.stack, /driver\.test\.js/);
});

test('a defect after a change may hide that it has happened', async () => {
  const cloud = () => ({ status: 200 });
  const after = async (/** @type {string} */ method) => {
    const driver = mock(
      {
        create: async (_, host) => {
          await host.http.send({ method, url });
          throw 'unexpected';
        },
      },
      { cloud },
    );
    return (await failure(driver.create(request))).mayHaveHappened;
  };
  assert.deepEqual([await after('GET'), await after('POST'), await after('DELETE')], [false, true, true]);
});

test('an answer that is none of the contract is a defect that names the field', async () => {
  /** @type {[string, any, RegExp][]} */
  const table = [
    ['create', undefined, /create must answer an object, and answered undefined/],
    ['create', { ...VM, providerId: 7 }, /providerId in the answer to create must be a text, got 7/],
    ['create', { ...VM, state: 'sleeping' }, /state in the answer to create must be of pending, .* got sleeping/],
    ['create', { ...VM, addresses: [{ kind: 'InternalIP' }] }, /address in the answer to create/],
    [
      'create',
      new InProgress(/** @type {any} */ ({ resumeToken: 't', askAgainMs: NaN, message: 'm' })),
      /askAgainMs .* must be milliseconds, got NaN/,
    ],
    ['delete', 'gone', /delete must answer an object/],
    ['getStatus', null, /getStatus must answer an object/],
  ];
  for (const [call, answer, message] of table) {
    const driver = mock({ [call]: () => answer });
    const error = await failure(/** @type {any} */ (driver)[call](request));
    assert.equal(error.code, 'internal');
    assert.match(error.message, message);
  }
  assert.match((await failure(mock({ getVolumeIds: () => [] }).getVolumeIds(['{}']))).message, /one for each of the 1 volumes/);
  assert.match(
    (await failure(mock({ list: () => ({}) }).list({ class: request.class, cluster: 'c' }))).message,
    /machines in the answer to list must be a list/,
  );
});

test('a code that there is not is internal', async () => {
  const driver = mock({
    create: () => {
      throw new DriverError(/** @type {any} */ ('oops'), 'unexpected');
    },
  });
  const error = await failure(driver.create(request));
  assert.deepEqual([error.code, error.message], ['internal', 'unexpected (the driver names a code that there is not: oops)']);
});

test('a missing answer that nobody caught has its own code', async () => {
  const cloud = () => {
    throw new NoAnswer('cut-off', 'cloud.test');
  };
  const driver = mock({ create: (_, host) => host.http.send({ method: 'POST', url }) }, { cloud });
  const error = await failure(driver.create(request));
  assert.deepEqual([error.code, error.mayHaveHappened], ['unavailable', true]);
});

test('calls without secrets and network say so', async () => {
  const ask = (/** @type {any} */ _, /** @type {any} */ host) => host.secrets;
  const send = (/** @type {any} */ _, /** @type {any} */ host) => host.http;
  assert.match((await failure(mock({ validateClass: ask }).validateClass(request.class))).message, /validate-class has no secrets/);
  assert.match((await failure(mock({ getVolumeIds: send }).getVolumeIds([]))).message, /get-volume-ids has no network/);
  assert.match((await failure(mock({ describe: (/** @type {any} */ host) => host.http }).describe())).message, /describe has no network/);
});

test('a description is complete or says what is wrong', async () => {
  const about = { name: 'a', version: '1.0.0', providers: ['a'], capabilities: ['status', 'volumeIds'] };
  const described = await mock({ describe: () => about }).describe();
  assert.deepEqual([described.capabilities.status, described.capabilities.volumeIds, described.capabilities.listing], [true, true, false]);
  assert.deepEqual([described.consistencyWindowMs, described.hosts, described.classSchema], [0n, [], undefined]);
  const failed = await failure(mock({ describe: () => ({ ...about, capabilities: ['flying'] }) }).describe());
  assert.match(failed.message, /capabilities .* must be of status, .* got flying/);
});

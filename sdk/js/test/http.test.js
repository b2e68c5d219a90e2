import assert from 'node:assert/strict';
import { test } from 'node:test';

import { auth } from 'machinist-sdk';
import { sampleRequest } from 'machinist-sdk/mock';

import { failure, mock, VM } from './probe.js';

/**
 * Sends a request in a create.
 * @param {any} request @param {import('machinist-sdk/mock').Surroundings} [surroundings]
 */
async function sending(request, surroundings = { cloud: () => ({ body: { ok: true } }) }) {
  /** @type {any} */
  let answer;
  const driver = mock(
    {
      create: async (_, host) => {
        answer = await host.http.send(typeof request === 'function' ? request(host) : request);
        return VM;
      },
    },
    surroundings,
  );
  await driver.create(sampleRequest());
  return { answer, driver, sent: driver.sent[0], arrived: driver.arrived[0] };
}

test('a request arrives as it was made', async () => {
  const body = '{"a": "ü"}';
  const { answer, arrived } = await sending({ method: 'POST', url: 'http://cloud.test:81/a%20b?c=d#e', headers: { 'X-A': 'b' }, body });
  assert.deepEqual(
    [arrived.method, arrived.url.href, arrived.headers, arrived.text()],
    ['POST', 'http://cloud.test:81/a%20b?c=d', { 'x-a': 'b' }, body],
  );
  assert.deepEqual([answer.status, answer.json(), answer.isSuccess], [200, { ok: true }, true]);
});

test('time-outs end before the call does', async () => {
  const { sent } = await sending({ url: 'https://a.test' });
  assert.deepEqual([sent.connectTimeoutMs, sent.timeoutMs], [10_000, 30_000]);
  const short = await sending({ url: 'https://a.test', timeoutMs: 20_000 }, { cloud: () => ({}), remainingMs: 5_000 });
  assert.deepEqual([short.sent.connectTimeoutMs, short.sent.timeoutMs], [4_750, 4_750]);
  const late = await failure(sending({ url: 'https://a.test' }, { cloud: () => ({}), remainingMs: 250 }));
  assert.equal(late.code, 'deadline-exceeded');
});

test('what is no request is not sent', async () => {
  const url = 'https://a.test';
  const table = [
    { url: 'a.test' },
    { url: 'ftp://a.test' },
    { url: 'https://me@a.test' },
    { url, method: 'GE T' },
    { url, headers: { 'a b': 'c' } },
    { url, headers: { a: 'b\nc: d' } },
    { url, headers: { a: 'ü' } },
  ];
  for (const request of table) {
    const error = await failure(sending(request));
    assert.deepEqual([error.code, error.mayHaveHappened], ['failed-precondition', false], JSON.stringify(request));
    assert.match(error.message, /is not usable/);
  }
});

test('an answer that is too large is refused', async () => {
  const error = await failure(sending({ url: 'https://a.test', answerBytes: 10 }, { cloud: () => ({ body: 'x'.repeat(11) }) }));
  assert.equal(error.code, 'internal');
});

test('a script of answers is used in its order', async () => {
  const surroundings = { cloud: [{ status: 201 }] };
  const twice = mock(
    {
      create: async (_, host) => {
        for (const _ of [1, 2]) await host.http.send({ url: 'https://a.test/x' });
        return VM;
      },
    },
    surroundings,
  );
  assert.match((await failure(twice.create(sampleRequest()))).message, /script of answers is at its end, .* GET \/x/);
});

test('a mark is a header', () => {
  for (const [mark, expected] of /** @type {[Record<string, string>, string][]} */ ([
    [auth.awsSigV4({ service: 'ec2', region: 'eu-west-1' }), 'aws-sigv4; service=ec2; region=eu-west-1'],
    [auth.bearer(), 'bearer'],
    [auth.basic(), 'basic'],
    [auth.oauth2ClientCredentials(), 'oauth2-client-credentials'],
    [auth.oauth2ClientCredentials('https://a.test/.default', 'b'), 'oauth2-client-credentials; scope=https://a.test/.default b'],
    [auth.jwtBearer('compute'), 'jwt-bearer; scope=compute'],
    [auth.keystone(), 'keystone'],
    [auth.clientCertificate(), 'client-certificate'],
  ])) {
    assert.deepEqual(mark, { 'machinist-auth': expected });
  }
  for (const region of ['', 'a;b', 'a b']) assert.throws(() => auth.awsSigV4({ service: 'ec2', region }), /region must be/);
  for (const scope of ['', 'a;b', 'a b', 'ä']) assert.throws(() => auth.jwtBearer(scope), /a scope has neither/);
});

const SECRETS = { token: 's3cret"', other: 'b' };
const bearer = (/** @type {any} */ host) => ({
  url: 'https://a.test',
  headers: { authorization: `Bearer ${host.secrets.open('token').placeholder()}` },
});
const within =
  (/** @type {any} */ body, type = 'application/json') =>
  (/** @type {any} */ host) => ({
    method: 'POST',
    url: 'https://a.test',
    headers: { 'content-type': type },
    body: body(host.secrets.open('token')),
  });

test('secrets are put in after the request has left the driver', async () => {
  const cloud = () => ({});
  const { sent, arrived } = await sending(bearer, { cloud, secrets: SECRETS });
  assert.equal(arrived.headers.authorization, 'Bearer s3cret"');
  assert.match(sent.headers[0][1], /^Bearer [a-z0-9]{40,}$/);
  const json = await sending(
    within((/** @type {any} */ token) => JSON.stringify({ a: [token.placeholder('base64')], b: token.placeholder('json-escape') })),
    { cloud, secrets: SECRETS },
  );
  assert.deepEqual(json.arrived.json(), { a: [btoa('s3cret"')], b: 's3cret"' });
  const form = await sending(
    within((/** @type {any} */ token) => `a=b&p=${token.placeholder('form')}`, 'application/x-www-form-urlencoded'),
    { cloud, secrets: SECRETS },
  );
  assert.equal(form.arrived.text(), 'a=b&p=s3cret%22');
});

test('a placeholder is of one call', async () => {
  const tokens = new Set();
  const driver = mock(
    {
      create: (_, host) => {
        const token = host.secrets.open('token');
        tokens.add(token.placeholder());
        tokens.add(token.placeholder('plain'));
        return VM;
      },
    },
    { secrets: SECRETS },
  );
  await driver.create(sampleRequest());
  assert.equal(tokens.size, 1);
  await driver.create(sampleRequest());
  assert.equal(tokens.size, 2);
  const [old] = tokens;
  const late = mock(
    { create: (_, host) => host.http.send({ url: 'https://a.test', headers: { a: old } }) },
    { secrets: SECRETS, cloud: () => ({}) },
  );
  assert.equal((await failure(late.create(sampleRequest()))).code, 'failed-precondition');
});

test('a placeholder in a place that is not granted refuses the request', async () => {
  const grants = (/** @type {any} */ place, /** @type {string[] | undefined} */ hosts) => ({
    egress: [{ host: '*.test' }],
    secrets: [{ key: 'token', places: [place], hosts }],
  });
  const outcome = async (/** @type {any} */ request, /** @type {any} */ granted) =>
    sending(request, { cloud: () => ({}), secrets: SECRETS, grants: granted }).then(
      () => 'sent',
      (error) => error.code,
    );
  const body = within((/** @type {any} */ token) => JSON.stringify({ a: { 'b/c': token.placeholder('json-escape') } }));
  assert.equal(await outcome(bearer, grants({ header: 'Authorization' })), 'sent');
  assert.equal(await outcome(bearer, grants({ header: 'x-token' })), 'failed-precondition');
  assert.equal(await outcome(bearer, grants({ header: 'authorization' }, ['b.test'])), 'failed-precondition');
  assert.equal(await outcome(body, grants({ json: '/a/b~1c' })), 'sent');
  assert.equal(await outcome(body, grants({ json: '/a' })), 'failed-precondition');
  const smuggled = [
    (/** @type {any} */ host) => ({ url: `https://a.test/${host.secrets.open('token').placeholder()}` }),
    within((/** @type {any} */ token) => JSON.stringify({ [token.placeholder()]: 1 })),
    within((/** @type {any} */ token) => token.placeholder('base64'), 'text/plain'),
    within((/** @type {any} */ token) => JSON.stringify({ a: token.placeholder() })),
  ];
  for (const request of smuggled) assert.equal(await outcome(request, undefined), 'failed-precondition');
});

test('requests to what is not granted are refused', async () => {
  const rule = { host: 'a.test', methods: ['GET'], paths: ['/v1/'] };
  const outcome = async (/** @type {any} */ request) =>
    sending(request, { cloud: () => ({}), grants: { egress: [rule] } }).then(
      () => 'sent',
      (error) => error.code,
    );
  assert.equal(await outcome({ url: 'https://a.test/v1/x' }), 'sent');
  for (const request of [
    { url: 'http://a.test/v1/x' },
    { url: 'https://a.test:444/v1/x' },
    { url: 'https://b.test/v1/x' },
    { url: 'https://a.test/x' },
    { url: 'https://a.test/v1/', method: 'POST' },
  ]) {
    assert.equal(await outcome(request), 'failed-precondition', request.url);
  }
});

test('secrets are handles', async () => {
  /** @type {any} */
  const seen = {};
  const look = async (/** @type {any} */ _, /** @type {any} */ host) => {
    const { secrets } = host;
    seen.keys = secrets.keys();
    seen.none = secrets.open('toString');
    seen.length = secrets.open('token').length;
    seen.startsWith = secrets.open('token').startsWith('s3');
    seen.userData = secrets.userData()?.startsWith('#cloud');
    seen.refusals = ['reveal', 'fit', 'many'].map((what) => {
      const act = {
        reveal: () => secrets.open('token').reveal(),
        fit: () => secrets.open('token').placeholder('gzip', 'json-escape'),
        many: () => secrets.open('token').placeholder(...Array(5).fill('plain')),
      };
      try {
        return act[/** @type {'reveal'} */ (what)]();
      } catch (error) {
        return /** @type {any} */ (error).code;
      }
    });
    return VM;
  };
  const driver = mock({ create: look, getStatus: look }, { secrets: SECRETS, userData: '#cloud-config' });
  await driver.create(sampleRequest());
  assert.deepEqual(seen, {
    keys: ['other', 'token'],
    none: undefined,
    length: 7,
    startsWith: false,
    userData: true,
    refusals: Array(3).fill('failed-precondition'),
  });
  await driver.getStatus(sampleRequest());
  assert.equal(seen.userData, undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Answer, Attempt, codeOfStatus, NoAnswer } from 'machinist-sdk';

import { isCutOff } from '../src/http/answer.js';

const WASI = /** @type {const} */ ([
  ['HTTP-request-denied', 'failed-precondition', false, 'egress'],
  ['destination-IP-prohibited', 'failed-precondition', false, 'addresses'],
  ['HTTP-request-URI-invalid', 'failed-precondition', false, 'settings'],
  ['HTTP-request-body-size', 'invalid-argument', false, 'user data'],
  ['DNS-timeout', 'unavailable', false, 'DNS'],
  ['connection-refused', 'unavailable', false, 'refuses'],
  ['connection-timeout', 'unavailable', false, 'network'],
  ['TLS-certificate-error', 'unavailable', false, 'certificate'],
  ['HTTP-response-timeout', 'deadline-exceeded', true, 'in time'],
  ['connection-terminated', 'unavailable', true, 'ended'],
  ['HTTP-response-body-size', 'internal', true, 'larger'],
  ['HTTP-protocol-error', 'unknown', true, 'HTTP-protocol-error'],
]);

for (const [tag, code, mayHaveBeenSent, word] of WASI) {
  test(`${tag} is ${code}, ${mayHaveBeenSent ? 'and may have been sent' : 'and was not sent'}`, () => {
    const noAnswer = NoAnswer.ofWasi(/** @type {any} */ ({ tag }), 'cloud.example');
    assert.deepEqual([noAnswer.code, noAnswer.mayHaveBeenSent], [code, mayHaveBeenSent]);
    assert.ok(noAnswer.message.includes(word) && noAnswer.message.includes('cloud.example'), noAnswer.message);
    const read = noAnswer.asDriverError({ doing: 'read', changes: false });
    const change = noAnswer.asDriverError({ doing: 'change', changes: true });
    assert.deepEqual([read.mayHaveHappened, change.mayHaveHappened], [false, mayHaveBeenSent]);
    assert.match(change.message, /^failed to change: /);
  });
}

test('details of the host are kept', () => {
  const noAnswer = NoAnswer.ofWasi({ tag: 'internal-error', val: 'unexpected' }, 'a');
  assert.match(noAnswer.message, /internal-error \("unexpected"\)/);
});

test('each status has a code', () => {
  const codes = [400, 413, 422, 401, 403, 404, 408, 504, 409, 410, 412, 429, 500, 599, 418, 302].map(codeOfStatus);
  assert.deepEqual(codes, [
    'invalid-argument',
    'invalid-argument',
    'invalid-argument',
    'unauthenticated',
    'permission-denied',
    'not-found',
    'deadline-exceeded',
    'deadline-exceeded',
    'aborted',
    'failed-precondition',
    'failed-precondition',
    'unavailable',
    'unavailable',
    'unavailable',
    'unknown',
    'unknown',
  ]);
});

test('a refusal without a known code goes by its status, and long words are cut', () => {
  const attempt = new Attempt(/** @type {any} */ (undefined), { doing: 'try', host: 'a', changes: true });
  const answer = new Answer({ status: 503, headers: [['Retry-After', '7']], body: new Uint8Array() });
  const error = attempt.refused(answer, { cloudCode: 'unexpected', message: 'ä\n'.repeat(500) });
  assert.deepEqual([error.code, error.cloudCode, error.retryAfterMs, error.mayHaveHappened], ['unavailable', 'unexpected', 7_000, true]);
  assert.ok(!error.message.includes('\n') && [...error.message].length < 230);
});

test('each beginning of a JSON text is one that was cut off, and what is none is not', () => {
  const whole = '{"a": "b\\"\\u00e9ü", "c": [1, -2.5e3, true, {"d": null}, []], "e": false}';
  for (let length = 0; length < whole.length; length += 1) assert.ok(isCutOff(whole.slice(0, length)), whole.slice(0, length));
  const none = [
    'nonsense',
    '{]}',
    '"a',
    '{"a": 1}}',
    '\ufffd{',
    '{"id": \ufffd\ufffd \0 [[[ not json',
    '{"a": "b" "c',
    '[1, 2] [',
    '<html>{',
  ];
  for (const text of none) assert.ok(!isCutOff(text), text);
});

test('a pause that is a date or nonsense is passed over', () => {
  const pause = (/** @type {string} */ value) =>
    new Answer({ status: 429, headers: [['retry-after', value]], body: new Uint8Array() }).retryAfterMs;
  assert.deepEqual(['3', ' 3 ', '-1', '1e3', 'Wed, 21 Oct 2026 07:28:00 GMT', ''].map(pause), [
    3_000,
    3_000,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

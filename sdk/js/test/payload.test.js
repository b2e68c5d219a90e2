import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';

import { hasPayload, stackOf } from '../src/http/payload.js';

test('the payload of an error of another realm is found', () => {
  const error = runInNewContext("Object.assign(new Error('unexpected'), { payload: { tag: 'closed' } })");
  assert.ok(!(error instanceof Error));
  assert.ok(hasPayload(error));
  assert.match(stackOf(error), /unexpected/);
});

test('what is thrown otherwise has none', () => {
  for (const error of [undefined, null, 'text', 7, new Error('unexpected')]) assert.ok(!hasPayload(error));
  assert.equal(stackOf('text'), '');
});

/**
 * What is generated and committed is what would be generated.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const GENERATE = fileURLToPath(new URL('../tools/generate.js', import.meta.url));

test('bindings and types are as the contract and the sources want them', () => {
  const { status, stderr, stdout } = spawnSync(process.execPath, [GENERATE, '--check'], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
});

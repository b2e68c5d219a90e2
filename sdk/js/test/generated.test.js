/**
 * The committed generated files are those that the generators write.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { folder } from '../tools/toolchain.js';

const GENERATE = fileURLToPath(new URL('../tools/generate.js', import.meta.url));

/** @param {string} what */
function check(what) {
  const { status, stderr, stdout } = spawnSync(process.execPath, [GENERATE, '--check', what], { encoding: 'utf8' });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

test('types are as the sources want them', () => check('types'));

// Their generator is one of the large tools, which unit tests do without.
const missing = existsSync(folder()) ? false : 'the tools of components are not installed: node tools/machinist-js.js setup';
test('bindings are as the contract wants them', { skip: missing }, () => check('bindings'));

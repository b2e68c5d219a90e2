import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { world } from '../tools/contract.js';

const TOOL = fileURLToPath(new URL('../tools/machinist-js.js', import.meta.url));
const folders = /** @type {string[]} */ ([]);
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** @param {Record<string, string>} files */
function project(files) {
  const folder = mkdtempSync(join(tmpdir(), 'machinist-js-test-'));
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** @param {...string} args */
function run(...args) {
  const { status, stderr, stdout } = spawnSync(process.execPath, [TOOL, ...args], { encoding: 'utf8' });
  return { status, text: `${stdout}${stderr}` };
}

test('what is missing is said', () => {
  assert.match(run().text, /^usage:/);
  assert.match(run('fly').text, /^usage:/);
  assert.match(run('build', '.').text, /build needs -o FILE\.wasm/);
  assert.match(run('build', project({}), '-o', 'a.wasm').text, /it has no package\.json/);
  assert.match(run('build', project({ 'package.json': '{' }), '-o', 'a.wasm').text, /is not JSON/);
  assert.match(
    run('build', project({ 'package.json': '{}' }), '-o', 'a.wasm').text,
    /nothing is at src\/component\.ts or src\/component\.js/,
  );
  assert.match(run('test', project({ 'package.json': '{}' })).text, /has no tests/);
  assert.equal(run('fly').status, 2);
});

test('a module that cannot be a component says why, with file and line', () => {
  const build = (/** @type {string} */ source) =>
    run('build', project({ 'package.json': '{}', 'src/component.js': source }), '-o', 'a.wasm');
  assert.match(build('import fs from "node:fs"; export const driver = fs;').text, /component\.js:1:\d+: node:fs is of Node\.js/);
  assert.match(build('import { x } from "machinist-sdk/gone"; export const driver = x;').text, /machinist-sdk\/gone is no part of the SDK/);
  assert.match(build('export const driver = ;').text, /component\.js:1:\d+: /);
  assert.match(build('export const other = 1;').text, /exports other: it must export `driver`/);
  assert.equal(build('export const other = 1;').status, 2);
});

test('the names that a module exports say what it is', () => {
  assert.equal(world(['policy']).name, 'health-policy');
  const interfaces = (/** @type {string[]} */ exports) =>
    [...world(exports).text.matchAll(/export machinist:([^@]+)@0\.1\.0;/g)].map(([, name]) => name);
  assert.deepEqual(interfaces(['driver']), []);
  assert.deepEqual(interfaces(['driver', 'reboot']), ['provider/reboot']);
  assert.deepEqual(interfaces(['deleteById', 'driver', 'reboot']), ['provider/reboot', 'delete-by-id/delete-by-id']);
  assert.deepEqual(interfaces(['capacity', 'interruption', 'placement', 'nodeId', 'driver']), [
    'node-id/node-id',
    'placement/placement',
    'interruption/interruption',
    'capacity/capacity',
  ]);
  for (const exports of [[], ['reboot'], ['driver', 'policy']]) assert.throws(() => world(exports), /it must export/);
});

test('tests of a project run, in TypeScript too, and fail when they fail', () => {
  const source = (/** @type {number} */ sum) =>
    `import { equal } from 'node:assert'; import { test } from 'node:test'; const one: number = 1; test('adds', () => equal(one + 1, ${sum}));`;
  const files = { 'package.json': '{}', 'test/deep/a.test.ts': source(2) };
  assert.equal(run('test', project(files)).status, 0);
  const failed = run('test', project({ ...files, 'test/b.test.ts': source(3) }));
  assert.equal(failed.status, 1);
  assert.match(failed.text, /b\.test\.ts:1/);
});

test('types are checked', () => {
  const source = 'import { DriverError } from "machinist-sdk"; export const error = new DriverError("oops", "text");';
  const wrong = run('check', project({ 'package.json': '{}', 'src/component.ts': source }));
  assert.match(wrong.text, /"oops"' is not assignable/);
  assert.notEqual(wrong.status, 0);
  assert.equal(run('check', project({ 'package.json': '{}', 'src/component.ts': source.replace('oops', 'internal') })).status, 0);
});

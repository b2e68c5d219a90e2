/**
 * Unit tests of a project, in Node.js, without WebAssembly.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bundleTests } from './bundle.js';
import { Project } from './project.js';

/** Runs the tests and prints their output. Returns the exit code. */
export async function test(folder) {
  const project = new Project(folder);
  const bundles = mkdtempSync(join(tmpdir(), 'machinist-js-tests-'));
  try {
    await bundleTests(project.tests, bundles);
    return runIn(project.folder, bundles);
  } finally {
    rmSync(bundles, { recursive: true, force: true });
  }
}

function runIn(cwd, bundles) {
  const files = readdirSync(bundles, { recursive: true }).filter((name) => name.endsWith('.mjs'));
  const paths = files.sort().map((name) => join(bundles, name));
  // Within another test run, Node.js would run no test, and report success.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { status } = spawnSync(process.execPath, ['--enable-source-maps', '--test', '--test-reporter=spec', ...paths], {
    cwd,
    env,
    stdio: 'inherit',
  });
  return status ?? 1;
}

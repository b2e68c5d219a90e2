#!/usr/bin/env node
/**
 * `machinist-js`: builds, tests and checks a project.
 */

import { parseArgs } from 'node:util';

import { build } from './build.js';
import { check } from './check.js';
import { Complaint } from './complaint.js';
import { test } from './test.js';
import { setUp } from './toolchain.js';

const USAGE = `usage:
  machinist-js setup                    install the tools into the cache folder, and say where
  machinist-js build [DIR] -o FILE.wasm make a component
  machinist-js test [DIR]               run the unit tests
  machinist-js check [DIR]              check the types`;

async function run(args) {
  const { values, positionals } = understood(args);
  const [command, folder = '.', ...rest] = positionals;
  if (rest.length > 0) throw new Complaint(USAGE);
  switch (command) {
    case 'setup':
      process.stdout.write(`${setUp()}\n`);
      return 0;
    case 'build': {
      if (!values.output) throw new Complaint(`build needs -o FILE.wasm\n${USAGE}`);
      const bytes = await build(folder, values.output);
      process.stdout.write(`${values.output}: ${bytes} bytes\n`);
      return 0;
    }
    case 'test':
      return test(folder);
    case 'check':
      return check(folder);
    default:
      throw new Complaint(USAGE);
  }
}

function understood(args) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { output: { type: 'string', short: 'o' } } });
  } catch (error) {
    throw new Complaint(`${error.message}\n${USAGE}`);
  }
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  process.stderr.write(error instanceof Complaint ? `${error.message}\n` : `${error.stack}\n`);
  process.exitCode = error instanceof Complaint ? 2 : 1;
}

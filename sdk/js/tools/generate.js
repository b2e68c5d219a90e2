/**
 * Generates `bindings` and `types`. With `--check` it changes nothing, and fails if one of them is stale. The name of
 * one of them restricts it to that one.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { bindings } from './bindings.js';
import { typescript } from './toolchain.js';

const SDK = fileURLToPath(new URL('../', import.meta.url));
const TYPES_HEADER = '// Code generated from src by `npm run generate`. DO NOT EDIT.\n';

/** Returns names of files below the SDK, and their texts. */
async function bindingFiles() {
  return new Map([...(await bindings())].map(([name, text]) => [join('bindings', name), text]));
}

/** Returns the types of `src`, from its comments. Needs up-to-date `bindings`. */
function typeFiles() {
  // Beside `types`, so that references to `bindings` are the same.
  const draft = mkdtempSync(join(SDK, '.types-'));
  try {
    const { status } = spawnSync(process.execPath, [typescript(), '--project', SDK, '--outDir', draft], { stdio: 'inherit' });
    if (status !== 0) throw new Error('the types of the SDK do not fit');
    return new Map(filesIn(draft).map((name) => [join('types', name), TYPES_HEADER + readFileSync(join(draft, name), 'utf8')]));
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(folder.length + 1));
}

function stale(folder, wanted) {
  const present = filesIn(join(SDK, folder)).map((name) => join(folder, name));
  const differs = [...wanted].filter(([name, text]) => !existsSync(join(SDK, name)) || readFileSync(join(SDK, name), 'utf8') !== text);
  return [...differs.map(([name]) => name), ...present.filter((name) => !wanted.has(name))];
}

function write(folder, wanted) {
  rmSync(join(SDK, folder), { recursive: true, force: true });
  for (const [name, text] of wanted) {
    mkdirSync(dirname(join(SDK, name)), { recursive: true });
    writeFileSync(join(SDK, name), text);
  }
}

const isCheck = process.argv.includes('--check');
const only = process.argv.slice(2).filter((argument) => argument !== '--check');
const complaints = [];
for (const [folder, make] of [
  ['bindings', bindingFiles],
  ['types', typeFiles],
]) {
  if (only.length > 0 && !only.includes(folder)) continue;
  const wanted = await make();
  if (isCheck) complaints.push(...stale(folder, wanted));
  else write(folder, wanted);
}
if (complaints.length > 0) {
  process.stderr.write(`stale, run \`npm run generate\` in sdk/js: ${complaints.join(', ')}\n`);
  process.exitCode = 1;
}

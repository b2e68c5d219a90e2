/**
 * The tools that build a component: exact versions, outside of the project, verified by the hashes of a lock file.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { Complaint } from './complaint.js';

/** Source, folder name and size of each set of tools. */
const RECIPES = {
  component: { recipe: fileURLToPath(new URL('../toolchain/', import.meta.url)), name: 'js', size: '400 MB' },
  tests: { recipe: fileURLToPath(new URL('../toolchain/tests/', import.meta.url)), name: 'js-tests', size: '40 MB' },
};
/** Tests and type checks need no engine for components. */
const FOR_TESTS = ['esbuild', 'typescript'];
const FILES = ['package.json', 'package-lock.json'];
/** An installation takes a minute or two; one that takes much longer hangs. */
const INSTALL_MS = 15 * 60 * 1000;

/**
 * Returns the folder of a set of tools. Its name contains the hash of the lock file, so that two versions can coexist.
 */
export function folder(set = 'component') {
  const { recipe, name } = RECIPES[set];
  const lock = readFileSync(join(recipe, 'package-lock.json'));
  const hash = createHash('sha256').update(lock).digest('hex').slice(0, 16);
  return join(cache(), `${name}-${hash}`);
}

/** Installs a set of tools if it is missing. Returns its folder. */
export function setUp(set = 'component') {
  const { recipe, size } = RECIPES[set];
  const target = folder(set);
  if (existsSync(target)) return target;
  mkdirSync(cache(), { recursive: true });
  const draft = mkdtempSync(`${target}.draft-`);
  try {
    for (const file of FILES) {
      cpSync(join(recipe, file), join(draft, file));
    }
    process.stderr.write(`installing the JavaScript tools into ${target} (${size}, once)\n`);
    // Not `npm ci`: it refuses a lock file without the builds for all platforms, which not every registry has.
    npm(['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund'], draft);
    insistOnTheLock(recipe, draft);
    moveIntoPlace(draft, target);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return target;
}

/** Imports a module of one of the tools. */
export async function load(name) {
  const tools = setUp(FOR_TESTS.includes(name) ? 'tests' : 'component');
  const require = createRequire(join(tools, 'package.json'));
  return import(pathToFileURL(resolveFrom(require, tools, name)).href);
}

/** Returns the executable of TypeScript. */
export function typescript() {
  return join(setUp('tests'), 'node_modules', 'typescript', 'bin', 'tsc');
}

/** Fails for any package that the lock file does not name with its hash. */
function insistOnTheLock(recipe, draft) {
  const read = (name) => JSON.parse(readFileSync(join(draft, name), 'utf8')).packages;
  cpSync(join(recipe, 'package-lock.json'), join(draft, 'package-lock.json'));
  const locked = read('package-lock.json');
  const installed = Object.entries(read('node_modules/.package-lock.json'));
  const strays = installed.filter(([path, { integrity }]) => !integrity || locked[path]?.integrity !== integrity);
  if (strays.length === 0) return;
  throw new Complaint(
    `npm installed what the lock file does not name: ${strays.map(([path]) => path).join(', ')}: this platform is not supported yet`,
  );
}

/** Renames the folder in one step: the first process wins, and the others find the same tools. */
function moveIntoPlace(draft, target) {
  try {
    renameSync(draft, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

function npm(args, cwd) {
  try {
    execFileSync('npm', args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], timeout: INSTALL_MS });
  } catch (error) {
    if (error.code === 'ENOENT') throw new Complaint('npm is not installed: install Node.js 20 or later with npm');
    const said = String(error.stderr ?? error.message).trim();
    throw new Complaint(`npm could not install the tools: check the package registry that npm is set to, and the disk\n${said}`);
  }
}

/** Resolves packages that have only ESM by their `import` condition, which `require.resolve` ignores. */
function resolveFrom(require, tools, name) {
  try {
    return require.resolve(name);
  } catch {
    const folder = join(tools, 'node_modules', name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const entry = manifest.exports?.import ?? manifest.exports?.['.']?.import ?? manifest.main;
    return join(folder, entry);
  }
}

function cache() {
  const { MACHINIST_CACHE, XDG_CACHE_HOME } = process.env;
  if (MACHINIST_CACHE) return MACHINIST_CACHE;
  return join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'machinist');
}

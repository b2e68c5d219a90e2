/**
 * Finds the contract, in the package or in the tree, and makes the world of a component from it.
 */

import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Complaint } from './complaint.js';

const CANDIDATES = ['../wit/', '../../../wit/'];

/** The interfaces that a driver may leave out, by the export of its module: the package, and the interface. */
const OPTIONAL = {
  reboot: ['provider', 'reboot'],
  deleteById: ['delete-by-id', 'delete-by-id'],
  nodeId: ['node-id', 'node-id'],
  placement: ['placement', 'placement'],
  interruption: ['interruption', 'interruption'],
  capacity: ['capacity', 'capacity'],
};

/** The packages of the contract of drivers. */
export const PACKAGES = [...new Set(Object.values(OPTIONAL).map(([name]) => name))];

/** Returns the folder of a package of the contract, such as `provider/0.1.0`. */
export function contract(name) {
  const folders = CANDIDATES.map((base) => fileURLToPath(new URL(`${base}${name}`, import.meta.url)));
  const found = folders.find((folder) => existsSync(folder));
  if (!found) throw new Complaint(`the contract ${name} is missing in the SDK: install machinist-sdk again`);
  return found;
}

/** The world with everything that a driver may export, as the bindings have it. */
export function wholeDriver() {
  return driverWorld(Object.keys(OPTIONAL));
}

/**
 * Returns the world of a component, by the names of its module's exports: its name, its text, and the files of the
 * packages that it uses.
 */
export function world(exports) {
  const has = (name) => exports.includes(name);
  if (has('policy') && !has('driver')) {
    const folder = contract('policy/0.1.0');
    return { name: 'health-policy', text: readFileSync(join(folder, 'policy.wit'), 'utf8'), files: files(join(folder, 'deps')) };
  }
  if (has('driver') && !has('policy')) return driverWorld(Object.keys(OPTIONAL).filter(has));
  const optional = Object.keys(OPTIONAL).join(', ');
  throw new Complaint(
    `the component's module exports ${exports.join(', ') || 'nothing'}: it must export \`driver\` (and those of ${optional} that there are) of exportDriver, or \`policy\` of exportPolicy`,
  );
}

/** Writes a world into a folder, in the form that the tools of components read. */
export function writeWorld({ text, files }, folder) {
  mkdirSync(join(folder, 'deps'), { recursive: true });
  writeFileSync(join(folder, 'world.wit'), text);
  for (const [name, path] of files) copyFileSync(path, join(folder, 'deps', name));
}

function driverWorld(optional) {
  const chosen = optional.map((name) => OPTIONAL[name]);
  const exports = chosen.map(([name, interfaceName]) => `  export machinist:${name}/${interfaceName}@0.1.0;\n`);
  const text = `package machinist:author@0.1.0;\n\nworld driver {\n  include machinist:provider/provider@0.1.0;\n${exports.join('')}}\n`;
  const packages = new Set(['provider', ...chosen.map(([name]) => name)]);
  const own = [...packages].flatMap((name) => files(contract(`${name}/0.1.0`)));
  return { name: 'driver', text, files: [...own, ...files(join(contract('provider/0.1.0'), 'deps'))] };
}

/** Names and paths of the files of a package in a folder. */
function files(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.wit')).sort();
  return names.map((name) => [name, join(folder, name)]);
}

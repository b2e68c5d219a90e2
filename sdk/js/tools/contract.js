/**
 * Finds the contract: in the package, or in the tree.
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Complaint } from './complaint.js';

const CANDIDATES = ['../wit/', '../../../wit/'];

/** Returns the folder of a package of the contract, such as `provider/0.1.0`. */
export function contract(name) {
  const folders = CANDIDATES.map((base) => fileURLToPath(new URL(`${base}${name}`, import.meta.url)));
  const found = folders.find((folder) => existsSync(folder));
  if (!found) throw new Complaint(`the contract ${name} is missing in the SDK: install machinist-sdk again`);
  return found;
}

/** Returns the world of a component, by the names of its module's exports. */
export function world(exports) {
  const has = (name) => exports.includes(name);
  if (has('policy') && !has('driver')) return { wit: contract('policy/0.1.0'), name: 'health-policy' };
  if (has('driver') && !has('policy')) {
    return { wit: contract('provider/0.1.0'), name: has('reboot') ? 'full-provider' : 'provider' };
  }
  throw new Complaint(
    `the component's module exports ${exports.join(', ') || 'nothing'}: it must export \`driver\` (and \`reboot\`, if there is one) of exportDriver, or \`policy\` of exportPolicy`,
  );
}

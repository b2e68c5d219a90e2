/**
 * Copies files of the tree into the package while it is packed: the contract and the licence.
 */

import { cpSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { PACKAGES } from './contract.js';

const ROOT = new URL('../../../', import.meta.url);
const SDK = new URL('../', import.meta.url);
const CONTENTS = [...PACKAGES, 'policy'].map((name) => `wit/${name}/0.1.0`).concat('LICENSE');

if (process.argv.includes('--clean')) {
  for (const name of ['wit', 'LICENSE']) rmSync(fileURLToPath(new URL(name, SDK)), { recursive: true, force: true });
} else {
  for (const name of CONTENTS) cpSync(fileURLToPath(new URL(name, ROOT)), fileURLToPath(new URL(name, SDK)), { recursive: true });
}

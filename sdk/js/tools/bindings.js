/**
 * Generates the JavaScript types of the host's imports and of the exports from the contract.
 */

import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

import { contract } from './contract.js';
import { load } from './toolchain.js';

const WORLDS = [
  { wit: 'provider/0.1.0', world: 'full-provider' },
  { wit: 'policy/0.1.0', world: 'health-policy' },
];

/** Returns file names and texts. Interfaces of both worlds have the same text. */
export async function bindings() {
  const generator = await load('@bytecodealliance/jco-transpile/component');
  await generator.$init;
  const files = new Map();
  for (const { wit, world } of WORLDS) {
    const source = { tag: 'source', val: oneText(contract(wit)) };
    const options = { wit: source, world, features: { tag: 'list', val: [] }, guest: true, tlaCompat: false, flagsAsBigint: false };
    for (const [name, bytes] of generator.generateTypes(world, options)) {
      files.set(name, tidied(new TextDecoder().decode(bytes)));
    }
  }
  return files;
}

/**
 * Returns the folder as one text, with each package that it depends on as a block. The generator finds no folders under
 * Node.js 20.
 */
function oneText(folder) {
  const deps = join(folder, 'deps');
  const main = readdirSync(folder).filter((name) => name.endsWith('.wit'));
  const blocks = readdirSync(deps)
    .sort()
    .map((name) => asBlock(readFileSync(join(deps, name), 'utf8'), basename(name)));
  return [...main.map((name) => readFileSync(join(folder, name), 'utf8')), ...blocks].join('\n');
}

function asBlock(text, name) {
  const declaration = /^package ([^;]+);[ \t]*$/m.exec(text);
  if (!declaration) throw new Error(`${name} declares no package`);
  return `package ${declaration[1]} {${text.slice(declaration.index + declaration[0].length)}\n}\n`;
}

function tidied(text) {
  return `// Code generated from wit/ by \`npm run generate\`. DO NOT EDIT.\n${text.replace(/[ \t]+$/gm, '').trimEnd()}\n`;
}

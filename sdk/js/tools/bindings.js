/**
 * Generates the JavaScript types of the host's imports and of the exports from the contract.
 */

import { readFileSync } from 'node:fs';

import { wholeDriver, world } from './contract.js';
import { load } from './toolchain.js';

/** Returns file names and texts. Interfaces of both worlds have the same text. */
export async function bindings() {
  const generator = await load('@bytecodealliance/jco-transpile/component');
  await generator.$init;
  const files = new Map();
  for (const of of [wholeDriver(), world(['policy'])]) {
    const source = { tag: 'source', val: oneText(of) };
    const options = { wit: source, world: of.name, features: { tag: 'list', val: [] }, guest: true, tlaCompat: false, flagsAsBigint: false };
    for (const [name, bytes] of generator.generateTypes(of.name, options)) {
      files.set(name, tidied(new TextDecoder().decode(bytes)));
    }
  }
  return files;
}

/**
 * Returns the world as one text, with each package that it depends on as a block. The generator finds no folders under
 * Node.js 20.
 */
function oneText({ text, files }) {
  const blocks = files.map(([name, path]) => asBlock(readFileSync(path, 'utf8'), name));
  return [text, ...blocks].join('\n');
}

function asBlock(text, name) {
  const declaration = /^package ([^;]+);[ \t]*$/m.exec(text);
  if (!declaration) throw new Error(`${name} declares no package`);
  return `package ${declaration[1]} {${text.slice(declaration.index + declaration[0].length)}\n}\n`;
}

function tidied(text) {
  return `// Code generated from wit/ by \`npm run generate\`. DO NOT EDIT.\n${text.replace(/[ \t]+$/gm, '').trimEnd()}\n`;
}

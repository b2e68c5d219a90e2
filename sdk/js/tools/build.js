/**
 * From sources to a component.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { bundleComponent } from './bundle.js';
import { Complaint } from './complaint.js';
import { world } from './contract.js';
import { Project } from './project.js';
import { load } from './toolchain.js';

/** The engine's own HTTP is left out: requests go through the SDK, which knows deadlines, placeholders and typed errors. */
const WITHOUT = ['http', 'fetch-event'];

/** Builds the project into the file `output`. Answers the number of bytes. */
export async function build(folder, output) {
  const target = resolve(output);
  const project = new Project(folder);
  const { text, exports } = await bundleComponent(project.entry);
  const component = await componentize(text, world(exports));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, component);
  return component.length;
}

async function componentize(text, { wit, name }) {
  const tool = await load('@bytecodealliance/componentize-js');
  const folder = mkdtempSync(join(tmpdir(), 'machinist-js-'));
  const before = process.cwd();
  try {
    const sourcePath = join(folder, 'component.js');
    writeFileSync(sourcePath, text);
    // The tool writes paths as seen from here into the component: from here they are the same each time.
    process.chdir(folder);
    const { component } = await tool.componentize({ sourcePath, witPath: wit, worldName: name, disableFeatures: WITHOUT });
    return component;
  } catch (error) {
    throw new Complaint(`the component could not be made: the module fails when it is loaded, or lacks an export\n${error.message ?? error}`);
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  }
}

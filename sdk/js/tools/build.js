/**
 * From sources to a component.
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

import { bundleComponent } from './bundle.js';
import { Complaint } from './complaint.js';
import { world, writeWorld } from './contract.js';
import { Project } from './project.js';
import { load } from './toolchain.js';

/** Without the engine's own HTTP: the SDK sends requests, with deadlines, placeholders and typed errors. */
const WITHOUT = ['http', 'fetch-event'];

/** Builds the project into the file `output`. Returns the number of bytes. */
export async function build(folder, output) {
  const target = resolve(output);
  const project = new Project(folder);
  const { text, exports } = await bundleComponent(project.entry);
  const component = await componentize(text, world(exports));
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, component);
  return component.length;
}

async function componentize(text, world) {
  const tool = await load('@bytecodealliance/componentize-js');
  const folder = mkdtempSync(join(tmpdir(), 'machinist-js-'));
  const before = process.cwd();
  try {
    const sourcePath = join(folder, 'component.js');
    writeFileSync(sourcePath, text);
    const witPath = join(folder, 'wit');
    writeWorld(world, witPath);
    // The tool writes relative paths into the component: from this folder they are the same each time.
    process.chdir(folder);
    const { component } = await tool.componentize({ sourcePath, witPath, worldName: world.name, disableFeatures: WITHOUT });
    return component;
  } catch (error) {
    throw new Complaint(explained(String(error.message ?? error)));
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Explains an error: the top level of modules runs now, without a host. */
function explained(message) {
  const [, imported] = /attempted to call an unknown imported function: '([^']+)'/.exec(message) ?? [];
  if (imported) {
    return `a module asks for ${imported} while it is loaded: that happens once, when the component is built, and there is no host then. Move it into a call (Math.random, new Date() and crypto count too)`;
  }
  return `the component could not be made: the module fails when it is loaded, or lacks an export\n${message}`;
}

/**
 * An author's project: a folder with a package.json.
 */

import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

import { Complaint } from './complaint.js';

const ENTRIES = ['src/component.ts', 'src/component.js'];
const TEST = /\.test\.(ts|js)$/;

export class Project {
  constructor(folder) {
    this.folder = resolve(folder);
    const manifest = join(this.folder, 'package.json');
    if (!existsSync(manifest)) throw new Complaint(`${this.folder} is no project: it has no package.json`);
    try {
      this.manifest = JSON.parse(readFileSync(manifest, 'utf8'));
    } catch {
      throw new Complaint(`${manifest} is not JSON: correct it`);
    }
  }

  /** The module with the component's exports: `machinist.component` of package.json, else `src/component`. */
  get entry() {
    const named = this.manifest.machinist?.component;
    const candidates = named ? [named] : ENTRIES;
    const found = candidates.map((name) => join(this.folder, name)).find((path) => existsSync(path));
    if (found) return found;
    throw new Complaint(
      `nothing is at ${candidates.join(' or ')} of ${this.folder}: the module that exports the driver or the policy belongs there`,
    );
  }

  /** `*.test.js` and `*.test.ts` in `src` and `test`. */
  get tests() {
    const tests = ['src', 'test'].flatMap((name) => filesIn(join(this.folder, name))).filter((path) => TEST.test(path));
    if (tests.length === 0) throw new Complaint(`${this.folder} has no tests: put NAME.test.js or NAME.test.ts into test`);
    return tests;
  }
}

function filesIn(folder) {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).sort();
  return names.flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? filesIn(path) : [path];
  });
}

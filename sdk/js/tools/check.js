/**
 * Checks the types of a project: TypeScript, and JavaScript by its comments.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Project } from './project.js';
import { typescript } from './toolchain.js';

const SDK = fileURLToPath(new URL('../', import.meta.url));

/** Checks `src`. Returns the exit code. */
export function check(folder) {
  const project = new Project(folder);
  const draft = mkdtempSync(join(tmpdir(), 'machinist-js-types-'));
  try {
    const config = {
      extends: join(SDK, 'tsconfig.author.json'),
      compilerOptions: { paths: paths() },
      include: [join(project.folder, 'src')],
    };
    writeFileSync(join(draft, 'tsconfig.json'), JSON.stringify(config));
    const { status } = spawnSync(process.execPath, [typescript(), '--project', draft, '--noEmit'], {
      cwd: project.folder,
      stdio: 'inherit',
    });
    return status ?? 1;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** Returns the types of the SDK that these tools belong to. */
function paths() {
  const { exports } = JSON.parse(readFileSync(join(SDK, 'package.json'), 'utf8'));
  const typed = Object.entries(exports).filter(([, target]) => target.types);
  return Object.fromEntries(typed.map(([name, { types }]) => [join('machinist-sdk', name), [join(SDK, types)]]));
}

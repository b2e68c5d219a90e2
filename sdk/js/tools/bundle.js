/**
 * Bundles an author's modules, TypeScript or JavaScript, into one.
 */

import { isBuiltin } from 'node:module';

import { Complaint } from './complaint.js';
import { load } from './toolchain.js';

/** The modules that the host provides. */
const FROM_THE_HOST = ['machinist:*', 'wasi:*'];

/** Bundles for a component. Returns the text and the names of its exports. */
export async function bundleComponent(entry) {
  const result = await run({ entryPoints: [entry], platform: 'neutral', mainFields: ['module', 'main'], plugins: [sdk, noNode] });
  const [output] = Object.values(result.metafile.outputs);
  return { text: result.outputFiles[0].text, exports: output.exports };
}

/** Bundles for Node.js, with the lines of the sources in stack traces. */
export async function bundleTests(entries, outdir) {
  await run({
    entryPoints: entries,
    platform: 'node',
    outdir,
    write: true,
    sourcemap: 'inline',
    plugins: [sdk],
    outExtension: { '.js': '.mjs' },
  });
}

/** Resolves the SDK to the one that these tools belong to. */
const sdk = {
  name: 'sdk',
  setup(build) {
    build.onResolve({ filter: /^machinist-sdk(\/|$)/ }, ({ path }) => {
      try {
        return { path: new URL(import.meta.resolve(path)).pathname };
      } catch {
        return { errors: [{ text: `${path} is no part of the SDK: see its README for what there is` }] };
      }
    });
  },
};

/** Fails at build time: a component has no Node.js. */
const noNode = {
  name: 'no-node',
  setup(build) {
    build.onResolve({ filter: /.*/ }, ({ path }) =>
      isBuiltin(path)
        ? { errors: [{ text: `${path} is of Node.js, and a component has no Node.js: use what the SDK and the web platform offer` }] }
        : undefined,
    );
  },
};

async function run(options) {
  const { build } = await load('esbuild');
  const common = {
    bundle: true,
    format: 'esm',
    target: 'es2022',
    metafile: true,
    write: false,
    external: FROM_THE_HOST,
    charset: 'utf8',
    logLevel: 'silent',
  };
  try {
    return await build({ ...common, ...options });
  } catch (error) {
    if (!error.errors) throw error;
    throw new Complaint(error.errors.map(shown).join('\n'));
  }
}

function shown({ location, text }) {
  return location ? `${location.file}:${location.line}:${location.column + 1}: ${text}` : text;
}

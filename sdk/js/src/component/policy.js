/**
 * Exports a policy from a component. Import this only in the module that the build starts from: there is no such host
 * in Node.js.
 */

/** @import { Policy } from '../policy/policy.js' */

import './globals.js';

import { emit, enabled } from 'machinist:host/log@0.1.0';

import { Log } from '../host.js';
import { serve } from '../policy/serve.js';

/**
 * Returns the exports of the component's module: `export const policy = exportPolicy(new MyPolicy());`
 * @template Settings
 * @param {Policy<Settings>} author
 */
export function exportPolicy(author) {
  return serve(author, new Log({ emit, enabled }));
}

/**
 * Makes a component of a policy. Only the module that is built may import this: natively there is no such host.
 */

/** @import { Policy } from '../policy/policy.js' */

import './globals.js';

import { emit, enabled } from 'machinist:host/log@0.1.0';

import { Log } from '../host.js';
import { serve } from '../policy/serve.js';

/**
 * What the component's module exports: `export const policy = exportPolicy(new MyPolicy());`
 * @template Settings
 * @param {Policy<Settings>} author
 */
export function exportPolicy(author) {
  return serve(author, new Log({ emit, enabled }));
}

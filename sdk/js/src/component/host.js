/**
 * The host of a component, in the form of the bindings.
 */

/** @import { RawHost } from '../contract.js' */

import { remainingMs } from 'machinist:host/deadline@0.1.0';
import { emit, enabled } from 'machinist:host/log@0.1.0';
import { keys, open, userData } from 'machinist:host/secrets@0.1.0';
import { get } from 'machinist:host/settings@0.1.0';

import { wire } from './wire.js';

/** @type {RawHost} */
export const host = { log: { emit, enabled }, settings: get, remainingMs, secrets: { keys, open, userData }, wire };

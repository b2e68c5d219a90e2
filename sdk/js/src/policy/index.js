/**
 * The SDK for health policies.
 *
 * @module
 */

/** @typedef {import('./contract.js').About} About */
/** @typedef {import('./contract.js').Action} Action */
/** @typedef {import('./contract.js').Condition} Condition */
/** @typedef {import('./contract.js').Domain} Domain */
/** @typedef {import('./contract.js').History} History */
/** @typedef {import('./contract.js').Machine} Machine */
/** @typedef {import('./contract.js').Node} Node */
/** @typedef {import('./contract.js').Question} Question */
/** @typedef {import('./contract.js').Status} Status */
/** @typedef {import('./contract.js').Verdict} Verdict */
/** @typedef {import('./rule.js').Sickness} Sickness */

export { Fields } from '../fields.js';
export { Log } from '../host.js';
export { LONG_MS, Policy } from './policy.js';
export { READY, sickness } from './rule.js';
export { readSettings, SettingsError } from './settings.js';

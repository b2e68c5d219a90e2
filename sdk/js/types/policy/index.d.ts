// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The SDK for health policies.
 *
 * @module
 */
export type About = import('./contract.js').About;
export type Action = import('./contract.js').Action;
export type Condition = import('./contract.js').Condition;
export type Domain = import('./contract.js').Domain;
export type History = import('./contract.js').History;
export type Machine = import('./contract.js').Machine;
export type Node = import('./contract.js').Node;
export type Question = import('./contract.js').Question;
export type Status = import('./contract.js').Status;
export type Verdict = import('./contract.js').Verdict;
export type Sickness = import('./rule.js').Sickness;
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

/**
 * The SDK for drivers.
 *
 * @module
 */

/** @typedef {import('./contract.js').About} About */
/** @typedef {import('./contract.js').Address} Address */
/** @typedef {import('./contract.js').Capability} Capability */
/** @typedef {import('./contract.js').Class} Class */
/** @typedef {import('./contract.js').Code} Code */
/** @typedef {import('./contract.js').Condition} Condition */
/** @typedef {import('./contract.js').Deleted} Deleted */
/** @typedef {import('./contract.js').Encoding} Encoding */
/** @typedef {import('./contract.js').ErrorFacts} ErrorFacts */
/** @typedef {import('./contract.js').HttpRequest} HttpRequest */
/** @typedef {import('./contract.js').Listed} Listed */
/** @typedef {import('./contract.js').ListRequest} ListRequest */
/** @typedef {import('./contract.js').Machine} Machine */
/** @typedef {import('./contract.js').NodeResources} NodeResources */
/** @typedef {import('./contract.js').Page} Page */
/** @typedef {import('./contract.js').Request} Request */
/** @typedef {import('./contract.js').Vm} Vm */
/** @typedef {import('./contract.js').VmState} VmState */
/** @typedef {import('./host.js').Host} Host */
/** @typedef {import('./host.js').QuietHost} QuietHost */
/** @typedef {import('./http/request.js').Http} Http */
/** @typedef {import('./secrets.js').Secret} Secret */
/** @typedef {import('./http/attempt.js').Refusal} Refusal */

export { Answer } from './http/answer.js';
export { Attempt, codeOfStatus } from './http/attempt.js';
export * as auth from './http/auth.js';
export { Driver, InProgress } from './driver/driver.js';
export { DriverError, invalidClass, quoted } from './error.js';
export { Fields } from './fields.js';
export { Log } from './host.js';
export { hostOf } from './http/request.js';
export { NoAnswer } from './http/no-answer.js';

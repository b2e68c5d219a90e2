/**
 * Failures of calls.
 */

/** @import { Code, ErrorFacts } from './contract.js' */

/** All codes of the contract. @type {readonly Code[]} */
export const CODES = Object.freeze([
  'canceled',
  'unknown',
  'invalid-argument',
  'deadline-exceeded',
  'not-found',
  'already-exists',
  'permission-denied',
  'resource-exhausted',
  'failed-precondition',
  'aborted',
  'out-of-range',
  'unimplemented',
  'internal',
  'unavailable',
  'data-loss',
  'unauthenticated',
  'uninitialized',
]);

/** The failure of a call, which a driver throws. The host decides by code when to retry. */
export class DriverError extends Error {
  /**
   * @param {Code} code
   * @param {string} message For people: the failure, and what to do. Must hold neither secret nor user data.
   * @param {ErrorFacts} [facts]
   */
  constructor(code, message, facts = {}) {
    super(message);
    this.name = 'DriverError';
    this.code = code;
    this.facts = facts;
  }

  /** Returns the same error with more facts. @param {ErrorFacts} facts */
  with(facts) {
    return new DriverError(this.code, this.message, { ...this.facts, ...facts });
  }

  /** Returns the same error with another text. @param {string} message */
  saying(message) {
    return new DriverError(this.code, message, this.facts);
  }

  get cloudCode() {
    return this.facts.cloudCode;
  }

  get retryAfterMs() {
    return this.facts.retryAfterMs;
  }

  get isTerminal() {
    return this.facts.terminal ?? false;
  }

  get mayHaveHappened() {
    return this.facts.mayHaveHappened ?? false;
  }
}

/** A mistake in the driver itself. */
export class Defect extends Error {}

/**
 * Returns the error for an invalid class: no retry helps until it changes. `message` names the field.
 * @param {string} message
 */
export function invalidClass(message) {
  return new DriverError('invalid-argument', message, { terminal: true });
}

/** The maximum length of a quote. */
const QUOTED_CHARACTERS = 200;
/** As numbers: the engine of components has no named character classes. */
const CONTROL = /[\x00-\x1f\x7f-\x9f]/g;

/** Quotes a foreign text in one line, shortened. @param {string} text */
export function quoted(text) {
  const characters = [...text.replace(CONTROL, ' ')];
  if (characters.length <= QUOTED_CHARACTERS) return characters.join('');
  return `${characters.slice(0, QUOTED_CHARACTERS - 1).join('')}…`;
}

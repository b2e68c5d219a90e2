/**
 * What the author of a policy implements.
 */

/** @import { About, Question, Verdict } from './contract.js' */
/** @import { Fields } from '../fields.js' */
/** @import { Log } from '../host.js' */

/** A verdict that nothing but another question changes holds as long as the host lets it. */
export const LONG_MS = 12 * 60 * 60 * 1_000;

/**
 * A policy: a function of settings, question and time.
 * @template Settings
 * @abstract
 */
export class Policy {
  /** Who this is. Must not fail. @returns {About} */
  describe() {
    throw new Error('this policy lacks describe');
  }

  /**
   * What the operator wrote, with defaults for what is not written. The methods of `fields` throw for what cannot be.
   * @param {Fields} fields
   * @returns {Settings}
   */
  readSettings(fields) {
    throw new Error('this policy lacks readSettings');
  }

  /**
   * What to think of this Machine. The same arguments give the same verdict.
   * @param {Question} question
   * @param {Settings} settings
   * @param {number} now Milliseconds since 1970.
   * @param {Log} log
   * @returns {Verdict}
   */
  evaluate(question, settings, now, log) {
    throw new Error('this policy lacks evaluate');
  }
}

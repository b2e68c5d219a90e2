/**
 * The class that the author of a policy extends.
 */

/** @import { About, Question, Verdict } from './contract.js' */
/** @import { Fields } from '../fields.js' */
/** @import { Log } from '../host.js' */

/** The longest time for a verdict: only another question changes it. */
export const LONG_MS = 12 * 60 * 60 * 1_000;

/**
 * A policy: a function of settings, question and time.
 * @template Settings
 * @abstract
 */
export class Policy {
  /** Describes the policy. Must not fail. @returns {About} */
  describe() {
    throw new Error('this policy lacks describe');
  }

  /**
   * Reads the operator's settings, with defaults for missing ones. The methods of `fields` throw for invalid values.
   * @param {Fields} fields
   * @returns {Settings}
   */
  readSettings(fields) {
    throw new Error('this policy lacks readSettings');
  }

  /**
   * Judges the Machine. The same arguments give the same verdict.
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

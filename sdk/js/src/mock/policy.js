/**
 * A policy under test. Each call takes the same path as in a component.
 */

/** @import { Question, Verdict } from '../policy/contract.js' */
/** @import { Policy } from '../policy/policy.js' */

import { Log } from '../host.js';
import { serve } from '../policy/serve.js';
import { questionTo, verdictFrom } from '../policy/words.js';

export class MockPolicy {
  #exports;

  /** @param {Policy<any>} author */
  constructor(author) {
    /** @type {{ level: string, message: string, fields: Record<string, string> }[]} */
    this.lines = [];
    const log = new Log({
      enabled: () => true,
      emit: (level, message, fields) => this.lines.push({ level, message, fields: Object.fromEntries(fields) }),
    });
    this.#exports = serve(author, log);
  }

  describe() {
    return this.#exports.describe();
  }

  /**
   * Returns the error of the settings; undefined if there is none.
   * @param {object | string} settings @returns {string | undefined}
   */
  problemOf(settings) {
    try {
      this.#exports.checkSettings(asText(settings));
      return undefined;
    } catch (problem) {
      return String(problem);
    }
  }

  /** @param {Question} question @param {object | string} settings @param {number} now @returns {Verdict} */
  evaluate(question, settings, now) {
    return verdictFrom(this.#exports.evaluate(questionTo(question), asText(settings), BigInt(now)));
  }
}

/** @param {object | string} settings */
function asText(settings) {
  return typeof settings === 'string' ? settings : JSON.stringify(settings);
}

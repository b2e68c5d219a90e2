/**
 * The exports of a policy's component: what the host calls.
 */

/** @import * as Wit from 'machinist:policy/types@0.1.0' */
/** @import { Policy } from './policy.js' */
/** @import { Log } from '../host.js' */

import { stackOf } from '../http/payload.js';
import { readSettings, SettingsError } from './settings.js';
import { aboutTo, questionFrom, verdictTo } from './words.js';

/**
 * @template Settings
 * @param {Policy<Settings>} author
 * @param {Log} log
 */
export function serve(author, log) {
  return {
    describe: () => loggingDefects(log, () => aboutTo(author.describe())),

    /** Throws the contract's error: a text. @param {string} settings */
    checkSettings: (settings) => {
      try {
        readSettings(author, settings);
      } catch (error) {
        throw error instanceof SettingsError ? error.message : `the policy has a defect: ${error}`;
      }
    },

    /** @param {Wit.Question} question @param {string} settings @param {bigint} now @returns {Wit.Verdict} */
    evaluate: (question, settings, now) =>
      loggingDefects(log, () => verdictTo(author.evaluate(questionFrom(question), readSettings(author, settings), Number(now), log))),
  };
}

/**
 * The contract has no error here: a policy with a defect ends its instance, so that the host counts it as broken, and
 * the log gives the reason.
 * @template T
 * @param {Log} log
 * @param {() => T} act
 */
function loggingDefects(log, act) {
  try {
    return act();
  } catch (error) {
    log.error('the policy has a defect', { error: String(error), stack: stackOf(error) });
    throw error;
  }
}

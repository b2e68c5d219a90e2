// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * What the author of a policy implements.
 */
import type { About, Question, Verdict } from './contract.js';
import type { Fields } from '../fields.js';
import type { Log } from '../host.js';
/** @import { About, Question, Verdict } from './contract.js' */
/** @import { Fields } from '../fields.js' */
/** @import { Log } from '../host.js' */
/** A verdict that nothing but another question changes holds as long as the host lets it. */
export declare const LONG_MS: number;
/**
 * A policy: a function of settings, question and time.
 * @template Settings
 * @abstract
 */
export declare class Policy<Settings> {
    /** Who this is. Must not fail. @returns {About} */
    describe(): About;
    /**
     * What the operator wrote, with defaults for what is not written. The methods of `fields` throw for what cannot be.
     * @param {Fields} fields
     * @returns {Settings}
     */
    readSettings(fields: Fields): Settings;
    /**
     * What to think of this Machine. The same arguments give the same verdict.
     * @param {Question} question
     * @param {Settings} settings
     * @param {number} now Milliseconds since 1970.
     * @param {Log} log
     * @returns {Verdict}
     */
    evaluate(question: Question, settings: Settings, now: number, log: Log): Verdict;
}

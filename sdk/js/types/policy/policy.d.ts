// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The class that the author of a policy extends.
 */
import type { About, Question, Verdict } from './contract.js';
import type { Fields } from '../fields.js';
import type { Log } from '../host.js';
/** @import { About, Question, Verdict } from './contract.js' */
/** @import { Fields } from '../fields.js' */
/** @import { Log } from '../host.js' */
/** The longest time for a verdict: only another question changes it. */
export declare const LONG_MS: number;
/**
 * A policy: a function of settings, question and time.
 * @template Settings
 * @abstract
 */
export declare class Policy<Settings> {
    /** Describes the policy. Must not fail. @returns {About} */
    describe(): About;
    /**
     * Reads the operator's settings, with defaults for missing ones. The methods of `fields` throw for invalid values.
     * @param {Fields} fields
     * @returns {Settings}
     */
    readSettings(fields: Fields): Settings;
    /**
     * Judges the Machine. The same arguments give the same verdict.
     * @param {Question} question
     * @param {Settings} settings
     * @param {number} now Milliseconds since 1970.
     * @param {Log} log
     * @returns {Verdict}
     */
    evaluate(question: Question, settings: Settings, now: number, log: Log): Verdict;
}

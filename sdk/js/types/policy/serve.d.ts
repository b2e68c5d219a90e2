// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The exports of a policy's component: what the host calls.
 */
import type * as Wit from 'machinist:policy/types@0.1.0';
import type { Policy } from './policy.js';
import type { Log } from '../host.js';
/**
 * @template Settings
 * @param {Policy<Settings>} author
 * @param {Log} log
 */
export declare function serve<Settings>(author: Policy<Settings>, log: Log): {
    describe: () => Wit.About;
    /** Throws the contract's error: a text. @param {string} settings */
    checkSettings: (settings: string) => void;
    /** @param {Wit.Question} question @param {string} settings @param {bigint} now @returns {Wit.Verdict} */
    evaluate: (question: Wit.Question, settings: string, now: bigint) => Wit.Verdict;
};

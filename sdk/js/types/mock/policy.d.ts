// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * A policy under test. Each call takes the same path as in a component.
 */
import type { Question, Verdict } from '../policy/contract.js';
import type { Policy } from '../policy/policy.js';
export declare class MockPolicy {
    #private;
    /** @type {{ level: string, message: string, fields: Record<string, string> }[]} */
    lines: {
        level: string;
        message: string;
        fields: Record<string, string>;
    }[];
    /** @param {Policy<any>} author */
    constructor(author: Policy<any>);
    describe(): import("machinist:policy/types@0.1.0").About;
    /**
     * Returns the error of the settings; undefined if there is none.
     * @param {object | string} settings @returns {string | undefined}
     */
    problemOf(settings: object | string): string | undefined;
    /** @param {Question} question @param {object | string} settings @param {number} now @returns {Verdict} */
    evaluate(question: Question, settings: object | string, now: number): Verdict;
}

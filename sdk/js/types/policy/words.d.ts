// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Converts between the contract's types and the author's.
 */
import type * as Wit from 'machinist:policy/types@0.1.0';
import type { About, Question, Verdict } from './contract.js';
/** @param {Wit.Question} question @returns {Question} */
export declare function questionFrom({ machine, node, history, domain }: Wit.Question): Question;
/** @param {About} about @returns {Wit.About} */
export declare function aboutTo({ name, version, settingsSchema }: About): Wit.About;
/** @param {Verdict} verdict @returns {Wit.Verdict} */
export declare function verdictTo({ health, since, reason, action, holdsUntil }: Verdict): Wit.Verdict;
/** For mocks. @param {Question} question @returns {Wit.Question} */
export declare function questionTo({ machine, node, history, domain }: Question): Wit.Question;
/** For mocks. @param {Wit.Verdict} verdict @returns {Verdict} */
export declare function verdictFrom({ health, reason, action, holdsUntil }: Wit.Verdict): Verdict;

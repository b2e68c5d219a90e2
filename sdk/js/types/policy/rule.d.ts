// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The rule that everybody knows: `Ready` is True, and nothing on the list is anything but False.
 */
import type { Question } from './contract.js';
/** @import { Condition, Question, Status } from './contract.js' */
/** The condition that a kubelet keeps for "this Node takes pods". */
export declare const READY = "Ready";
export type Sickness = {
    because: string;
    since: number;
};
/**
 * What speaks against a Node: one text for one state of things, and since when the first of it.
 * @typedef {{ because: string, since: number }} Sickness
 */
/**
 * Undefined: the Node is healthy. A missing `Ready` is not: a Node that says nothing of itself has not shown that it works.
 * @param {Question} question
 * @param {readonly string[]} mustBeFalse
 * @param {number} now
 * @returns {Sickness | undefined}
 */
export declare function sickness({ node, history }: Question, mustBeFalse: readonly string[], now: number): Sickness | undefined;

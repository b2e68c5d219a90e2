// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The standard rule: `Ready` is True, and no condition on the list has another status than False.
 */
import type { Question } from './contract.js';
/** @import { Condition, Question, Status } from './contract.js' */
/** The condition by which a kubelet reports that its Node accepts pods. */
export declare const READY = "Ready";
export type Sickness = {
    because: string;
    since: number;
};
/**
 * The reason why a Node is unhealthy: one text for one state, and the time of the earliest cause.
 * @typedef {{ because: string, since: number }} Sickness
 */
/**
 * Returns the problem of a Node; undefined if it is healthy. A missing `Ready` is unhealthy: such a Node has not shown
 * that it works.
 * @param {Question} question
 * @param {readonly string[]} mustBeFalse
 * @param {number} now
 * @returns {Sickness | undefined}
 */
export declare function sickness({ node, history }: Question, mustBeFalse: readonly string[], now: number): Sickness | undefined;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * A Machine, and a question about a healthy one, for tests to change.
 */
import type { Class, Machine, Request } from '../contract.js';
import type { Condition, Question, Status } from '../policy/contract.js';
/** @import { Class, Machine, Request } from '../contract.js' */
/** @import { Condition, Question, Status } from '../policy/contract.js' */
/**
 * Returns a request about a Machine without a VM.
 * @param {object} [facts]
 * @param {object | string} [facts.spec] The class's `providerSpec`.
 * @param {Partial<Machine>} [facts.machine]
 * @param {Partial<Class>} [facts.class]
 * @param {string} [facts.cluster]
 * @param {string} [facts.idempotencyKey]
 * @returns {Request}
 */
export declare function sampleRequest({ spec, machine, class: machineClass, cluster, idempotencyKey }?: {
    spec?: object | string;
    machine?: Partial<Machine>;
    class?: Partial<Class>;
    cluster?: string;
    idempotencyKey?: string;
}): Request;
/** Returns a question about a Running Machine with a healthy Node, alone in its zone. @returns {Question} */
export declare function sampleQuestion(): Question;
/**
 * Returns a condition with its status since this time.
 * @param {string} kind @param {Status} status @param {number} since @returns {Condition}
 */
export declare function sampleCondition(kind: string, status: Status, since: number): Condition;

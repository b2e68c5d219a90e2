// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * How a call fails.
 */
import type { Code, ErrorFacts } from './contract.js';
/** @import { Code, ErrorFacts } from './contract.js' */
/** All codes of the contract. @type {readonly Code[]} */
export declare const CODES: readonly Code[];
/** What a driver throws: the host decides by code when to try again. */
export declare class DriverError extends Error {
    code: Code;
    facts: ErrorFacts;
    /**
     * @param {Code} code
     * @param {string} message For people: what failed, and what to do. Must hold neither secret nor user data.
     * @param {ErrorFacts} [facts]
     */
    constructor(code: Code, message: string, facts?: ErrorFacts);
    /** The same with more facts. @param {ErrorFacts} facts */
    with(facts: ErrorFacts): DriverError;
    /** The same with another text. @param {string} message */
    saying(message: string): DriverError;
    get cloudCode(): string | undefined;
    get retryAfterMs(): number | undefined;
    get isTerminal(): boolean;
    get mayHaveHappened(): boolean;
}
/** A mistake in the driver itself, said in words. */
export declare class Defect extends Error {
}
/**
 * What is wrong with a class: no retry helps until it changes. `message` names the field.
 * @param {string} message
 */
export declare function invalidClass(message: string): DriverError;
/** At most so much of a foreign text, in one line. @param {string} text */
export declare function quoted(text: string): string;

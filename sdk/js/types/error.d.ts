// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Failures of calls.
 */
import type { Code, ErrorFacts } from './contract.js';
/** @import { Code, ErrorFacts } from './contract.js' */
/** All codes of the contract. @type {readonly Code[]} */
export declare const CODES: readonly Code[];
/** The failure of a call, which a driver throws. The host decides by code when to retry. */
export declare class DriverError extends Error {
    code: Code;
    facts: ErrorFacts;
    /**
     * @param {Code} code
     * @param {string} message For people: the failure, and what to do. Must hold neither secret nor user data.
     * @param {ErrorFacts} [facts]
     */
    constructor(code: Code, message: string, facts?: ErrorFacts);
    /** Returns the same error with more facts. @param {ErrorFacts} facts */
    with(facts: ErrorFacts): DriverError;
    /** Returns the same error with another text. @param {string} message */
    saying(message: string): DriverError;
    get cloudCode(): string | undefined;
    get retryAfterMs(): number | undefined;
    get isTerminal(): boolean;
    get mayHaveHappened(): boolean;
}
/** A mistake in the driver itself. */
export declare class Defect extends Error {
}
/**
 * Returns the error for an invalid class: no retry helps until it changes. `message` names the field.
 * @param {string} message
 */
export declare function invalidClass(message: string): DriverError;
/** Quotes a foreign text in one line, shortened. @param {string} text */
export declare function quoted(text: string): string;

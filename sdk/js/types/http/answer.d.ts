// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The cloud's answers.
 */
import type { WireAnswer } from '../contract.js';
/** @import { WireAnswer } from '../contract.js' */
/** A complete answer. */
export declare class Answer {
    #private;
    status: number;
    body: Uint8Array<ArrayBufferLike>;
    /** @param {WireAnswer} answer */
    constructor({ status, headers, body }: WireAnswer);
    /** True for statuses from 200 to 299. */
    get isSuccess(): boolean;
    /** True for an HTML page, which proxies send instead of an API's answer. */
    get isHtml(): boolean;
    /** Returns the first value of a header, by its name in any case. @param {string} name */
    header(name: string): string | undefined;
    /** Returns `Retry-After` in milliseconds, if it is a number of seconds. Ignores a date. */
    get retryAfterMs(): number | undefined;
    /** Returns the body as text. Bytes that are not UTF-8 become U+FFFD. */
    text(): string;
    /**
     * Parses the body as JSON. Throws `SyntaxError` if it is not JSON; `Attempt.json` throws a `DriverError` instead.
     * @returns {unknown}
     */
    json(): unknown;
}
/**
 * True for the beginning of an object or a list, and for an empty text: JSON that was cut off. Error messages differ
 * between engines, so this function decides.
 * @param {string} text A text that is not JSON.
 */
export declare function isCutOff(text: string): boolean;

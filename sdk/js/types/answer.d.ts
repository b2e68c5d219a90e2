// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * What the cloud answered.
 */
import type { WireAnswer } from './contract.js';
/** @import { WireAnswer } from './contract.js' */
/** A whole answer. */
export declare class Answer {
    #private;
    status: number;
    body: Uint8Array<ArrayBufferLike>;
    /** @param {WireAnswer} answer */
    constructor({ status, headers, body }: WireAnswer);
    /** From 200 to 299. */
    get isSuccess(): boolean;
    /** Such a page comes from a proxy in between, whatever its status says. */
    get isHtml(): boolean;
    /** The first value of a header, whatever the case of its name. @param {string} name */
    header(name: string): string | undefined;
    /** `Retry-After` in seconds, as milliseconds. A date is passed over. */
    get retryAfterMs(): number | undefined;
    /** Bytes that are no UTF-8 become U+FFFD. */
    text(): string;
    /** The body as JSON. Throws `SyntaxError` when it is none; see `Attempt.json` for what that means. @returns {unknown} */
    json(): unknown;
}
/**
 * True for the beginning of an object or a list, and for nothing at all: JSON that ended early. Engines say so in words of
 * their own, so it is found out here.
 * @param {string} text What is not JSON.
 */
export declare function isCutOff(text: string): boolean;

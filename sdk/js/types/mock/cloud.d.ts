// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The fake cloud of a test.
 */
import type { WireAnswer, WireRequest } from '../contract.js';
/** @import { WireAnswer, WireRequest } from '../contract.js' */
import { NoAnswer } from '../http/no-answer.js';
/** A request as the cloud sees it: with secrets. */
export declare class CloudRequest {
    method: string;
    url: URL;
    /** Names in lower case. @type {Record<string, string>} */
    headers: Record<string, string>;
    body: Uint8Array<ArrayBufferLike>;
    /** @param {WireRequest} request */
    constructor({ method, scheme, authority, target, headers, body }: WireRequest);
    text(): string;
    /** @returns {any} */
    json(): any;
}
export type CloudAnswer = {
    status?: number;
    headers?: Record<string, string>;
    body?: string | Uint8Array | object;
};
export type AwaitableAnswer = CloudAnswer | Promise<CloudAnswer>;
export type Cloud = ((request: CloudRequest) => AwaitableAnswer) | (CloudAnswer | NoAnswer)[];
/**
 * An object as body is sent as JSON. By default status 200, no headers and no body.
 * @typedef {{ status?: number, headers?: Record<string, string>, body?: string | Uint8Array | object }} CloudAnswer
 * @typedef {CloudAnswer | Promise<CloudAnswer>} AwaitableAnswer
 * @typedef {((request: CloudRequest) => AwaitableAnswer) | (CloudAnswer | NoAnswer)[]} Cloud A function, or
 *   answers in order. A function throws `NoAnswer` for no answer at all.
 */
/** @param {Cloud} cloud @returns {(request: CloudRequest) => AwaitableAnswer} */
export declare function answering(cloud: Cloud): (request: CloudRequest) => AwaitableAnswer;
/** @param {CloudAnswer} answer @returns {WireAnswer} */
export declare function wired({ status, headers, body }: CloudAnswer): WireAnswer;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * One request to the cloud, and its failures as errors of the contract.
 */
import type { Code, HttpRequest } from '../contract.js';
import type { Http } from './request.js';
import { DriverError } from '../error.js';
import type { Answer } from './answer.js';
export type Refusal = {
    /**
     * The cloud's own code.
     */
    cloudCode: string;
    /**
     * The cloud's message; the error quotes its beginning.
     */
    message: string;
    code?: Code;
    terminal?: boolean;
    /**
     * Advice for a person, if the cloud gives none.
     */
    advice?: string;
};
/** @import { Answer } from './answer.js' */
/**
 * An error of a cloud, with facts beyond the HTTP status: `code` overrules the status.
 * @typedef {object} Refusal
 * @property {string} cloudCode The cloud's own code.
 * @property {string} message The cloud's message; the error quotes its beginning.
 * @property {Code} [code]
 * @property {boolean} [terminal]
 * @property {string} [advice] Advice for a person, if the cloud gives none.
 */
/**
 * Returns the code for an error of which only the status is known.
 * @param {number} status
 * @returns {Code}
 */
export declare function codeOfStatus(status: number): Code;
/** One request to the cloud, with the facts that its errors need. */
export declare class Attempt {
    #private;
    doing: string;
    host: string;
    changes: boolean;
    /**
     * @param {Http} http
     * @param {object} what
     * @param {string} what.doing As in "failed to …".
     * @param {string} what.host The host that receives the request.
     * @param {boolean} what.changes Whether the request changes the cloud: only then it may have happened.
     */
    constructor(http: Http, { doing, host, changes }: {
        doing: string;
        host: string;
        changes: boolean;
    });
    /**
     * Returns the cloud's answer, whatever its status.
     * @param {HttpRequest} request
     * @returns {Promise<Answer>}
     */
    send(request: HttpRequest): Promise<Answer>;
    /**
     * Returns the JSON of a success. Throws the corresponding error for everything else.
     * @param {Answer} answer
     * @param {(answer: Answer) => Refusal | undefined} refusalOf Reads an error in the cloud's
     *   own form; undefined if the answer has another form.
     * @returns {unknown}
     */
    json(answer: Answer, refusalOf: (answer: Answer) => Refusal | undefined): unknown;
    /**
     * * Returns the error for a refusal in the cloud's own form.
     * @param {Answer} answer
     * @param {Refusal} refusal
     */
    refused({ status, retryAfterMs }: Answer, { cloudCode, message, code, terminal, advice }: Refusal): DriverError;
    /**
     * Returns the error for an answer that does not come from the cloud itself: a proxy's page, or half an answer.
     * @param {Answer} answer
     * @param {string} what
     */
    foreign({ status, retryAfterMs }: Answer, what: string): DriverError;
    /** Returns the error for a complete answer that violates the cloud's API. @param {string} what */
    unexpected(what: string): DriverError;
}

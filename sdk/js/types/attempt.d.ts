// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * One thing that is tried in the cloud, and what each way of failing means for the host.
 */
import type { Code, HttpRequest } from './contract.js';
import type { Http } from './http.js';
import { DriverError } from './error.js';
import type { Answer } from './answer.js';
export type Refusal = {
    /**
     * The cloud's own code.
     */
    cloudCode: string;
    /**
     * The cloud's own words; quoted in part.
     */
    message: string;
    code?: Code;
    terminal?: boolean;
    /**
     * What a person can do, where the cloud does not say it.
     */
    advice?: string;
};
/** @import { Answer } from './answer.js' */
/**
 * What an error of a cloud says, where the status alone does not: `code` and `facts` overrule what the status means.
 * @typedef {object} Refusal
 * @property {string} cloudCode The cloud's own code.
 * @property {string} message The cloud's own words; quoted in part.
 * @property {Code} [code]
 * @property {boolean} [terminal]
 * @property {string} [advice] What a person can do, where the cloud does not say it.
 */
/**
 * How a status is to be taken that nobody knows better.
 * @param {number} status
 * @returns {Code}
 */
export declare function codeOfStatus(status: number): Code;
/** Something that is tried, for the errors of it. */
export declare class Attempt {
    #private;
    doing: string;
    host: string;
    changes: boolean;
    /**
     * @param {Http} http
     * @param {object} what
     * @param {string} what.doing As in "failed to …".
     * @param {string} what.host Whom it is asked of.
     * @param {boolean} what.changes Whether it changes the cloud: only then it may have happened.
     */
    constructor(http: Http, { doing, host, changes }: {
        doing: string;
        host: string;
        changes: boolean;
    });
    /**
     * The cloud's answer, whatever its status.
     * @param {HttpRequest} request
     * @returns {Promise<Answer>}
     */
    send(request: HttpRequest): Promise<Answer>;
    /**
     * The JSON of a success. Throws for everything else what it means.
     * @param {Answer} answer
     * @param {(answer: Answer) => Refusal | undefined} refusalOf Reads an error in the cloud's own form; undefined when it is none.
     * @returns {unknown}
     */
    json(answer: Answer, refusalOf: (answer: Answer) => Refusal | undefined): unknown;
    /**
     * An error in the cloud's own form.
     * @param {Answer} answer
     * @param {Refusal} refusal
     */
    refused({ status, retryAfterMs }: Answer, { cloudCode, message, code, terminal, advice }: Refusal): DriverError;
    /**
     * An answer that the cloud itself does not give: a proxy's page, or half of one.
     * @param {Answer} answer
     * @param {string} what
     */
    foreign({ status, retryAfterMs }: Answer, what: string): DriverError;
    /** A whole answer that is not what the cloud's documents say. @param {string} what */
    odd(what: string): DriverError;
}

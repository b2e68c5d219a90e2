// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Requests without an answer: the cause, and what to do.
 */
import type { Code } from '../contract.js';
import type { ErrorCode } from 'wasi:http/types@0.2.12';
/** @import { Code } from '../contract.js' */
/** @import { ErrorCode } from 'wasi:http/types@0.2.12' */
import { DriverError } from '../error.js';
export type Meaning = {
    code: Code;
    isUnsent: boolean;
    explanation: (host: string, detail: string) => string;
};
/**
 * `isUnsent`: the cloud has certainly not seen the request.
 * @typedef {object} Meaning
 * @property {Code} code
 * @property {boolean} isUnsent
 * @property {(host: string, detail: string) => string} explanation
 */
declare const MEANINGS: {
    denied: {
        code: "failed-precondition";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    'address-denied': {
        code: "failed-precondition";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    'bad-request': {
        code: "failed-precondition";
        isUnsent: true;
        explanation: (host: string, detail: string) => string;
    };
    'request-too-large': {
        code: "invalid-argument";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    'no-such-host': {
        code: "unavailable";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    'connection-refused': {
        code: "unavailable";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    unreachable: {
        code: "unavailable";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    tls: {
        code: "unavailable";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    'no-time-left': {
        code: "deadline-exceeded";
        isUnsent: true;
        explanation: (host: string) => string;
    };
    'timed-out': {
        code: "deadline-exceeded";
        isUnsent: false;
        explanation: (host: string) => string;
    };
    'cut-off': {
        code: "unavailable";
        isUnsent: false;
        explanation: (host: string) => string;
    };
    'answer-too-large': {
        code: "internal";
        isUnsent: false;
        explanation: (host: string) => string;
    };
    other: {
        code: "unknown";
        isUnsent: false;
        explanation: (host: string, detail: string) => string;
    };
};
export type NoAnswerReason = keyof typeof MEANINGS;
/** A request without an answer. Its message gives the cause, and what to do. */
export declare class NoAnswer extends Error {
    reason: "address-denied" | "answer-too-large" | "bad-request" | "connection-refused" | "cut-off" | "denied" | "no-such-host" | "no-time-left" | "other" | "request-too-large" | "timed-out" | "tls" | "unreachable";
    /**
     * @param {NoAnswerReason} reason
     * @param {string} host The host of the request.
     * @param {string} [detail]
     */
    constructor(reason: NoAnswerReason, host: string, detail?: string);
    /** @param {ErrorCode} error @param {string} host */
    static ofWasi(error: ErrorCode, host: string): NoAnswer;
    /** The contract's code, by which the host decides. @returns {Code} */
    get code(): Code;
    /** True if the request may have reached the cloud. */
    get mayHaveBeenSent(): boolean;
    /**
     * @param {object} what
     * @param {string} what.doing As in "failed to …".
     * @param {boolean} what.changes Whether the request changes the cloud.
     */
    asDriverError({ doing, changes }: {
        doing: string;
        changes: boolean;
    }): DriverError;
}
export {};

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Requests to the cloud.
 */
import type { HttpRequest, Wire } from '../contract.js';
/** @import { HttpRequest, Wire, WireRequest } from '../contract.js' */
import { Answer } from './answer.js';
/** Sends requests to the cloud, within the time left for the call. */
export declare class Http {
    #private;
    /**
     * @param {Wire} wire
     * @param {() => number} remainingMs
     */
    constructor(wire: Wire, remainingMs: () => number);
    /** True if a request that changes something may have reached the cloud. */
    get mayHaveChanged(): boolean;
    /**
     * Sends a request and waits for the complete answer, whatever its status. Throws `NoAnswer` if there is none.
     * @param {HttpRequest} request
     * @returns {Promise<Answer>}
     */
    send(request: HttpRequest): Promise<Answer>;
}
/** Returns the host of a URL without its port, as grants name it. @param {string} url */
export declare function hostOf(url: string): string;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * What an author implements.
 */
import type { About, Class, Deleted, ListRequest, Page, ProgressFacts, Request, Vm } from './contract.js';
import type { Host, QuietHost } from './host.js';
export type Awaitable<T> = T | Promise<T>;
/** @template T @typedef {T | Promise<T>} Awaitable */
/** The answer of a `create` or `delete` that takes longer than the call may: the host asks again with the token. */
export declare class InProgress {
    resumeToken: string;
    askAgainMs: number;
    message: string;
    /** @param {ProgressFacts} facts */
    constructor({ resumeToken, askAgainMs, message }: ProgressFacts);
}
/**
 * A driver. Each method may be `async`. What goes wrong is thrown as `DriverError`; anything else that is thrown reaches
 * the host as `internal`. Each call runs in an instance of its own: nothing is remembered in fields.
 *
 * Whoever can start machines anew has `reboot(request, host)` as well.
 * @abstract
 */
export declare class Driver {
    /** Who this is. No secrets, no network; must not fail. @param {QuietHost} host @returns {Awaitable<About>} */
    describe(host: QuietHost): Awaitable<About>;
    /**
     * Checks a class. No secrets, no network. Answers warnings. Must accept every class that `create` accepts.
     * @param {Class} machineClass @param {QuietHost} host @returns {Awaitable<string[]>}
     */
    validateClass(machineClass: Class, host: QuietHost): Awaitable<string[]>;
    /**
     * Makes the machine, or finds the one that an earlier call with this idempotency key made.
     * @param {Request} request @param {Host} host @returns {Awaitable<Vm | InProgress>}
     */
    create(request: Request, host: Host): Awaitable<Vm | InProgress>;
    /** What is to be done after creation. Idempotent. @param {Request} request @param {Host} host @returns {Awaitable<Vm>} */
    initialize(request: Request, host: Host): Awaitable<Vm>;
    /**
     * Removes the machine and all that was made with it. One that is not there is success.
     * @param {Request} request @param {Host} host @returns {Awaitable<void | Deleted | InProgress>}
     */
    delete(request: Request, host: Host): Awaitable<void | Deleted | InProgress>;
    /** How the machine is. Changes nothing. @param {Request} request @param {Host} host @returns {Awaitable<Vm>} */
    getStatus(request: Request, host: Host): Awaitable<Vm>;
    /** One page of the cluster's machines. @param {ListRequest} request @param {Host} host @returns {Awaitable<Page>} */
    list(request: ListRequest, host: Host): Awaitable<Page>;
    /**
     * The cloud's ids of PersistentVolume specs (JSON each), in their order; undefined for a volume of another kind.
     * @param {string[]} volumeSpecs @param {QuietHost} host @returns {Awaitable<(string | undefined)[]>}
     */
    getVolumeIds(volumeSpecs: string[], host: QuietHost): Awaitable<(string | undefined)[]>;
}
export type RebootingDriver = Driver & {
    reboot(request: Request, host: Host): Awaitable<void>;
};

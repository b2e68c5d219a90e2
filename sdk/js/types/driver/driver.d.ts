// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The class that the author of a driver extends.
 */
import type { About, Class, Deleted, ListRequest, NodeResources, Page, Request, Vm } from '../contract.js';
import type { ProgressFacts } from '../contract.js';
import type { Host, QuietHost } from '../host.js';
export type Awaitable<T> = T | Promise<T>;
/** @template T @typedef {T | Promise<T>} Awaitable */
/** The answer of a `create` or `delete` that takes longer than the call may: the host calls again with the token. */
export declare class InProgress {
    resumeToken: string;
    askAgainMs: number;
    message: string;
    /** @param {ProgressFacts} facts */
    constructor({ resumeToken, askAgainMs, message }: ProgressFacts);
}
/**
 * A driver. Each method may be `async`. Throw a `DriverError` for a failure; any other exception reaches the host as
 * `internal`. Each call runs in an instance of its own: fields do not survive a call.
 *
 * Optional: a driver that can restart machines has `reboot(request, host)` as well, and one that can remove one VM of
 * two `deleteById(request, providerId, host)`: it removes the VM with this id and nothing else, and `providerId` of the
 * request's Machine is the VM that the Machine keeps. For Cluster API there are four more methods, each an export of
 * its own: `nodeId(request, vm, host)` returns the id that the cloud controller manager gives to the Node of a VM,
 * `place(machineClass, failureDomain, host)` the `providerSpec` of a class in an exact failure domain,
 * `isInterruptible(machineClass, host)` whether the cloud may take a VM of the class away at any time, and
 * `nodeCapacity(machineClass, host)` the resources of a Node. The first three have no secrets and no network.
 * @abstract
 */
export declare class Driver {
    /**
     * Describes the driver. No secrets, no network; must not fail.
     * @param {QuietHost} host @returns {Awaitable<About>}
     */
    describe(host: QuietHost): Awaitable<About>;
    /**
     * Checks a class and returns warnings. No secrets, no network. Must accept every class that `create` accepts.
     * @param {Class} machineClass @param {QuietHost} host @returns {Awaitable<string[]>}
     */
    validateClass(machineClass: Class, host: QuietHost): Awaitable<string[]>;
    /**
     * Creates the machine, or finds the one that an earlier call with this idempotency key created.
     * @param {Request} request @param {Host} host @returns {Awaitable<Vm | InProgress>}
     */
    create(request: Request, host: Host): Awaitable<Vm | InProgress>;
    /**
     * Does the missing steps after creation. Idempotent.
     * @param {Request} request @param {Host} host @returns {Awaitable<Vm>}
     */
    initialize(request: Request, host: Host): Awaitable<Vm>;
    /**
     * Removes the machine and everything created with it. If nothing exists, that is success.
     * @param {Request} request @param {Host} host @returns {Awaitable<void | Deleted | InProgress>}
     */
    delete(request: Request, host: Host): Awaitable<void | Deleted | InProgress>;
    /**
     * Returns the state of the machine. Changes nothing.
     * @param {Request} request @param {Host} host @returns {Awaitable<Vm>}
     */
    getStatus(request: Request, host: Host): Awaitable<Vm>;
    /**
     * Returns one page of the cluster's machines.
     * @param {ListRequest} request @param {Host} host @returns {Awaitable<Page>}
     */
    list(request: ListRequest, host: Host): Awaitable<Page>;
    /**
     * Returns the cloud's ids of PersistentVolume specs (JSON each), in the same order; undefined for a volume of another
     * kind.
     * @param {string[]} volumeSpecs @param {QuietHost} host @returns {Awaitable<(string | undefined)[]>}
     */
    getVolumeIds(volumeSpecs: string[], host: QuietHost): Awaitable<(string | undefined)[]>;
}
export type RebootingDriver = Driver & {
    reboot(request: Request, host: Host): Awaitable<void>;
};
export type DeleteById = (request: Request, providerId: string, host: Host) => Awaitable<void>;
export type DeletingDriver = Driver & {
    deleteById: DeleteById;
};
export type NamingDriver = Driver & {
    nodeId(request: Request, vm: Vm, host: QuietHost): Awaitable<string>;
};
export type Place = (machineClass: Class, failureDomain: string, host: QuietHost) => Awaitable<object>;
export type PlacingDriver = Driver & {
    place: Place;
};
export type IsInterruptible = (machineClass: Class, host: QuietHost) => Awaitable<boolean>;
export type InterruptibleDriver = Driver & {
    isInterruptible: IsInterruptible;
};
export type MeasuringDriver = Driver & {
    nodeCapacity(machineClass: Class, host: Host): Awaitable<NodeResources>;
};

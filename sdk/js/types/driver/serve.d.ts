// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Connects the contract with an author's driver: converts arguments and answers, and turns every exception into an
 * error of the contract. The error says whether the cloud may have been changed.
 */
import type * as Wit from 'machinist:provider/types@0.1.0';
import type { RawHost } from '../contract.js';
import type { Driver } from './driver.js';
/**
 * The exports of a component: what the host calls.
 * @template {Driver} D
 * @param {D} author
 * @param {RawHost} raw
 */
export declare function serve<D extends Driver>(author: D, raw: RawHost): {
    driver: {
        describe: () => Promise<Wit.About>;
        validateClass: (/** @type {Wit.Class} */ machineClass: Wit.Class) => Promise<string[]>;
        create: (/** @type {Wit.Request} */ request: Wit.Request) => Promise<Wit.Creation>;
        initialize: (/** @type {Wit.Request} */ request: Wit.Request) => Promise<Wit.Vm>;
        delete: (/** @type {Wit.Request} */ request: Wit.Request) => Promise<Wit.Deletion>;
        getStatus: (/** @type {Wit.Request} */ request: Wit.Request) => Promise<Wit.Vm>;
        list: (/** @type {Wit.Class} */ machineClass: Wit.Class, /** @type {string} */ cluster: string, /** @type {string | undefined} */ token: string | undefined) => Promise<Wit.Page>;
        getVolumeIds: (/** @type {string[]} */ specs: string[]) => Promise<(string | undefined)[]>;
    };
    reboot: {
        reboot: (/** @type {Wit.Request} */ request: Wit.Request) => Promise<void>;
    };
    deleteById: {
        deleteById: (/** @type {Wit.Request} */ request: Wit.Request, /** @type {string} */ providerId: string) => Promise<void>;
    };
    nodeId: {
        nodeId: (/** @type {Wit.Request} */ request: Wit.Request, /** @type {Wit.Vm} */ vm: Wit.Vm) => Promise<string>;
    };
    placement: {
        place: (/** @type {Wit.Class} */ machineClass: Wit.Class, /** @type {string} */ failureDomain: string) => Promise<string>;
    };
    interruption: {
        isInterruptible: (/** @type {Wit.Class} */ machineClass: Wit.Class) => Promise<boolean>;
    };
    capacity: {
        nodeCapacity: (/** @type {Wit.Class} */ machineClass: Wit.Class) => Promise<import("machinist:capacity/capacity@0.1.0").NodeResources>;
    };
};

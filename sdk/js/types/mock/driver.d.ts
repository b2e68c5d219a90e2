// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * A driver under test. Each call takes the same path as in a component, including the conversion to the contract's
 * types; only the host is a mock.
 */
import type * as Wit from 'machinist:provider/types@0.1.0';
import type { Class, Level, NodeResources, Request, Vm, WireRequest } from '../contract.js';
import type { Driver } from '../driver/driver.js';
import type { Cloud } from './cloud.js';
import type { GrantsText } from './grants.js';
/** @import * as Wit from 'machinist:provider/types@0.1.0' */
/** @import { Class, Level, NodeResources, RawHost, Request, Vm, WireRequest } from '../contract.js' */
/** @import { Driver } from '../driver/driver.js' */
/** @import { Cloud } from './cloud.js' */
/** @import { GrantsText } from './grants.js' */
import { InProgress } from '../driver/driver.js';
import { CloudRequest } from './cloud.js';
export type Surroundings = {
    /**
     * By default no request has an answer.
     */
    cloud?: Cloud;
    /**
     * Without user data.
     */
    secrets?: Record<string, string>;
    /**
     * Seen by `create` and `initialize`.
     */
    userData?: string;
    settings?: object | string;
    /**
     * By default everything is granted.
     */
    grants?: GrantsText;
    /**
     * The time left for each call.
     */
    remainingMs?: number;
    /**
     * The mock drops lines below it. By default `trace`.
     */
    logLevel?: Level;
};
export declare class MockDriver {
    #private;
    surroundings: Surroundings;
    /** Requests as the driver sent them: with placeholders. @type {WireRequest[]} */
    sent: WireRequest[];
    /** Requests as they reached the cloud: with secrets. @type {CloudRequest[]} */
    arrived: CloudRequest[];
    /** @type {{ level: Level, message: string, fields: Record<string, string> }[]} */
    lines: {
        level: Level;
        message: string;
        fields: Record<string, string>;
    }[];
    /** @param {Driver} author @param {Surroundings} [surroundings] */
    constructor(author: Driver, surroundings?: Surroundings);
    describe(): Promise<Wit.About>;
    /** @param {Class} machineClass */
    validateClass(machineClass: Class): Promise<string[]>;
    /** @param {Request} request @returns {Promise<Wit.Vm | InProgress>} */
    create(request: Request): Promise<Wit.Vm | InProgress>;
    /** @param {Request} request */
    initialize(request: Request): Promise<Wit.Vm>;
    /** @param {Request} request @returns {Promise<{ lastKnownState?: string } | InProgress>} */
    delete(request: Request): Promise<{
        lastKnownState?: string;
    } | InProgress>;
    /** @param {Request} request */
    getStatus(request: Request): Promise<Wit.Vm>;
    /** @param {{ class: Class, cluster: string, token?: string }} request */
    list({ class: machineClass, cluster, token }: {
        class: Class;
        cluster: string;
        token?: string;
    }): Promise<{
        machines: {
            providerId: string;
            machineName: string;
            machineUid?: string;
            createdAtMs: number | undefined;
        }[];
        next: string | undefined;
    }>;
    /** @param {string[]} volumeSpecs */
    getVolumeIds(volumeSpecs: string[]): Promise<(string | undefined)[]>;
    /** @param {Request} request */
    reboot(request: Request): Promise<void>;
    /** @param {Request} request @param {string} providerId */
    deleteById(request: Request, providerId: string): Promise<void>;
    /** @param {Request} request @param {Vm} vm */
    nodeId(request: Request, vm: Vm): Promise<string>;
    /** @param {Class} machineClass @param {string} failureDomain @returns {Promise<any>} */
    place(machineClass: Class, failureDomain: string): Promise<any>;
    /** @param {Class} machineClass */
    isInterruptible(machineClass: Class): Promise<boolean>;
    /** @param {Class} machineClass @returns {Promise<NodeResources>} */
    nodeCapacity(machineClass: Class): Promise<NodeResources>;
}

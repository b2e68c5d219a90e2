// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Exports a driver from a component. Import this only in the module that the build starts from: there is no such host
 * in Node.js.
 */
import type { Driver } from '../driver/driver.js';
/** @import { Driver } from '../driver/driver.js' */
import './globals.js';
/**
 * Returns the exports of the component's module:
 *
 *     export const { driver } = exportDriver(new MyDriver());
 *     export const { driver, reboot } = exportDriver(new MyDriver());   // with `reboot` in the class
 *     // With `deleteById` as well: export const { driver, reboot, deleteById } = exportDriver(new MyDriver());
 *     // Those for Cluster API:
 *     export const { driver, nodeId, placement, interruption, capacity } = exportDriver(new MyDriver());
 *
 * @template {Driver} D
 * @param {D} author
 */
export declare function exportDriver<D extends Driver>(author: D): {
    driver: {
        describe: () => Promise<import("machinist:provider/types@0.1.0").About>;
        validateClass: (machineClass: import("machinist:provider/types@0.1.0").Class) => Promise<string[]>;
        create: (request: import("machinist:provider/types@0.1.0").Request) => Promise<import("machinist:provider/types@0.1.0").Creation>;
        initialize: (request: import("machinist:provider/types@0.1.0").Request) => Promise<import("machinist:provider/types@0.1.0").Vm>;
        delete: (request: import("machinist:provider/types@0.1.0").Request) => Promise<import("machinist:provider/types@0.1.0").Deletion>;
        getStatus: (request: import("machinist:provider/types@0.1.0").Request) => Promise<import("machinist:provider/types@0.1.0").Vm>;
        list: (machineClass: import("machinist:provider/types@0.1.0").Class, cluster: string, token: string | undefined) => Promise<import("machinist:provider/types@0.1.0").Page>;
        getVolumeIds: (specs: string[]) => Promise<(string | undefined)[]>;
    };
    reboot: {
        reboot: (request: import("machinist:provider/types@0.1.0").Request) => Promise<void>;
    };
    deleteById: {
        deleteById: (request: import("machinist:provider/types@0.1.0").Request, providerId: string) => Promise<void>;
    };
    nodeId: {
        nodeId: (request: import("machinist:provider/types@0.1.0").Request, vm: import("machinist:provider/types@0.1.0").Vm) => Promise<string>;
    };
    placement: {
        place: (machineClass: import("machinist:provider/types@0.1.0").Class, failureDomain: string) => Promise<string>;
    };
    interruption: {
        isInterruptible: (machineClass: import("machinist:provider/types@0.1.0").Class) => Promise<boolean>;
    };
    capacity: {
        nodeCapacity: (machineClass: import("machinist:provider/types@0.1.0").Class) => Promise<import("machinist:capacity/capacity@0.1.0").NodeResources>;
    };
};

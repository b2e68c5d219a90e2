// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Makes a component of a driver. Only the module that is built may import this: natively there is no such host.
 */
import type { Driver } from '../driver.js';
/** @import { Driver } from '../driver.js' */
import './globals.js';
/**
 * What the component's module exports:
 *
 *     export const { driver } = exportDriver(new MyDriver());
 *     export const { driver, reboot } = exportDriver(new MyDriver());   // with `reboot` in the class
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
};

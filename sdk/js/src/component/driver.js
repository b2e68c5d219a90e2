/**
 * Exports a driver from a component. Import this only in the module that the build starts from: there is no such host
 * in Node.js.
 */

/** @import { Driver } from '../driver/driver.js' */

import './globals.js';

import { serve } from '../driver/serve.js';
import { host } from './host.js';

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
export function exportDriver(author) {
  return serve(author, host);
}

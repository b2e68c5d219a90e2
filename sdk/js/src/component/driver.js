/**
 * Makes a component of a driver. Only the module that is built may import this: natively there is no such host.
 */

/** @import { Driver } from '../driver.js' */

import './globals.js';

import { serve } from '../serve.js';
import { host } from './host.js';

/**
 * What the component's module exports:
 *
 *     export const { driver } = exportDriver(new MyDriver());
 *     export const { driver, reboot } = exportDriver(new MyDriver());   // with `reboot` in the class
 *
 * @template {Driver} D
 * @param {D} author
 */
export function exportDriver(author) {
  return serve(author, host);
}

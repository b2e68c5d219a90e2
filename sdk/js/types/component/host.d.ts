/**
 * The host of a component, as the bindings have it.
 */
import type { RawHost } from '../contract.js';
/** @type {RawHost} */
export declare const host: RawHost;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The host of a component, as the bindings have it.
 */
import type { RawHost } from '../contract.js';
/** @type {RawHost} */
export declare const host: RawHost;

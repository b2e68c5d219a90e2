// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The host of a component, in the form of the bindings.
 */
import type { RawHost } from '../contract.js';
/** @type {RawHost} */
export declare const host: RawHost;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Requests through the host's `outgoing-handler`. This module releases resources of the host in order, children first:
 * the host ends an instance that releases a parent before its child.
 */
import type { Wire } from '../contract.js';
/** @type {Wire} */
export declare const wire: Wire;

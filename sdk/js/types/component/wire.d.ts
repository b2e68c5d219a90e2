// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Requests over the host's outgoing handler. What was taken from the host is given back in order, children first: the host
 * ends an instance that gives a parent back before its child.
 */
import type { Wire } from '../contract.js';
/** @type {Wire} */
export declare const wire: Wire;

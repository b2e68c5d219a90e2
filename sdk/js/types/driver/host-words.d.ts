// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Converts the contract's arguments to the author's types.
 */
import type * as Wit from 'machinist:provider/types@0.1.0';
import type { Request } from '../contract.js';
/** @import * as Wit from 'machinist:provider/types@0.1.0' */
/** @import { Request } from '../contract.js' */
/** @param {Wit.Request} request @returns {Request} */
export declare function requestFrom({ machine, class: machineClass, idempotencyKey, cluster, deadlineMs }: Wit.Request): Request;
/** The inverse, for mocks. @param {Request} request @returns {Wit.Request} */
export declare function requestTo({ machine, deadlineMs, ...rest }: Request): Wit.Request;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Puts secrets where placeholders stand, as the host does once a request has left the sandbox. One in a place that is not
 * granted refuses the whole request.
 */
import type { WireRequest } from '../contract.js';
import type { Grants } from './grants.js';
import type { Vault } from './vault.js';
/** @import { Vault } from './vault.js' */
/**
 * The request as the cloud sees it.
 * @param {WireRequest} request
 * @param {Vault} vault
 * @param {Grants} grants
 * @returns {WireRequest}
 */
export declare function substituted(request: WireRequest, vault: Vault, grants: Grants): WireRequest;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Replaces placeholders by secrets, as the host does after a request has left the sandbox. A placeholder at a place
 * that is not granted makes it refuse the request.
 */
import type { WireRequest } from '../contract.js';
import type { Grants } from './grants.js';
import type { Vault } from './vault.js';
/** @import { Vault } from './vault.js' */
/**
 * * Returns the request as the cloud sees it.
 * @param {WireRequest} request
 * @param {Vault} vault
 * @param {Grants} grants
 * @returns {WireRequest}
 */
export declare function substituted(request: WireRequest, vault: Vault, grants: Grants): WireRequest;

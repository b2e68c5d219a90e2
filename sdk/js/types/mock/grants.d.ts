// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * An operator's grants, as far as a driver's unit tests need them: the content of `grants.yaml` as an object. Without
 * grants everything is granted, but never a placeholder in a URL, a header's name or a key.
 */
export type Place = {
    header: string;
    prefix?: string;
} | {
    json: string;
    prefix?: string;
} | {
    form: string;
    prefix?: string;
};
export type SecretGrant = {
    key: string;
    places: Place[];
    hosts?: string[];
};
export type EgressRule = {
    host: string;
    scheme?: 'http' | 'https';
    ports?: number[];
    methods?: string[];
    /**
     * Prefixes of paths.
     */
    paths?: string[];
};
export type GrantsText = {
    egress?: EgressRule[];
    secrets?: SecretGrant[];
    /**
     * Keys for which the operator granted `reveal`.
     */
    reveal?: string[];
};
import type { WireRequest } from '../contract.js';
export declare class Grants {
    #private;
    reveals: string[];
    /** @param {GrantsText} [grants] */
    constructor(grants?: GrantsText);
    /** @param {string} key */
    hasSecret(key: string): boolean;
    /** @param {string} key @param {Place} place @param {string} host */
    allowsSecret(key: string, place: Place, host: string): boolean;
    /** @param {WireRequest} request */
    allowsRequest(request: WireRequest): boolean;
}

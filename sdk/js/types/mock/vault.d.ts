// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The secrets of one call, as the host keeps them: the driver sees placeholders, and the fake cloud values.
 */
import type { RawHost } from '../contract.js';
/** Returns the number of placeholders in a text. @param {string} text */
export declare function countPlaceholders(text: string): number;
export type Issued = {
    key: string;
    value: Uint8Array;
    issued: string;
};
/** @typedef {{ key: string, value: Uint8Array, issued: string }} Issued */
export declare class Vault {
    #private;
    /**
     * @param {object} contents
     * @param {Record<string, Uint8Array>} contents.secrets
     * @param {Uint8Array | undefined} contents.userData
     * @param {(key: string) => boolean} contents.isGranted
     * @param {readonly string[]} contents.reveals Keys for which the operator granted `reveal`.
     */
    constructor({ secrets, userData, isGranted, reveals }: {
        secrets: Record<string, Uint8Array>;
        userData: Uint8Array | undefined;
        isGranted: (key: string) => boolean;
        reveals: readonly string[];
    });
    /** The handles that the driver sees. @returns {RawHost['secrets']} */
    get handles(): RawHost['secrets'];
    /**
     * Returns a text with values instead of placeholders. `take` receives the key and the value of each, and may throw.
     * Placeholders that this call does not know have no key.
     * @param {string} text
     * @param {(key: string | undefined, value: Uint8Array) => string} take
     */
    fill(text: string, take: (key: string | undefined, value: Uint8Array) => string): string;
}

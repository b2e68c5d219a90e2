// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Secrets as handles. Their values stay in the host.
 */
import type { Encoding, RawHost, RawSecret } from './contract.js';
/** A secret that a driver can send and not see. */
export declare class Secret {
    #private;
    key: string;
    /** @param {string} key @param {RawSecret} raw */
    constructor(key: string, raw: RawSecret);
    /** The length of the value in bytes, before any encoding. */
    get length(): number;
    /**
     * True if user data starts with this prefix (at most 64 bytes are compared). Always false for a credential.
     * @param {string | Uint8Array} prefix
     */
    startsWith(prefix: string | Uint8Array): boolean;
    /**
     * Returns letters and digits that represent the encoded value in requests of this call. Worthless outside of the
     * host.
     * @param {...Encoding} encodings Applied in this order; none keeps the value unchanged.
     */
    placeholder(...encodings: Encoding[]): string;
    /** Returns the value itself. The host refuses unless the operator granted `reveal` for this key. */
    reveal(): Uint8Array<ArrayBufferLike>;
}
/** The secrets of the running call. */
export declare class Secrets {
    #private;
    /** @param {RawHost['secrets']} raw */
    constructor(raw: RawHost['secrets']);
    /** Returns the keys of the Secret, sorted, without user data. */
    keys(): string[];
    /** Returns a secret; undefined if there is no such key. @param {string} key */
    open(key: string): Secret | undefined;
    /**
     * Returns the secret of a required key.
     * @param {string} key
     * @param {string} what Describes the value in the message, such as "the cloud's API token".
     */
    need(key: string, what: string): Secret;
    /** Returns the machine's data at boot. Present in `create` and `initialize` only. */
    userData(): Secret | undefined;
}

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Secrets as handles. The values stay in the host.
 */
import type { Encoding, RawHost, RawSecret } from './contract.js';
/** A secret that can be sent and not seen. */
export declare class Secret {
    #private;
    key: string;
    /** @param {string} key @param {RawSecret} raw */
    constructor(key: string, raw: RawSecret);
    /** Bytes of the value, before any encoding. */
    get length(): number;
    /** Only user data answers, and only for the first 64 bytes. @param {string | Uint8Array} prefix */
    startsWith(prefix: string | Uint8Array): boolean;
    /**
     * Letters and digits that stand for the encoded value in requests of this call. Worthless outside of the host.
     * @param {...Encoding} encodings Applied in this order; none leaves the value as it is.
     */
    placeholder(...encodings: Encoding[]): string;
    /** The value itself. Refused unless the operator granted `reveal` for this key. */
    reveal(): Uint8Array<ArrayBufferLike>;
}
/** The secrets of the running call. */
export declare class Secrets {
    #private;
    /** @param {RawHost['secrets']} raw */
    constructor(raw: RawHost['secrets']);
    /** The keys of the Secret, sorted, without user data. */
    keys(): string[];
    /** Undefined when there is no such key. @param {string} key */
    open(key: string): Secret | undefined;
    /**
     * The same for a key that the driver cannot do without.
     * @param {string} key
     * @param {string} what For the message: what belongs there, such as "the cloud's API token".
     */
    need(key: string, what: string): Secret;
    /** What the machine gets at boot. Present in `create` and `initialize`. */
    userData(): Secret | undefined;
}

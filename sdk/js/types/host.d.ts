// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * What a driver's call gets from the host.
 */
import type { Level, RawHost } from './contract.js';
import { Http } from './http.js';
import { Secrets } from './secrets.js';
/** Lines for the log. `message` is a static text; what varies goes into `fields`. */
export declare class Log {
    #private;
    /** @param {RawHost['log']} raw */
    constructor(raw: RawHost['log']);
    /** False when the host drops this level anyway. @param {Level} level */
    isEnabled(level: Level): boolean;
    /** @param {string} message @param {Record<string, unknown>} [fields] */
    trace(message: string, fields?: Record<string, unknown>): void;
    /** @param {string} message @param {Record<string, unknown>} [fields] */
    debug(message: string, fields?: Record<string, unknown>): void;
    /** @param {string} message @param {Record<string, unknown>} [fields] */
    info(message: string, fields?: Record<string, unknown>): void;
    /** @param {string} message @param {Record<string, unknown>} [fields] */
    warn(message: string, fields?: Record<string, unknown>): void;
    /** @param {string} message @param {Record<string, unknown>} [fields] */
    error(message: string, fields?: Record<string, unknown>): void;
}
/** What every call gets. */
export declare class QuietHost {
    #private;
    log: Log;
    /** @param {RawHost} raw */
    constructor(raw: RawHost);
    /** What the operator wrote beside the plugin: a JSON object, as text. `Fields.parse` reads it. */
    get settings(): string;
    /** Milliseconds until the host ends this call. */
    remainingMs(): number;
}
/** What calls about machines get: the cloud as well. */
export declare class Host extends QuietHost {
    secrets: Secrets;
    http: Http;
    /** @param {RawHost} raw */
    constructor(raw: RawHost);
}
/**
 * What a call gets that has neither secrets nor network. Types say so; this is for those who do not look at them.
 * @param {RawHost} raw
 * @param {string} call
 */
export declare function quietHost(raw: RawHost, call: string): QuietHost;

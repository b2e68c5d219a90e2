// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The host, as a driver sees it.
 */
import type { Level, RawHost } from './contract.js';
import { Http } from './http/request.js';
import { Secrets } from './secrets.js';
/** The log of a call. `message` is a static text; put all values that vary into `fields`. */
export declare class Log {
    #private;
    /** @param {RawHost['log']} raw */
    constructor(raw: RawHost['log']);
    /** False if the host drops this level. @param {Level} level */
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
/** The host of every call. */
export declare class QuietHost {
    #private;
    log: Log;
    /** @param {RawHost} raw */
    constructor(raw: RawHost);
    /** The operator's settings beside the plugin: a JSON object, as text. `Fields.parse` reads it. */
    get settings(): string;
    /** Returns the milliseconds until the host ends this call. */
    remainingMs(): number;
}
/** The host of calls about machines, with secrets and network. */
export declare class Host extends QuietHost {
    secrets: Secrets;
    http: Http;
    /** @param {RawHost} raw */
    constructor(raw: RawHost);
}
/**
 * Returns the host of a call without secrets and network. Types deny both; this host throws for authors who do not
 * check types.
 * @param {RawHost} raw
 * @param {string} call
 */
export declare function quietHost(raw: RawHost, call: string): QuietHost;

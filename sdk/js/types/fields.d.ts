// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Reads JSON that people write: a class, or settings. Null counts as absent, and each error names its field.
 */
/** The fields of a JSON object, with its path. */
export declare class Fields {
    #private;
    path: string;
    /**
     * @param {string} path Such as `providerSpec`; empty for the root of settings.
     * @param {Record<string, unknown>} fields
     * @param {(message: string) => Error} fault Creates the error.
     */
    constructor(path: string, fields: Record<string, unknown>, fault: (message: string) => Error);
    /**
     * Parses an object.
     * @param {string} text
     * @param {string} path The name of the object in messages.
     * @param {(message: string) => Error} [fault] By default `invalidClass`.
     */
    static parse(text: string, path: string, fault?: (message: string) => Error): Fields;
    /** @param {string} name @returns {unknown} Undefined if it is absent or null. */
    get(name: string): unknown;
    /** Returns a text that is not empty. @param {string} name @returns {string | undefined} */
    text(name: string): string | undefined;
    /** @param {string} name */
    neededText(name: string): string;
    /** @param {string} name @returns {boolean | undefined} */
    flag(name: string): boolean | undefined;
    /** @param {string} name @param {{ least?: number, most?: number }} [range] @returns {number | undefined} */
    wholeNumber(name: string, { least, most }?: {
        least?: number;
        most?: number;
    }): number | undefined;
    /** @param {string} name @param {{ least?: number, most?: number }} [range] */
    neededWholeNumber(name: string, range?: {
        least?: number;
        most?: number;
    }): number;
    /**
     * Returns keys and values of an object, sorted by key.
     * @param {string} name @param {string} wanted The expected value. @returns {[string, unknown][]}
     */
    entries(name: string, wanted: string): [string, unknown][];
    /** Returns the objects of a list. @param {string} name @returns {Fields[]} */
    objects(name: string): Fields[];
    /** Returns the paths of fields that `known` does not name. @param {readonly string[]} known */
    unknown(known: readonly string[]): string[];
    /** @param {string} name @param {string} wanted @param {unknown} got */
    unfit(name: string, wanted: string, got: unknown): Error;
    /** @param {string} name @param {string} problem */
    invalid(name: string, problem: string): Error;
}
/** @param {unknown} value @returns {value is Record<string, unknown>} */
export declare function isObject(value: unknown): value is Record<string, unknown>;

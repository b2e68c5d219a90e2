// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Errors of imports: the error of a `result` is the `payload`. The bindings have a realm of their own, whose `Error`
 * differs from that of a component's modules: `instanceof` does not work.
 */
/** @param {unknown} error @returns {error is { payload: unknown }} */
export declare function hasPayload(error: unknown): error is {
    payload: unknown;
};
/** Returns the stack of an error, as far as it is known. @param {unknown} error */
export declare function stackOf(error: unknown): string;

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * What an import throws: the error of its `result` as `payload`. The bindings live in a realm of their own, whose `Error` is
 * not the one of a component's modules: `instanceof` is of no use.
 */
/** @param {unknown} error @returns {error is { payload: unknown }} */
export declare function hasPayload(error: unknown): error is {
    payload: unknown;
};
/** What is known of where something was thrown. @param {unknown} error */
export declare function stackOf(error: unknown): string;

/**
 * What an import throws: the error of its `result` as `payload`. The bindings live in a realm of their own, whose `Error` is
 * not the one of a component's modules: `instanceof` is of no use.
 */

/** @param {unknown} error @returns {error is { payload: unknown }} */
export function hasPayload(error) {
  return typeof error === 'object' && error !== null && 'payload' in error;
}

/** What is known of where something was thrown. @param {unknown} error */
export function stackOf(error) {
  return typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : '';
}

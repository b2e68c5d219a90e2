/**
 * Errors of imports: the error of a `result` is the `payload`. The bindings have a realm of their own, whose `Error`
 * differs from that of a component's modules: `instanceof` does not work.
 */

/** @param {unknown} error @returns {error is { payload: unknown }} */
export function hasPayload(error) {
  return typeof error === 'object' && error !== null && 'payload' in error;
}

/** Returns the stack of an error, as far as it is known. @param {unknown} error */
export function stackOf(error) {
  return typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : '';
}

// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
declare module 'machinist:host/deadline@0.1.0' {
  /**
   * Milliseconds until the host ends this call, 0 when it is over. A driver that cannot finish in time answers
   * "in progress" rather than be cut off.
   */
  export function remainingMs(): bigint;
}

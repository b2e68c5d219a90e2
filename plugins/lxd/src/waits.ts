/**
 * How long a call waits for an operation.
 */

/** A waiting call occupies a place in the host: after this time it ends with "in progress". */
const MOST_SECONDS = 5;
/** Left of a call's time for the answer to arrive. */
const RESERVE_MS = 3_000;

/** With less time the call ends with "in progress" in place of another step. */
const STEP_MS = 1_000;

/** True if the call has the time for another step. */
export function hasTime(remainingMs: number): boolean {
  return remainingMs >= STEP_MS;
}

/** Returns whole seconds, as LXD wants them. */
export function waitSeconds(remainingMs: number): number {
  return Math.max(0, Math.min(MOST_SECONDS, Math.floor((remainingMs - RESERVE_MS) / 1_000)));
}

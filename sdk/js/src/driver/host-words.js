/**
 * Converts the contract's arguments to the author's types.
 */

/** @import * as Wit from 'machinist:provider/types@0.1.0' */
/** @import { Request } from '../contract.js' */

/** @param {Wit.Request} request @returns {Request} */
export function requestFrom({ machine, class: machineClass, idempotencyKey, cluster, deadlineMs }) {
  const labels = Object.fromEntries(machine.labels);
  const annotations = Object.fromEntries(machine.annotations);
  return { machine: { ...machine, labels, annotations }, class: machineClass, idempotencyKey, cluster, deadlineMs: Number(deadlineMs) };
}

/** The inverse, for mocks. @param {Request} request @returns {Wit.Request} */
export function requestTo({ machine, deadlineMs, ...rest }) {
  const labels = Object.entries(machine.labels);
  const annotations = Object.entries(machine.annotations);
  return { ...rest, machine: { ...machine, labels, annotations }, deadlineMs: BigInt(deadlineMs) };
}

/**
 * Converts between the contract's types and the author's.
 */

/** @import * as Wit from 'machinist:policy/types@0.1.0' */
/** @import { About, Question, Verdict } from './contract.js' */

import { isObject } from '../fields.js';

/** @param {Wit.Question} question @returns {Question} */
export function questionFrom({ machine, node, history, domain }) {
  return {
    machine: {
      ...machine,
      labels: Object.fromEntries(machine.labels),
      created: Number(machine.created),
      healthTimeoutMs: optional(machine.healthTimeoutMs),
    },
    node: node && {
      ...node,
      created: optional(node.created),
      labels: Object.fromEntries(node.labels),
      conditions: node.conditions.map((condition) => ({ ...condition, since: optional(condition.since) })),
    },
    history: { ...history, phaseSince: optional(history.phaseSince), reboots: [...history.reboots].map(Number) },
    domain,
  };
}

/** @param {About} about @returns {Wit.About} */
export function aboutTo({ name, version, settingsSchema }) {
  for (const [field, value] of Object.entries({ name, version })) {
    if (typeof value !== 'string') throw new TypeError(`${field} in the answer to describe must be a text`);
  }
  if (settingsSchema !== undefined && !isObject(settingsSchema))
    throw new TypeError('settingsSchema in the answer to describe must be an object');
  return { name, version, settingsSchema: settingsSchema && JSON.stringify(settingsSchema) };
}

/** @param {Verdict} verdict @returns {Wit.Verdict} */
export function verdictTo({ health, since, reason, action = 'none', holdsUntil }) {
  if (typeof reason !== 'string') throw new TypeError('reason in the verdict must be a text');
  if (!['none', 'reboot', 'replace'].includes(action)) throw new TypeError('action in the verdict must be none, reboot or replace');
  return { health: healthTo(health, since), reason, action, holdsUntil: time(holdsUntil, 'holdsUntil') };
}

/** @param {Verdict['health']} health @param {number | undefined} since @returns {Wit.Health} */
function healthTo(health, since) {
  switch (health) {
    case 'healthy':
      return { tag: 'healthy' };
    case 'unknown':
      return { tag: 'unknown' };
    case 'unhealthy':
      return { tag: 'unhealthy', val: time(since, 'since') };
    default:
      throw new TypeError('health in the verdict must be healthy, unhealthy or unknown');
  }
}

/** @param {unknown} value @param {string} field */
function time(value, field) {
  if (typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER) return BigInt(Math.floor(value));
  throw new TypeError(`${field} in the verdict must be milliseconds since 1970`);
}

/** @param {bigint | undefined} time */
function optional(time) {
  return time === undefined ? undefined : Number(time);
}

/** For mocks. @param {Question} question @returns {Wit.Question} */
export function questionTo({ machine, node, history, domain }) {
  return {
    machine: {
      ...machine,
      labels: Object.entries(machine.labels),
      created: BigInt(machine.created),
      healthTimeoutMs: optionalTo(machine.healthTimeoutMs),
    },
    node: node && {
      ...node,
      created: optionalTo(node.created),
      labels: Object.entries(node.labels),
      conditions: node.conditions.map((condition) => ({ ...condition, since: optionalTo(condition.since) })),
    },
    history: { ...history, phaseSince: optionalTo(history.phaseSince), reboots: BigUint64Array.from(history.reboots, BigInt) },
    domain,
  };
}

/** For mocks. @param {Wit.Verdict} verdict @returns {Verdict} */
export function verdictFrom({ health, reason, action, holdsUntil }) {
  return {
    health: health.tag,
    since: health.tag === 'unhealthy' ? Number(health.val) : undefined,
    reason,
    action,
    holdsUntil: Number(holdsUntil),
  };
}

/** @param {number | undefined} time */
function optionalTo(time) {
  return time === undefined ? undefined : BigInt(time);
}

/**
 * A Machine, and a question about a healthy one, for tests to change.
 */

/** @import { Class, Machine, Request } from '../contract.js' */
/** @import { Condition, Question, Status } from '../policy/contract.js' */

/**
 * Returns a request about a Machine without a VM.
 * @param {object} [facts]
 * @param {object | string} [facts.spec] The class's `providerSpec`.
 * @param {Partial<Machine>} [facts.machine]
 * @param {Partial<Class>} [facts.class]
 * @param {string} [facts.cluster]
 * @param {string} [facts.idempotencyKey]
 * @returns {Request}
 */
export function sampleRequest({ spec = {}, machine = {}, class: machineClass = {}, cluster = 'c1', idempotencyKey = 'key-1' } = {}) {
  return {
    machine: { namespace: 'shoot', name: 'machine-1', uid: 'uid-1', labels: {}, annotations: {}, ...machine },
    class: { name: 'small', provider: 'mock', spec: typeof spec === 'string' ? spec : JSON.stringify(spec), zones: [], ...machineClass },
    idempotencyKey,
    cluster,
    deadlineMs: 300_000,
  };
}

/** Returns a question about a Running Machine with a healthy Node, alone in its zone. @returns {Question} */
export function sampleQuestion() {
  return {
    machine: {
      namespace: 'shoot',
      name: 'machine-1',
      uid: 'uid-1',
      class: 'small',
      labels: {},
      providerId: 'cloud:///vm-1',
      created: 0,
      healthTimeoutMs: 600_000,
      mustBeFalse: ['DiskPressure'],
      canReboot: true,
    },
    node: { name: 'node-1', created: 0, labels: {}, unschedulable: false, conditions: [sampleCondition('Ready', 'true', 0)] },
    history: { phase: 'running', phaseSince: 0, reboots: [] },
    domain: { name: 'zone-a', machines: 1, silent: 0 },
  };
}

/**
 * Returns a condition with its status since this time.
 * @param {string} kind @param {Status} status @param {number} since @returns {Condition}
 */
export function sampleCondition(kind, status, since) {
  return { kind, status, reason: 'Test', message: '', since };
}

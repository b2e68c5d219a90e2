/**
 * Converts the author's answers to the contract's types. JavaScript lets an author return any value: one that the
 * contract cannot represent becomes an error that names the field.
 */

/** @import * as Wit from 'machinist:provider/types@0.1.0' */
/** @import { NodeResources as WitResources } from 'machinist:capacity/capacity@0.1.0' */
/** @import { Capability } from '../contract.js' */
/** @import { DriverError } from '../error.js' */

import { InProgress } from './driver.js';
import { CODES, Defect } from '../error.js';
import { isObject } from '../fields.js';

/** @type {readonly Capability[]} */
const CAPABILITIES = ['status', 'initialize', 'listing', 'volumeIds', 'idempotencyKey'];
/** @type {readonly string[]} */
const STATES = ['pending', 'running', 'stopping', 'stopped', 'unknown'];

/** @param {unknown} answer @returns {Wit.About} */
export function readAbout(answer) {
  const about = object(answer, 'describe');
  const named = texts(about, 'capabilities', 'describe');
  const stray = named.find((name) => !CAPABILITIES.includes(/** @type {Capability} */ (name)));
  if (stray !== undefined) throw wrong('describe', 'capabilities', `of ${CAPABILITIES.join(', ')}`, stray);
  const schema = about.classSchema;
  if (schema !== undefined && !isObject(schema)) throw wrong('describe', 'classSchema', 'an object', schema);
  return {
    name: text(about, 'name', 'describe'),
    version: text(about, 'version', 'describe'),
    providers: texts(about, 'providers', 'describe'),
    classSchema: schema && JSON.stringify(schema),
    capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, named.includes(name)])),
    consistencyWindowMs: milliseconds(about, 'consistencyWindowMs', 'describe') ?? 0n,
    hosts: about.hosts === undefined ? [] : texts(about, 'hosts', 'describe'),
  };
}

/** @param {unknown} answer @returns {string[]} */
export function readWarnings(answer) {
  return texts({ warnings: answer }, 'warnings', 'validateClass');
}

/** @param {unknown} answer @returns {Wit.Creation} */
export function readCreation(answer) {
  if (answer instanceof InProgress) return { tag: 'in-progress', val: progress(answer, 'create') };
  return { tag: 'created', val: readVm(answer, 'create') };
}

/** @param {unknown} answer @returns {Wit.Deletion} */
export function readDeletion(answer) {
  if (answer instanceof InProgress) return { tag: 'in-progress', val: progress(answer, 'delete') };
  const deleted = answer === undefined ? {} : object(answer, 'delete');
  return { tag: 'deleted', val: optionalText(deleted, 'lastKnownState', 'delete') };
}

/** @param {unknown} answer @param {string} call @returns {Wit.Vm} */
export function readVm(answer, call) {
  const vm = object(answer, call);
  const state = text(vm, 'state', call);
  if (!STATES.includes(state)) throw wrong(call, 'state', `of ${STATES.join(', ')}`, state);
  return {
    providerId: text(vm, 'providerId', call),
    nodeName: text(vm, 'nodeName', call),
    state: /** @type {Wit.VmState} */ (state),
    addresses: list(vm.addresses ?? [], 'addresses', call).map((entry) => {
      const address = object(entry, call);
      return { kind: text(address, 'kind', call), address: text(address, 'address', call) };
    }),
    failureDomain: optionalText(vm, 'failureDomain', call),
    conditions: list(vm.conditions ?? [], 'conditions', call).map((entry) => {
      const condition = object(entry, call);
      const [kind, status, reason, message] = ['kind', 'status', 'reason', 'message'].map((field) => text(condition, field, call));
      return { kind, status, reason, message };
    }),
    lastKnownState: optionalText(vm, 'lastKnownState', call),
  };
}

/** @param {unknown} answer @returns {Wit.Page} */
export function readPage(answer) {
  const page = object(answer, 'list');
  const machines = list(page.machines, 'machines', 'list').map((entry) => {
    const listed = object(entry, 'list');
    return {
      providerId: text(listed, 'providerId', 'list'),
      machineName: text(listed, 'machineName', 'list'),
      machineUid: optionalText(listed, 'machineUid', 'list'),
      createdAtMs: milliseconds(listed, 'createdAtMs', 'list'),
    };
  });
  return { machines, next: optionalText(page, 'next', 'list') };
}

/** @param {unknown} answer @param {number} count @returns {(string | undefined)[]} */
export function readVolumeIds(answer, count) {
  const ids = list(answer, 'ids', 'getVolumeIds');
  if (ids.length !== count) throw wrong('getVolumeIds', 'ids', `one for each of the ${count} volumes`, ids.length);
  return ids.map((id) => optionalText({ id: id ?? undefined }, 'id', 'getVolumeIds'));
}

/** @param {unknown} answer @returns {string} */
export function readNodeId(answer) {
  return text({ id: answer }, 'id', 'nodeId');
}

/** @param {unknown} answer @returns {string} */
export function readPlaced(answer) {
  return JSON.stringify(object(answer, 'place'));
}

/** @param {unknown} answer @returns {boolean} */
export function readInterruptible(answer) {
  if (typeof answer !== 'boolean') throw wrong('isInterruptible', 'value', 'true or false', answer);
  return answer;
}

/** @param {unknown} answer @returns {WitResources} */
export function readResources(answer) {
  const found = object(answer, 'nodeCapacity');
  const resources = object(found.resources, 'nodeCapacity');
  return {
    resources: Object.keys(resources).map((name) => [name, text(resources, name, 'nodeCapacity')]),
    architecture: optionalText(found, 'architecture', 'nodeCapacity'),
    operatingSystem: optionalText(found, 'operatingSystem', 'nodeCapacity'),
  };
}

/** @param {DriverError} error @returns {Wit.DriverError} */
export function errorTo({ code, message, facts }) {
  const known = CODES.includes(code);
  const after = facts.retryAfterMs;
  return {
    code: known ? code : 'internal',
    message: known ? message : `${message} (the driver names a code that there is not: ${code})`,
    cloudCode: asText(facts.cloudCode),
    retryAfterMs: isMilliseconds(after) ? BigInt(Math.ceil(after)) : undefined,
    terminal: facts.terminal === true,
    mayHaveHappened: facts.mayHaveHappened === true,
    lastKnownState: asText(facts.lastKnownState),
    providerId: asText(facts.providerId),
    nodeName: asText(facts.nodeName),
  };
}

/** @param {unknown} value */
function asText(value) {
  return value === undefined || value === null ? undefined : String(value);
}

/** @param {InProgress} answer @param {string} call @returns {Wit.Progress} */
function progress({ resumeToken, askAgainMs, message }, call) {
  const fields = { resumeToken, askAgainMs, message };
  return {
    resumeToken: text(fields, 'resumeToken', call),
    askAgainMs: milliseconds(fields, 'askAgainMs', call) ?? 0n,
    message: text(fields, 'message', call),
  };
}

/** @param {unknown} value @param {string} call @returns {Record<string, unknown>} */
function object(value, call) {
  if (isObject(value)) return value;
  throw new Defect(`${call} must answer an object, and answered ${shown(value)}`);
}

/** @param {Record<string, unknown>} from @param {string} field @param {string} call @returns {string} */
function text(from, field, call) {
  const value = from[field];
  if (typeof value === 'string') return value;
  throw wrong(call, field, 'a text', value);
}

/** @param {Record<string, unknown>} from @param {string} field @param {string} call @returns {string | undefined} */
function optionalText(from, field, call) {
  return from[field] === undefined ? undefined : text(from, field, call);
}

/** @param {unknown} value @param {string} field @param {string} call @returns {unknown[]} */
function list(value, field, call) {
  if (Array.isArray(value)) return value;
  throw wrong(call, field, 'a list', value);
}

/** @param {Record<string, unknown>} from @param {string} field @param {string} call @returns {string[]} */
function texts(from, field, call) {
  return list(from[field], field, call).map((entry) => text({ [field]: entry }, field, call));
}

/** @param {Record<string, unknown>} from @param {string} field @param {string} call @returns {bigint | undefined} */
function milliseconds(from, field, call) {
  const value = from[field];
  if (value === undefined) return undefined;
  if (isMilliseconds(value)) return BigInt(Math.ceil(value));
  throw wrong(call, field, 'milliseconds', value);
}

/** @param {unknown} value @returns {value is number} */
function isMilliseconds(value) {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** @param {string} call @param {string} field @param {string} wanted @param {unknown} got */
function wrong(call, field, wanted, got) {
  return new Defect(`${field} in the answer to ${call} must be ${wanted}, got ${shown(got)}`);
}

/** Returns the type alone: a driver's answer may be anything. @param {unknown} value */
function shown(value) {
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/**
 * LXD's objects, with the fields that the driver needs. An object that lacks a required field is undefined.
 */

import type { Address, VmState } from 'machinist-sdk';

import { isObject, type Objects } from './reader.js';

/** An instance as LXD shows it. */
export interface Instance {
  name: string;
  /** LXD's status code. */
  status: number;
  config: Record<string, unknown>;
  /** The cluster member that it is on; undefined on a server alone. */
  location?: string;
  created?: string;
  /** True until its first start. */
  isNew: boolean;
  addresses: Address[];
}

/** The state of an operation. `forgotten`: LXD drops operations some seconds after their end. */
export type Outcome = { is: 'running' | 'done' | 'forgotten'; location?: string } | { is: 'failed'; error: string };

const STATES: Record<number, VmState> = {
  101: 'running',
  102: 'stopped',
  103: 'running',
  106: 'pending',
  107: 'stopping',
  108: 'stopping',
  109: 'stopped',
  110: 'stopped',
  111: 'running',
  113: 'running',
};
const STOPPED = 102;
/** LXD notes here whether the instance ran: it has no such key before its first start. */
const POWER = 'volatile.last_state.power';
/** LXD writes this in place of no time. */
const NEVER = '1970-01-01T00:00:00Z';

export function isStopped({ status }: Instance) {
  return status === STOPPED;
}

export function isUp({ status }: Instance) {
  return STATES[status] === 'running';
}

/** True for an instance that was made and not started: its create was interrupted. */
export function isUnstarted(instance: Instance) {
  return instance.isNew && isStopped(instance);
}

export function stateOf(instance: Instance): VmState {
  return isUnstarted(instance) ? 'pending' : (STATES[instance.status] ?? 'unknown');
}

export function readInstance(value: unknown): Instance | undefined {
  const fields = object(value);
  const [name, location] = [text(fields.name), text(fields.location)];
  if (!name || typeof fields.status_code !== 'number' || !isObject(fields.config)) return undefined;
  return {
    name,
    status: fields.status_code,
    config: fields.config,
    location: location === 'none' || location === '' ? undefined : location,
    created: text(fields.created_at),
    isNew: (text(fields.last_used_at) ?? NEVER) === NEVER || fields.config[POWER] === undefined,
    addresses: addresses(object(object(fields.state).network)),
  };
}

/** Undefined if an entry is invalid: an incomplete listing is worse than an error. */
export function readInstances(value: unknown): Instance[] | undefined {
  return readAll(value, readInstance);
}

/** Reads a listing of paths into names. */
export function readNames(value: unknown): string[] | undefined {
  return readAll(value, (path) => {
    const name = text(path)?.split('?')[0]?.split('/').at(-1);
    return name === '' ? undefined : name;
  });
}

export function readOperation(value: unknown): { id: string; outcome: Outcome } | undefined {
  const { id, status_code: status, err, location } = object(value);
  if (typeof id !== 'string' || !/^[0-9a-f-]{36}$/.test(id) || typeof status !== 'number') return undefined;
  return { id, outcome: outcomeOf(status, text(err) ?? '', text(location)) };
}

function outcomeOf(status: number, error: string, location: string | undefined): Outcome {
  if (status >= 400) return { is: 'failed', error: error === '' ? 'the operation was cancelled' : error };
  return { is: status >= 200 ? 'done' : 'running', location: location === 'none' || location === '' ? undefined : location };
}

/** The configuration and the devices of a profile. */
export function readProfile(value: unknown): { config: Objects; devices: Objects } | undefined {
  const { config, devices } = object(value);
  return isObject(config) && isObject(devices) ? { config, devices } : undefined;
}

/** The resources of a server. */
export function readResources(value: unknown): { cpus: number; memoryBytes: number; architecture?: string } | undefined {
  const { cpu, memory } = object(value);
  const [cpus, memoryBytes] = [object(cpu).total, object(memory).total];
  if (typeof cpus !== 'number' || typeof memoryBytes !== 'number') return undefined;
  return { cpus, memoryBytes, architecture: text(object(cpu).architecture) };
}

/** Addresses of all interfaces but the loopback, in the order of their names. */
function addresses(network: Objects): Address[] {
  const found: Address[] = [];
  for (const [, device] of Object.entries(network).sort(([one], [other]) => (one < other ? -1 : 1))) {
    const { addresses: list } = object(device);
    for (const entry of Array.isArray(list) ? list : []) {
      const { family, address, scope } = object(entry);
      if (scope === 'global' && (family === 'inet' || family === 'inet6') && typeof address === 'string') {
        found.push({ kind: 'InternalIP', address });
      }
    }
  }
  return found;
}

/**
 * Parses an RFC 3339 time in UTC into milliseconds since 1970. Undefined for anything else. LXD writes nanoseconds.
 */
export function milliseconds(time: string | undefined): number | undefined {
  const [, seconds, fraction = ''] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?Z$/.exec(time ?? '') ?? [];
  const parsed = Date.parse(`${seconds}${fraction.slice(0, 4)}Z`);
  return parsed >= 0 ? parsed : undefined;
}

function readAll<T>(value: unknown, read: (entry: unknown) => T | undefined): T[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const entries: T[] = [];
  for (const entry of value) {
    const one = read(entry);
    if (one === undefined) return undefined;
    entries.push(one);
  }
  return entries;
}

function object(value: unknown): Objects {
  return isObject(value) ? value : {};
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

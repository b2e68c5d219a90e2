/**
 * From the cloud's objects to the contract's types.
 */

/** @import { Listed, NodeResources, Vm, VmState } from 'machinist-sdk' */
/** @import { CloudVm, State } from './vm.js' */

import { DriverError } from 'machinist-sdk';

import { NAME_TAG, UID_TAG } from './vm.js';

/** The CSI driver of the cloud's volumes. */
const CSI_DRIVER = 'sim.csi.machinist.dev';
const PROVIDER_ID = /^sim:\/\/\/([^/]+)\/([^/]+)$/;

/** @type {Record<State, VmState>} */
const STATES = { pending: 'pending', running: 'running', stopping: 'stopping', terminated: 'stopped', other: 'unknown' };

/** Returns `sim:///ZONE/ID`, with which Nodes register. @param {CloudVm} vm */
export function providerId({ zone, id }) {
  return `sim:///${zone}/${id}`;
}

/**
 * Returns zone and id of a provider id; undefined if it is not one of this cloud.
 * @param {string | undefined} providerId
 */
export function partsOf(providerId) {
  const [, zone, id] = PROVIDER_ID.exec(providerId ?? '') ?? [];
  return zone === undefined ? undefined : { zone, id };
}

/** Converts a VM. Its Node registers under its name. @param {CloudVm} vm @returns {Vm} */
export function vmFrom(vm) {
  return { providerId: providerId(vm), nodeName: vm.name, state: STATES[vm.state], addresses: vm.addresses, failureDomain: vm.zone };
}

/**
 * Converts the size of a type into the resources of its Nodes.
 * @param {{ cpus: number, memoryGib: number, gpus: number }} size @returns {NodeResources}
 */
export function resources({ cpus, memoryGib, gpus }) {
  const all = { cpu: String(cpus), memory: `${memoryGib}Gi` };
  return {
    resources: gpus > 0 ? { ...all, 'nvidia.com/gpu': String(gpus) } : all,
    architecture: 'amd64',
    operatingSystem: 'linux',
  };
}

/** Converts a VM of a listing. @param {CloudVm} vm @returns {Listed} */
export function listedFrom(vm) {
  const tag = (/** @type {string} */ key) => {
    const value = vm.tags.get(key);
    return typeof value === 'string' ? value : undefined;
  };
  return { providerId: providerId(vm), machineName: tag(NAME_TAG) ?? '', machineUid: tag(UID_TAG), createdAtMs: milliseconds(vm.created) };
}

/**
 * Returns the volume handle of a PersistentVolume's spec; undefined if it is of another kind.
 * @param {string} spec @param {number} index
 */
export function volumeId(spec, index) {
  const handle = csiOf(spec, index);
  return handle.driver === CSI_DRIVER && typeof handle.volumeHandle === 'string' && handle.volumeHandle !== ''
    ? handle.volumeHandle
    : undefined;
}

/** @param {string} spec @param {number} index @returns {{ driver?: unknown, volumeHandle?: unknown }} */
function csiOf(spec, index) {
  try {
    return JSON.parse(spec)?.csi ?? {};
  } catch {
    throw new DriverError('invalid-argument', `failed to read volume spec ${index}: it is not JSON`);
  }
}

/**
 * Parses an RFC 3339 time in UTC into milliseconds since 1970. Undefined for anything else, and before 1970.
 * @param {string | undefined} text
 */
export function milliseconds(text) {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text ?? '')) return undefined;
  const time = Date.parse(/** @type {string} */ (text));
  return time >= 0 ? time : undefined;
}

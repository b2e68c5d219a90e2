/**
 * The cloud's objects, with the fields that the driver needs. An object that lacks a required field is undefined.
 */

/** The tag with the cluster's name. */
export const CLUSTER_TAG = 'cluster';
/** The tag with the Machine's uid. The cloud counts duplicates by it. */
export const UID_TAG = 'machine-uid';
/** The tag with the Machine's name. */
export const NAME_TAG = 'machine-name';

/**
 * `other`: a state that the API page does not list.
 * @typedef {'pending' | 'running' | 'stopping' | 'terminated' | 'other'} State
 * @typedef {Map<string, unknown>} Tags
 * @typedef {object} CloudVm
 * @property {string} id
 * @property {string} name
 * @property {State} state
 * @property {string} zone
 * @property {{ kind: string, address: string }[]} addresses
 * @property {Tags} tags
 * @property {boolean} initialized
 * @property {string} [created] The time as the cloud writes it.
 * @typedef {{ id: string, attachedTo?: string, tags: Tags }} Volume
 */

/** @type {readonly string[]} */
const STATES = ['pending', 'running', 'stopping', 'terminated'];

/** @param {unknown} value @returns {CloudVm | undefined} */
export function readVm(value) {
  const fields = object(value);
  const [id, name, state, zone] = ['id', 'name', 'state', 'zone'].map((field) => text(fields[field]));
  if (!id || name === undefined || state === undefined || !zone) return undefined;
  return {
    id,
    name,
    state: /** @type {State} */ (STATES.includes(state) ? state : 'other'),
    zone,
    addresses: list(fields.addresses).flatMap(readAddress),
    tags: readTags(fields.tags),
    initialized: fields.initialized !== false,
    created: text(fields.created),
  };
}

/** @param {unknown} value @returns {Volume | undefined} */
export function readVolume(value) {
  const fields = object(value);
  const id = text(fields.id);
  return id ? { id, attachedTo: text(fields.attachedTo), tags: readTags(fields.tags) } : undefined;
}

/**
 * Parses one page of a listing. Undefined if an entry is invalid: an incomplete listing is worse than an error.
 * @template T
 * @param {unknown} value
 * @param {string} field
 * @param {(entry: unknown) => T | undefined} read
 * @returns {{ entries: T[], next?: string } | undefined}
 */
export function readPage(value, field, read) {
  const page = object(value);
  if (!Array.isArray(page[field])) return undefined;
  const entries = [];
  for (const entry of page[field].map(read)) {
    if (entry === undefined) return undefined;
    entries.push(entry);
  }
  return { entries, next: text(page.nextCursor) || undefined };
}

/**
 * Returns the size of a type from the list of all. `null`: there is no such type.
 * @param {unknown} regions @param {string} type
 * @returns {{ cpus: number, memoryGib: number, gpus: number } | null | undefined}
 */
export function readSize(regions, type) {
  const { types } = object(regions);
  if (typeof types !== 'object' || types === null) return undefined;
  if (!(type in types)) return null;
  const { cpus, memoryGib, gpus = 0 } = object(/** @type {any} */ (types)[type]);
  const isSize = [cpus, memoryGib, gpus].every((number) => Number.isSafeInteger(number));
  return isSize ? /** @type {any} */ ({ cpus, memoryGib, gpus }) : undefined;
}

/** True until only its record is left. @param {CloudVm} vm */
export function exists(vm) {
  return vm.state !== 'terminated';
}

/** True if it has the cluster's mark. @param {{ tags: Tags }} thing @param {string} cluster */
export function isOf({ tags }, cluster) {
  return tags.get(CLUSTER_TAG) === cluster;
}

/** @param {unknown} value */
function readAddress(value) {
  const { type, address } = object(value);
  return typeof type === 'string' && typeof address === 'string' ? [{ kind: type, address }] : [];
}

/** @param {unknown} value @returns {Tags} */
function readTags(value) {
  return new Map(Object.entries(object(value)));
}

/** @param {unknown} value @returns {Record<string, unknown>} */
function object(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? /** @type {Record<string, unknown>} */ (value) : {};
}

/** @param {unknown} value @returns {unknown[]} */
function list(value) {
  return Array.isArray(value) ? value : [];
}

/** @param {unknown} value @returns {string | undefined} */
function text(value) {
  return typeof value === 'string' ? value : undefined;
}

/**
 * The fields of a class.
 */

/** @import { Class } from 'machinist-sdk' */

import { Fields, quoted } from 'machinist-sdk';

import { CLUSTER_TAG, NAME_TAG, UID_TAG } from './vm.js';

const FIELDS = ['zone', 'type', 'image', 'tags', 'volumes', 'initialize', 'interruptible'];
const VOLUME_FIELDS = ['sizeGib', 'name'];
const OWN_TAGS = [CLUSTER_TAG, UID_TAG, NAME_TAG];
/** The cloud allows 50 tags; the driver needs some of them. */
const MOST_TAGS = 50 - OWN_TAGS.length;
const TAG_KEY_BYTES = 128;
const TAG_VALUE_BYTES = 256;

/**
 * The properties of a VM.
 * @typedef {object} Spec
 * @property {string[]} zones At least one, best first.
 * @property {string} type
 * @property {string} image
 * @property {[string, string][]} tags
 * @property {{ sizeGib: number, name?: string }[]} volumes
 * @property {boolean} initialize True if `initialize` completes the VM.
 * @property {boolean} interruptible True if the VM may be taken away at any time. The driver only reports it.
 */

/**
 * Returns the body of a create. The same class, machine and user data always give the same body.
 * @param {Spec} spec
 * @param {{ name: string, zone: string, ownTags: Record<string, string>, userData: string | undefined }} vm
 */
export function bodyOf(spec, { name, zone, ownTags, userData }) {
  return {
    name,
    zone,
    type: spec.type,
    image: spec.image,
    tags: { ...Object.fromEntries(spec.tags), ...ownTags },
    userData,
    volumes: spec.volumes.length > 0 ? spec.volumes : undefined,
    needsInitialize: spec.initialize || undefined,
  };
}

/**
 * Reads a class. Unknown fields cause a warning, and null counts as absent.
 * @param {Class} machineClass
 * @returns {{ spec: Spec, warnings: string[] }}
 */
export function readSpec(machineClass) {
  const root = Fields.parse(machineClass.spec, 'providerSpec');
  const volumes = root.objects('volumes');
  const spec = {
    zones: zones(root, machineClass.zones),
    type: root.neededText('type'),
    image: root.neededText('image'),
    tags: root.entries('tags', 'an object of texts').map(([key, value]) => tag(root, key, value)),
    volumes: volumes.map((volume) => ({ sizeGib: volume.neededWholeNumber('sizeGib', { least: 1 }), name: volume.text('name') })),
    initialize: root.flag('initialize') ?? false,
    interruptible: root.flag('interruptible') ?? false,
  };
  if (spec.tags.length > MOST_TAGS) throw root.invalid('tags', `has ${spec.tags.length} entries: at most ${MOST_TAGS} fit`);
  const unknown = [...root.unknown(FIELDS), ...volumes.flatMap((volume) => volume.unknown(VOLUME_FIELDS))];
  return { spec, warnings: unknown.map((field) => `${field} is not a field and is ignored`) };
}

/**
 * Returns the `providerSpec` of a class in this zone and no other.
 * @param {Class} machineClass @param {string} zone
 */
export function placed(machineClass, zone) {
  readSpec({ ...machineClass, zones: [zone] });
  return { .../** @type {object} */ (JSON.parse(machineClass.spec)), zone };
}

/**
 * Reads the only field that matters once the VM exists. An unreadable class asks for nothing.
 * @param {Class} machineClass
 */
export function asksForInitialize({ spec }) {
  try {
    return Fields.parse(spec, 'providerSpec').flag('initialize') ?? false;
  } catch {
    return false;
  }
}

/** @param {Fields} root @param {string[]} alternatives */
function zones(root, alternatives) {
  const wanted = [root.text('zone') ?? '', ...alternatives].filter((zone) => zone !== '');
  if (wanted.length === 0) throw root.invalid('zone', 'is required');
  return [...new Set(wanted)];
}

/** @param {Fields} root @param {string} key @param {unknown} value @returns {[string, string]} */
function tag(root, key, value) {
  const at = `tags[${JSON.stringify(quoted(key))}]`;
  if (OWN_TAGS.includes(key)) throw root.invalid(at, 'is set by the driver: use another key');
  if (key === '' || bytes(key) > TAG_KEY_BYTES || key.includes(':')) {
    throw root.invalid(at, `must have a key of 1 to ${TAG_KEY_BYTES} bytes without a colon`);
  }
  if (typeof value === 'string' && bytes(value) <= TAG_VALUE_BYTES) return [key, value];
  throw root.unfit(at, `a text of at most ${TAG_VALUE_BYTES} bytes`, value);
}

/** @param {string} text */
function bytes(text) {
  return new TextEncoder().encode(text).length;
}

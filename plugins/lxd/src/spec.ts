/**
 * The fields of a class.
 */

import { type Class, invalidClass } from 'machinist-sdk';

import { hasDefault, parsedEndpoint } from './endpoint.js';
import { OWN_KEYS } from './marks.js';
import { isObject, type Objects, Reader } from './reader.js';

const FIELDS = ['endpoint', 'project', 'target', 'type', 'image', 'profiles', 'pool', 'rootSize', 'config', 'devices', 'userDataKey'];
const IMAGE_FIELDS = ['alias', 'fingerprint', 'server', 'protocol'];
const USER_DATA_KEYS = ['cloud-init.user-data', 'user.user-data'] as const;
/** Names of projects, pools, members and profiles, as LXD accepts them in paths and queries. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;
const TARGET = /^@?[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/;
const SIZE = /^[0-9]+(B|kB|MB|GB|TB|PB|EB|KiB|MiB|GiB|TiB|PiB|EiB)?$/;
export const DEFAULT_PROJECT = 'default';

/** Where the image is taken from: the server's own store, or another server that it asks. */
export interface Image {
  alias?: string;
  fingerprint?: string;
  server?: string;
  protocol?: string;
}

/** The properties of an instance. */
export interface Spec {
  project: string;
  /** A cluster member, or `@group`. */
  target?: string;
  type: 'container' | 'virtual-machine';
  image: Image;
  profiles: string[];
  config: Record<string, string>;
  devices: Record<string, Record<string, string>>;
  userDataKey: (typeof USER_DATA_KEYS)[number];
}

/** Reads a class. Reports all problems at once. */
export function readSpec(text: string, settings: string): { spec: Spec; warnings: string[] } {
  const root = new Reader('providerSpec', objectOf(text), [], []);
  root.warnUnknown(FIELDS);
  checkEndpoint(root, settings);
  const spec: Spec = {
    project: root.text('project', NAME, 'the name of a project') ?? DEFAULT_PROJECT,
    target: root.text('target', TARGET, 'a cluster member, or @ and a cluster group'),
    type: root.oneOf('type', ['container', 'virtual-machine'] as const) ?? 'container',
    image: image(root),
    profiles: profiles(root),
    config: config(root),
    devices: devices(root),
    userDataKey: root.oneOf('userDataKey', USER_DATA_KEYS) ?? 'cloud-init.user-data',
  };
  if (root.problems.length > 0) throw invalidClass(root.problems.join('; '));
  return { spec, warnings: root.warnings };
}

/** Returns the `providerSpec` of a class on this cluster member and no other. */
export function placed({ spec }: Class, member: string, settings: string): Objects {
  readSpec(spec, settings);
  if (!NAME.test(member))
    throw invalidClass(`the failure domain ${JSON.stringify(member)} is no cluster member: it must be the name of one`);
  return { ...objectOf(spec), target: member };
}

/**
 * Reads the only field that matters once the instance exists. An unreadable class means the default project; provider
 * ids and notes come before it.
 */
export function projectOf({ spec }: Class): string {
  try {
    const { project } = objectOf(spec);
    return typeof project === 'string' && NAME.test(project) ? project : DEFAULT_PROJECT;
  } catch {
    return DEFAULT_PROJECT;
  }
}

function objectOf(text: string): Objects {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidClass('providerSpec is not JSON: correct it');
  }
  if (value !== null && !isObject(value)) throw invalidClass('providerSpec must be an object');
  return value ?? {};
}

function checkEndpoint(root: Reader, settings: string) {
  const url = root.text('endpoint');
  if (url !== undefined && !parsedEndpoint(url)) root.unfit('endpoint', 'https://HOST:8443', url);
  if (root.get('endpoint') === undefined && !hasDefault(settings)) {
    root.invalid('endpoint', "is required, such as https://HOST:8443, since the plugin's settings name none");
  }
}

/** A text is the alias of an image. */
function image(root: Reader): Image {
  const value = root.get('image');
  if (value === undefined) {
    root.invalid('image', 'is required: {alias: debian-12}, or {fingerprint: …}');
    return {};
  }
  if (typeof value === 'string' && value !== '') return { alias: value };
  const fields = root.object('image');
  if (!fields) return {};
  fields.warnUnknown(IMAGE_FIELDS);
  const found: Image = {
    alias: fields.text('alias'),
    fingerprint: fields.text('fingerprint', /^[0-9a-f]{12,64}$/, '12 to 64 hexadecimal digits'),
    server: fields.text('server', /^https:\/\/[^\s?#@\\]+$/, 'https://HOST'),
    protocol: fields.oneOf('protocol', ['simplestreams', 'lxd', 'incus'] as const),
  };
  const named = ['alias', 'fingerprint'].filter((name) => fields.get(name) !== undefined);
  if (named.length !== 1) root.invalid('image', 'must have either alias or fingerprint');
  if (found.protocol !== undefined && found.server === undefined) root.invalid('image', 'has a protocol and no server');
  return found;
}

function profiles(root: Reader): string[] {
  const names = root.texts('profiles') ?? ['default'];
  for (const name of names) {
    if (/[/?#\s]/.test(name)) root.invalid('profiles', `has ${JSON.stringify(name)}, which is no name of a profile`);
  }
  return names;
}

function config(root: Reader): Record<string, string> {
  const pairs = root.plainValues('config');
  for (const [key] of pairs) {
    const at = `config[${JSON.stringify(key)}]`;
    if (OWN_KEYS.includes(key) || USER_DATA_KEYS.some((own) => own === key)) root.invalid(at, 'is set by the driver');
    else if (key.startsWith('volatile.')) root.invalid(at, 'is set by LXD itself');
    else if (!/^[a-z][A-Za-z0-9_.-]*\.[A-Za-z0-9_./-]+$/.test(key)) root.invalid(at, 'is no key of an instance, such as limits.cpu');
  }
  return Object.fromEntries(pairs);
}

function devices(root: Reader): Spec['devices'] {
  const all = root.object('devices');
  const found: Spec['devices'] = {};
  for (const name of all?.names() ?? []) {
    const device = all?.object(name);
    if (!device) continue;
    device.text('type') ?? device.invalid('type', 'is required, such as nic, disk or proxy');
    found[name] = Object.fromEntries(all?.plainValues(name) ?? []);
  }
  const [pool, size] = [root.text('pool', NAME, 'the name of a storage pool'), root.text('rootSize', SIZE, 'a size such as 20GiB')];
  if (size !== undefined && pool === undefined) root.invalid('rootSize', 'needs pool: the pool of the root disk');
  if (pool !== undefined) {
    if (found.root) root.invalid('pool', 'and devices.root are the same disk: name one of them');
    found.root = { type: 'disk', path: '/', pool, ...(size !== undefined && { size }) };
  }
  return found;
}

/**
 * Which instance belongs to which Machine: its name, and three keys of its configuration.
 *
 * An instance is named after its Machine and the Machine's uid. LXD refuses a second instance of a name in a project,
 * so there is never more than one for a uid, however often it is asked for. The driver touches no instance without the
 * cluster's mark.
 */

import { DriverError, type Request } from 'machinist-sdk';

import type { Instance } from './objects.js';

export const CLUSTER_KEY = 'user.machinist-cluster';
export const UID_KEY = 'user.machinist-uid';
export const NAME_KEY = 'user.machinist-name';
export const OWN_KEYS = [CLUSTER_KEY, UID_KEY, NAME_KEY];

const NAME_LENGTH = 63;
const HASH_LENGTH = 10;

/**
 * Returns the name of a Machine's instance, which is also the host name of the instance and the name of its Node. LXD
 * allows letters, digits and hyphens, and a letter first.
 */
export function instanceName({ cluster, machine }: Request): string {
  const plain = machine.name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^(?=[^a-z])/, 'm');
  const base = plain.slice(0, NAME_LENGTH - HASH_LENGTH - 1).replace(/-+$/, '');
  return `${base || 'm'}-${hash(`${cluster}\n${machine.uid}`)}`;
}

/** The marks of a new instance. */
export function marks({ cluster, machine }: Request): Record<string, string> {
  return { [CLUSTER_KEY]: cluster, [UID_KEY]: machine.uid, [NAME_KEY]: machine.name };
}

/** True if it has the cluster's mark. */
export function isOf({ config }: Instance, cluster: string) {
  return config[CLUSTER_KEY] === cluster;
}

/** True if it has the marks of the Machine. */
export function isOwn(instance: Instance, { cluster, machine }: Request) {
  return isOf(instance, cluster) && instance.config[UID_KEY] === machine.uid;
}

/** If the provider id leads to an instance, the name is enough: a Machine that was restored has another uid. */
export function belongs(instance: Instance, request: Request) {
  return isOwn(instance, request) || (isOf(instance, request.cluster) && instance.config[NAME_KEY] === request.machine.name);
}

/**
 * Refuses an instance with another cluster's mark (a control plane was moved) or without one (it may be anybody's):
 * both "there is none" and "it is removed" would be wrong. Another Machine's instance of this cluster is left alone.
 */
export function leaveAlone({ name, config }: Instance, { cluster, machine }: Request) {
  const mark = config[CLUSTER_KEY];
  if (mark === undefined || mark === '') {
    const own = `${CLUSTER_KEY}=${cluster} ${UID_KEY}=${machine.uid} ${NAME_KEY}=${machine.name}`;
    const text = `the instance ${name} carries no cluster's mark, left alone: if it is this Machine's, run lxc config set ${name} ${own}, else correct the Machine`;
    throw new DriverError('failed-precondition', text);
  }
  if (mark !== cluster) {
    const text = `the instance ${name} carries the mark of cluster ${mark}, left alone: start the host with --cluster-id=${mark}`;
    throw new DriverError('failed-precondition', text);
  }
}

/** FNV-1a with 64 bits, shortened: 40 bits beside the Machine's name. */
function hash(text: string): string {
  let value = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text)) {
    value = BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n);
  }
  return value.toString(16).padStart(16, '0').slice(-HASH_LENGTH);
}

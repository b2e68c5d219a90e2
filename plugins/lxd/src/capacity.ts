/**
 * The resources of a Node of a class: the limits of the class, else of its profiles, else the server's own.
 */

import { DriverError, type NodeResources } from 'machinist-sdk';

import type { Api } from './api.js';
import { isObject } from './reader.js';
import type { Spec } from './spec.js';

/** LXD's defaults of a VM without limits. */
const VM_CPUS = '1';
const VM_MEMORY = '1GiB';

const FACTORS: Record<string, number> = { '': 1, B: 1 };
for (const [index, letter] of ['k', 'M', 'G', 'T', 'P', 'E'].entries()) {
  FACTORS[`${letter}B`] = 1_000 ** (index + 1);
  FACTORS[`${letter === 'k' ? 'K' : letter}iB`] = 1_024 ** (index + 1);
}
/** The kernel's names of architectures, and the contract's. */
const ARCHITECTURES: Record<string, string> = { x86_64: 'amd64', aarch64: 'arm64', s390x: 's390x', ppc64le: 'ppc64le' };

export async function nodeResources(api: Api, spec: Spec): Promise<NodeResources> {
  const { cpus, memory, disk } = await limitsOf(api, spec);
  const member = spec.target?.startsWith('@') ? undefined : spec.target;
  const server = await api.resources(member);
  const cpu = cpus === undefined ? server.cpus : cpuCount(cpus);
  const bytes = memory === undefined ? server.memoryBytes : memoryBytes(memory, server.memoryBytes);
  const resources: Record<string, string> = { cpu: String(cpu), memory: String(bytes) };
  if (disk !== undefined) resources['ephemeral-storage'] = String(memoryBytes(disk, 0));
  return { resources, architecture: ARCHITECTURES[server.architecture ?? ''], operatingSystem: 'linux' };
}

/** Later profiles come before earlier ones, and the class before all of them. */
async function limitsOf(api: Api, spec: Spec) {
  let [cpus, memory]: (string | undefined)[] = [spec.config['limits.cpu'], spec.config['limits.memory']];
  let disk = rootSize(spec.devices);
  for (const name of [...spec.profiles].reverse()) {
    if (cpus !== undefined && memory !== undefined && disk !== undefined) break;
    const { config, devices } = await api.profile(spec.project, name);
    cpus ??= text(config['limits.cpu']);
    memory ??= text(config['limits.memory']);
    disk ??= rootSize(devices);
  }
  if (spec.type === 'virtual-machine') return { cpus: cpus ?? VM_CPUS, memory: memory ?? VM_MEMORY, disk };
  return { cpus, memory, disk };
}

function rootSize(devices: Record<string, unknown>): string | undefined {
  const root = Object.values(devices).find((device) => isObject(device) && device.type === 'disk' && device.path === '/');
  return isObject(root) ? text(root.size) : undefined;
}

/** A count, or a list of CPUs and ranges: `2`, `0-3`, `0,2`. */
export function cpuCount(limit: string): number {
  if (/^[1-9][0-9]*$/.test(limit)) return Number(limit);
  if (/^0*$/.test(limit)) throw invalid('limits.cpu', limit);
  let count = 0;
  for (const part of limit.split(',')) {
    const [, first, last = first] = /^\s*([0-9]+)(?:-([0-9]+))?\s*$/.exec(part) ?? [];
    if (first === undefined || Number(last) < Number(first)) throw invalid('limits.cpu', limit);
    count += Number(last) - Number(first) + 1;
  }
  return count;
}

/** Bytes with LXD's suffixes, or a share of the server's memory. */
export function memoryBytes(limit: string, total: number): number {
  const [, number, suffix = ''] = /^([0-9]+)(%|[A-Za-z]*)$/.exec(limit) ?? [];
  if (number !== undefined && suffix === '%' && total > 0) return Math.floor((total * Number(number)) / 100);
  const factor = FACTORS[suffix];
  const bytes = Number(number) * (factor ?? Number.NaN);
  if (!Number.isSafeInteger(bytes)) throw invalid('a size', limit);
  return bytes;
}

function invalid(what: string, limit: string) {
  return new DriverError('invalid-argument', `${what} of the class or its profiles is none that LXD knows: ${JSON.stringify(limit)}`);
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

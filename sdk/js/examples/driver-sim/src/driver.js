/**
 * The driver of the simulated cloud.
 *
 * | topic | module |
 * | --- | --- |
 * | the calls of the host | `driver` |
 * | the work of each call in the cloud | `machines` |
 * | the fields of a class | `spec` |
 * | the cloud's API and its objects | `api`, `vm` |
 * | the cloud's error codes | `refusal` |
 * | from the cloud's objects to the contract's types | `words` |
 * | the address of the cloud | `endpoint` |
 */

/** @import { About, Class, Host, ListRequest, NodeResources, Page, QuietHost, Request, Vm } from 'machinist-sdk' */

import { Driver, DriverError, quoted } from 'machinist-sdk';

import { version } from '../package.json';
import schema from './class-schema.json';
import { Api } from './api.js';
import { readEndpoint } from './endpoint.js';
import { Machines } from './machines.js';
import { placed, readSpec } from './spec.js';
import { resources, volumeId } from './words.js';

/** The name of the driver, and the only provider that it serves. */
const NAME = 'sim';
/** How long after a create reads of the cloud may not show the VM. */
const CONSISTENCY_WINDOW_MS = 10_000;

/** The driver of the simulated cloud. It has all capabilities of the contract. */
export class SimDriver extends Driver {
  /** @param {QuietHost} host @returns {About} */
  describe(host) {
    return {
      name: NAME,
      version,
      providers: [NAME],
      classSchema: schema,
      capabilities: ['status', 'initialize', 'listing', 'volumeIds', 'idempotencyKey'],
      consistencyWindowMs: CONSISTENCY_WINDOW_MS,
      hosts: wishes(host.settings),
    };
  }

  /** @param {Class} machineClass */
  validateClass(machineClass) {
    return readSpec(machineClass).warnings;
  }

  /** @param {Request} request @param {Host} host @returns {Promise<Vm>} */
  async create(request, host) {
    const machines = open(host);
    return machines.create(request, host.secrets.userData()?.placeholder('base64'));
  }

  /** @param {Request} request @param {Host} host @returns {Promise<Vm>} */
  async initialize(request, host) {
    return open(host).initialize(request);
  }

  /** @param {Request} request @param {Host} host */
  async delete(request, host) {
    await open(host).delete(request);
  }

  /** @param {Request} request @param {Host} host @returns {Promise<Vm>} */
  async getStatus(request, host) {
    return open(host).getStatus(request);
  }

  /** @param {ListRequest} request @param {Host} host @returns {Promise<Page>} */
  async list({ cluster, token }, host) {
    return open(host).list(cluster, token);
  }

  /** @param {string[]} volumeSpecs */
  getVolumeIds(volumeSpecs) {
    return volumeSpecs.map(volumeId);
  }

  /** @param {Request} request @param {Host} host */
  async reboot(request, host) {
    await open(host).reboot(request);
  }

  /** @param {Request} request @param {string} providerId @param {Host} host */
  async deleteById(request, providerId, host) {
    await open(host).deleteOne(request, providerId);
  }

  /** The kubelets of this cloud register with the driver's own ids. @param {Request} request @param {Vm} vm */
  nodeId(request, vm) {
    return vm.providerId;
  }

  /** @param {Class} machineClass @param {string} failureDomain */
  place(machineClass, failureDomain) {
    return placed(machineClass, failureDomain);
  }

  /** @param {Class} machineClass */
  isInterruptible(machineClass) {
    return readSpec(machineClass).spec.interruptible;
  }

  /** @param {Class} machineClass @param {Host} host @returns {Promise<NodeResources>} */
  async nodeCapacity(machineClass, host) {
    const { type } = readSpec(machineClass).spec;
    const size = await open(host).size(type);
    if (!size) throw new DriverError('not-found', `the cloud has no type ${quoted(type)}`);
    return resources(size);
  }
}

/** Reads the settings and gets a placeholder for the token. @param {Host} host */
function open(host) {
  const endpoint = readEndpoint(host.settings);
  const token = host.secrets.need('token', "the cloud's API token").placeholder();
  return new Machines(new Api(host.http, endpoint, `Bearer ${token}`), host.log);
}

/** `describe` must not fail, whatever the settings are. @param {string} settings */
function wishes(settings) {
  try {
    return [readEndpoint(settings).host];
  } catch {
    return [];
  }
}

/**
 * The work of each call in the cloud. A machine's VM has three tags: the cluster, the Machine's uid and its name. The
 * driver never touches a VM without the cluster's tag.
 */

/** @import { Log, Page, Request, Vm } from 'machinist-sdk' */
/** @import { Api } from './api.js' */
/** @import { CloudVm } from './vm.js' */

import { DriverError, quoted } from 'machinist-sdk';

import { asksForInitialize, bodyOf, readSpec } from './spec.js';
import { CLUSTER_TAG, exists, isOf, NAME_TAG, UID_TAG } from './vm.js';
import { listedFrom, partsOf, providerId, vmFrom } from './words.js';

/** The time until the next search for a VM that exists and that reads do not show yet. */
const LAG_RETRY_MS = 1_000;
const SHOWN_IDS = 5;

export class Machines {
  #api;
  #log;

  /** @param {Api} api @param {Log} log */
  constructor(api, log) {
    this.#api = api;
    this.#log = log;
  }

  /**
   * Sends one request in the normal case. The key makes repetitions safe, so no search comes first.
   * @param {Request} request
   * @param {string | undefined} userData
   * @returns {Promise<Vm>}
   */
  async create(request, userData) {
    const { spec } = readSpec(request.class);
    const { name, uid } = request.machine;
    const ownTags = { [CLUSTER_TAG]: request.cluster, [UID_TAG]: uid, [NAME_TAG]: name };
    let full;
    for (const zone of spec.zones) {
      try {
        return vmFrom(await this.#api.create(bodyOf(spec, { name, zone, ownTags, userData }), request.idempotencyKey));
      } catch (error) {
        const refused = /** @type {DriverError} */ (error);
        if (refused.cloudCode === 'idempotency_mismatch') return this.#adopt(request);
        if (refused.cloudCode !== 'capacity_exhausted') throw error;
        this.#log.info('zone has no room', { zone });
        full = refused;
      }
    }
    throw full?.saying(`${full.message}; asked for in ${spec.zones.join(', ')}`);
  }

  /**
   * An earlier create with another class, other user data or another zone made a VM with this key: it is the machine's.
   * @param {Request} request @returns {Promise<Vm>}
   */
  async #adopt(request) {
    const vm = await this.#only(request).catch((error) => {
      // From here on every error must say that there may be a VM.
      throw error instanceof DriverError ? error.with({ mayHaveHappened: true }) : error;
    });
    if (vm) {
      this.#log.info('VM of an earlier create adopted', { 'provider-id': providerId(vm) });
      return vmFrom(vm);
    }
    const text = "failed to create the VM: an earlier create made it with other parameters, and the cloud's reads do not show it yet";
    throw new DriverError('aborted', text, { cloudCode: 'idempotency_mismatch', retryAfterMs: LAG_RETRY_MS, mayHaveHappened: true });
  }

  /** Sends no request unless the class asks for it. @param {Request} request @returns {Promise<Vm>} */
  async initialize(request) {
    if (!asksForInitialize(request.class)) return notAskedFor(request);
    const id = partsOf(request.machine.providerId)?.id;
    if (id !== undefined) return this.#finish(id, request);
    const vm = await this.#only(request);
    if (!vm) throw notFound(request);
    return vm.initialized ? vmFrom(vm) : this.#finish(vm.id, request);
  }

  /** @param {string} id @param {Request} request */
  async #finish(id, request) {
    const vm = await this.#api.initialize(id);
    if (!vm) throw notFound(request);
    return vmFrom(vm);
  }

  /** Returns the state of the machine's VM. Changes nothing. @param {Request} request @returns {Promise<Vm>} */
  async getStatus(request) {
    const vm = await this.#locate(request);
    if (!vm) throw notFound(request);
    if (vm.state !== 'stopping' && !vm.initialized && asksForInitialize(request.class)) {
      const facts = { providerId: providerId(vm), nodeName: vm.name };
      throw new DriverError('uninitialized', `the VM ${vm.id} is made and not initialized yet`, facts);
    }
    return vmFrom(vm);
  }

  /** Returns the size of a type of VMs. `null`: there is no such type. @param {string} type */
  size(type) {
    return this.#api.size(type);
  }

  /** Restarts the machine's VM. A VM that is being deleted counts as none. @param {Request} request */
  async reboot(request) {
    const vm = await this.#locate(request);
    if (!vm || vm.state === 'stopping' || !(await this.#api.reboot(vm.id))) throw notFound(request);
  }

  /**
   * Finds the VM by id, else by uid. An id that leads to another Machine's VM leads nowhere; one that leads to another
   * cluster's VM, or to one without a mark, is refused.
   * @param {Request} request
   */
  async #locate(request) {
    const id = partsOf(request.machine.providerId)?.id;
    const vm = id === undefined ? undefined : await this.#api.get(id);
    if (vm && exists(vm)) {
      if (belongs(vm, request)) return vm;
      this.#leaveAlone(vm, request);
    }
    return this.#only(request);
  }

  /** Deletes every VM with the machine's marks, and volumes that no VM takes along. @param {Request} request */
  async delete(request) {
    const { cluster, machine } = request;
    const found = await this.#api.find(cluster, machine.uid);
    for (const vm of found.filter(({ state }) => state !== 'stopping')) await this.#api.delete(vm.id);
    const id = partsOf(machine.providerId)?.id;
    if (id !== undefined && !found.some((vm) => vm.id === id)) await this.#deleteById(id, request);
    for (const volume of await this.#api.volumes(cluster, machine.uid)) {
      // An attached volume is deleted with its VM. If not, it is free when the host calls again after the VM's end.
      if (volume.attachedTo === undefined) await this.#api.deleteVolume(volume.id);
    }
  }

  /**
   * Deletes a VM that the listing does not show. Reads are stale, so an unknown VM may exist: the order is not stale,
   * and the id is one that this driver returned.
   * @param {string} id
   * @param {Request} request
   */
  async #deleteById(id, request) {
    const vm = await this.#api.get(id);
    if (vm && (!exists(vm) || vm.state === 'stopping')) return;
    if (vm && !belongs(vm, request)) this.#leaveAlone(vm, request);
    else await this.#api.delete(id);
  }

  /** Deletes this VM and no other, with its volumes. @param {Request} request @param {string} providerId */
  async deleteOne(request, providerId) {
    const id = partsOf(providerId)?.id;
    if (id === undefined) throw new DriverError('invalid-argument', `${quoted(providerId)} is no id of this driver`);
    if (partsOf(request.machine.providerId)?.id === id) {
      throw new DriverError('failed-precondition', `the VM ${id} is the one that the Machine keeps, left alone`);
    }
    const vm = await this.#api.get(id);
    if (!vm || !exists(vm) || vm.state === 'stopping') return;
    if (isOf(vm, request.cluster)) await this.#api.delete(id);
    else this.#leaveAlone(vm, request);
  }

  /**
   * Leaves another machine's VM alone. Refuses one with another cluster's mark (a control plane was moved) or without a
   * mark (it may be anybody's): both "there is none" and "it is removed" would be wrong.
   * @param {CloudVm} vm @param {Request} request
   */
  #leaveAlone(vm, request) {
    this.#log.info("the provider id leads to another machine's VM, left alone", { vm: vm.id });
    const cluster = vm.tags.get(CLUSTER_TAG);
    if (cluster === undefined) {
      const text = `the VM ${vm.id} carries no cluster's mark, left alone: tag it if it is this Machine's, else correct the Machine`;
      throw new DriverError('failed-precondition', text);
    }
    if (cluster !== request.cluster) {
      const text = `the VM ${vm.id} carries the mark of cluster ${cluster}, left alone: start the host with --cluster-id=${cluster}`;
      throw new DriverError('failed-precondition', text);
    }
  }

  /** Returns one page of the cluster's VMs. @param {string} cluster @param {string} [token] @returns {Promise<Page>} */
  async list(cluster, token) {
    const { entries, next } = await this.#api.page(cluster, token);
    return { machines: entries.filter((vm) => exists(vm) && isOf(vm, cluster)).map(listedFrom), next };
  }

  /** Returns the VM with the Machine's uid that is not being deleted, else one that is. @param {Request} request */
  async #only({ cluster, machine }) {
    const vms = await this.#api.find(cluster, machine.uid);
    const working = vms.filter(({ state }) => state !== 'stopping');
    if (working.length > 1) {
      const ids = working.slice(0, SHOWN_IDS).map(({ id }) => id);
      throw new DriverError('out-of-range', `${working.length} VMs carry this Machine's uid: ${ids.join(', ')}; delete all but one`);
    }
    return working[0] ?? vms[0];
  }
}

/**
 * Returns the facts that are known without a request. In the same reconcile as the create the id may be unknown. The
 * answer is then that there is no such step, since reads may not show the VM yet.
 * @param {Request} request
 * @returns {Vm}
 */
function notAskedFor({ machine }) {
  const parts = partsOf(machine.providerId);
  if (!parts || machine.providerId === undefined) {
    throw new DriverError('unimplemented', 'nothing to initialize: the MachineClass does not ask for it (initialize in its providerSpec)');
  }
  return { providerId: machine.providerId, nodeName: machine.name, state: 'unknown', failureDomain: parts.zone };
}

/**
 * A Machine that was restored from a backup has another uid and the same name.
 *
 * A cloud with VMs of machine-controller-manager needs one more case: a VM without any cluster's mark, with the tags
 * that the plugin's settings adopt and the Machine's name. The class's own tags prove nothing: anyone who can write
 * classes chooses them.
 * @param {CloudVm} vm
 * @param {Request} request
 */
function belongs(vm, { cluster, machine }) {
  return isOf(vm, cluster) && (vm.tags.get(UID_TAG) === machine.uid || vm.tags.get(NAME_TAG) === machine.name);
}

/** @param {Request} request */
function notFound({ machine }) {
  return new DriverError('not-found', `there is no VM of Machine ${machine.name} with uid ${machine.uid}`);
}

/**
 * The driver of LXD and Incus: system containers and VMs of one server or cluster.
 *
 * | topic | module |
 * | --- | --- |
 * | the calls of the host | `driver` |
 * | how a Machine's instance comes to be and is found | `machines` |
 * | how it is removed | `removal` |
 * | names and marks: which instance belongs to which Machine | `marks` |
 * | the fields of a class | `spec`, `reader` |
 * | the resources of a Node of a class | `capacity` |
 * | the address of the server | `endpoint` |
 * | the requests, and LXD's objects | `api`, `objects` |
 * | LXD's errors | `refusal` |
 * | what one call tells the next | `progress` |
 */

import {
  type About,
  type Class,
  Driver,
  type Host,
  type InProgress,
  type ListRequest,
  type NodeResources,
  type Page,
  type QuietHost,
  type Request,
  type Vm,
} from 'machinist-sdk';

import { version } from '../package.json';
import { Api } from './api.js';
import { nodeResources } from './capacity.js';
import schema from './class-schema.json';
import { endpointOf, hostsOf } from './endpoint.js';
import { Machines } from './machines.js';
import { placed, readSpec } from './spec.js';
import { volumeId } from './volumes.js';

/** The name of the driver, and the only provider that it serves. */
const NAME = 'lxd';
/** LXD's reads are not stale; an instance is shown a moment after the order to make it was accepted. */
const CONSISTENCY_WINDOW_MS = 5_000;
/** The warning for a class with zones of the annotation. */
const UNTRIED_ZONES =
  'the zones of the annotation machinist.dev/zones are not tried: providerSpec.target names the cluster member, and without it LXD chooses';

export class LxdDriver extends Driver {
  override describe(host: QuietHost): About {
    return {
      name: NAME,
      version,
      providers: [NAME],
      classSchema: schema,
      // An instance's name is made from the Machine's uid and LXD keeps names unique: that is the key.
      capabilities: ['status', 'initialize', 'listing', 'volumeIds', 'idempotencyKey'],
      consistencyWindowMs: CONSISTENCY_WINDOW_MS,
      hosts: hostsOf(host.settings),
    };
  }

  override validateClass(machineClass: Class, host: QuietHost): string[] {
    const { warnings } = readSpec(machineClass.spec, host.settings);
    return machineClass.zones.length > 0 ? [...warnings, UNTRIED_ZONES] : warnings;
  }

  override async create(request: Request, host: Host): Promise<Vm | InProgress> {
    const { spec } = readSpec(request.class.spec, host.settings);
    return open(request.class, host).create(request, spec, () => host.secrets.userData()?.placeholder('json-escape'));
  }

  override async initialize(request: Request, host: Host): Promise<Vm> {
    return open(request.class, host).initialize(request);
  }

  override async delete(request: Request, host: Host) {
    return open(request.class, host).delete(request);
  }

  override async getStatus(request: Request, host: Host): Promise<Vm> {
    return open(request.class, host).getStatus(request);
  }

  override async list({ class: machineClass, cluster, token }: ListRequest, host: Host): Promise<Page> {
    return open(machineClass, host).list(machineClass, cluster, token);
  }

  override getVolumeIds(volumeSpecs: string[]) {
    return volumeSpecs.map(volumeId);
  }

  async reboot(request: Request, host: Host) {
    await open(request.class, host).reboot(request);
  }

  async deleteById(request: Request, providerId: string, host: Host) {
    await open(request.class, host).deleteOne(request, providerId);
  }

  /** No cloud controller manager serves LXD: the kubelet registers with the driver's own id. */
  nodeId(_request: Request, vm: Vm) {
    return vm.providerId;
  }

  place(machineClass: Class, failureDomain: string, host: QuietHost) {
    return placed(machineClass, failureDomain, host.settings);
  }

  async nodeCapacity(machineClass: Class, host: Host): Promise<NodeResources> {
    const { spec } = readSpec(machineClass.spec, host.settings);
    return nodeResources(api(machineClass, host), spec);
  }
}

function open(machineClass: Class, host: Host) {
  return new Machines(api(machineClass, host), host.log, () => host.remainingMs());
}

/**
 * Over TLS the host authenticates each request with the client certificate. It cannot over plain HTTP, which is for a
 * proxy that authenticates in its place.
 */
function api(machineClass: Class, host: Host) {
  const endpoint = endpointOf(machineClass.spec, host.settings);
  if (endpoint.isTls) {
    host.secrets.need('clientCert', 'the client certificate that LXD trusts, in PEM');
    host.secrets.need('clientKey', 'the key of the client certificate, in PEM');
  }
  return new Api(host.http, endpoint);
}

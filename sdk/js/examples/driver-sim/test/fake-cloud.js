/**
 * The simulated cloud as far as the driver's tests need it, by `tests/clouds/simcloud/API.md`: in memory, without a
 * clock.
 */

/** @import { CloudAnswer, CloudRequest } from 'machinist-sdk/mock' */

const TYPES = { 'sim.small': { cpus: 2, memoryGib: 4, gpus: 0 }, 'sim.gpu': { cpus: 8, memoryGib: 64, gpus: 1 } };
const LIVE = ['pending', 'running', 'stopping'];

export class FakeCloud {
  /** @type {Map<string, any>} */
  vms = new Map();
  /** @type {Map<string, any>} */
  volumes = new Map();
  /** Zones without room. @type {Set<string>} */
  full = new Set();
  /** Ids of VMs that reads do not show yet. @type {Set<string>} */
  hidden = new Set();
  token = 'sim-token';
  /**
   * Replaces answers: undefined keeps the cloud's own.
   * @type {(request: CloudRequest, answer: () => CloudAnswer) => CloudAnswer | undefined}
   */
  fault = () => undefined;
  #keys = new Map();
  #count = 0;

  /** @param {CloudRequest} request @returns {CloudAnswer} */
  answer = (request) => this.fault(request, () => this.#answer(request)) ?? this.#answer(request);

  get live() {
    return [...this.vms.values()].filter(({ state }) => state !== 'terminated');
  }

  /** Lets all VMs boot or shut down, and reads show everything. */
  complete() {
    this.hidden.clear();
    for (const vm of this.vms.values()) {
      if (vm.state === 'pending') vm.state = 'running';
      if (vm.state === 'stopping') vm.state = 'terminated';
    }
    for (const volume of this.volumes.values()) {
      if (this.vms.get(volume.attachedTo)?.state === 'terminated') this.volumes.delete(volume.id);
    }
  }

  /** @param {Record<string, string>} tags */
  addVolume(tags) {
    const volume = { id: `vol-${++this.#count}`, tags };
    this.volumes.set(volume.id, volume);
    return volume;
  }

  /** @param {CloudRequest} request @returns {CloudAnswer} */
  #answer(request) {
    if (request.headers.authorization !== `Bearer ${this.token}`) return refusal(401, 'unauthorized');
    const [, , kind, id, act] = request.url.pathname.split('/');
    if (kind === 'regions') return { body: { types: TYPES } };
    const things = kind === 'vms' ? this.vms : this.volumes;
    if (id === undefined) return request.method === 'POST' ? this.#create(request) : this.#list(request, kind, things);
    const thing = things.get(decodeURIComponent(id));
    const isShown = request.method !== 'GET' || !this.hidden.has(thing?.id);
    if (!thing || !isShown) return refusal(404, 'not_found');
    if (kind === 'volumes') return this.#deleteVolume(thing);
    return this.#ofVm(`${request.method} ${act ?? ''}`.trim(), thing);
  }

  /** @param {string} act @param {any} vm @returns {CloudAnswer} */
  #ofVm(act, vm) {
    switch (act) {
      case 'GET':
        return { body: vm };
      case 'DELETE':
        if (vm.state !== 'terminated') vm.state = 'stopping';
        return { status: 202, body: vm };
      case 'POST initialize':
        vm.initialized = true;
        return { body: vm };
      case 'POST reboot':
        if (vm.state !== 'running') return refusal(409, 'conflict');
        vm.bootId += 1;
        return { status: 202, body: vm };
      default:
        return refusal(404, 'not_found');
    }
  }

  /** @param {CloudRequest} request @returns {CloudAnswer} */
  #create(request) {
    const body = request.json();
    const key = request.headers['idempotency-key'];
    const used = this.#keys.get(key);
    if (used && used.text !== request.text()) return refusal(409, 'idempotency_mismatch');
    if (used) return this.vms.get(used.id)?.state === 'terminated' ? refusal(410, 'idempotency_gone') : { body: this.vms.get(used.id) };
    if (this.full.has(body.zone)) return refusal(409, 'capacity_exhausted');
    const id = `vm-${++this.#count}`;
    const addresses = [{ type: 'InternalIP', address: '10.0.0.1' }];
    const vm = {
      id,
      name: body.name,
      state: 'pending',
      zone: body.zone,
      addresses,
      tags: body.tags,
      userData: body.userData,
      initialized: !body.needsInitialize,
      bootId: 1,
      created: '2026-01-02T03:04:05Z',
    };
    this.vms.set(id, vm);
    this.#keys.set(key, { id, text: request.text() });
    for (const _ of body.volumes ?? []) Object.assign(this.addVolume(body.tags), { attachedTo: id });
    return { status: 201, body: vm };
  }

  /** @param {CloudRequest} request @param {string} kind @param {Map<string, any>} things @returns {CloudAnswer} */
  #list({ url }, kind, things) {
    const tags = url.searchParams.getAll('tag').map((tag) => tag.split(/:(.*)/s));
    const fits = (/** @type {any} */ thing) => tags.every(([key, value]) => thing.tags[key] === value) && !this.hidden.has(thing.id);
    const matching = [...things.values()].filter((thing) => fits(thing) && (kind === 'volumes' || LIVE.includes(thing.state)));
    const from = Number(url.searchParams.get('cursor') ?? 0);
    const to = from + Number(url.searchParams.get('limit'));
    return { body: { [kind]: matching.slice(from, to), nextCursor: to < matching.length ? String(to) : undefined } };
  }

  /** @param {any} volume @returns {CloudAnswer} */
  #deleteVolume(volume) {
    if (volume.attachedTo) return refusal(409, 'conflict');
    this.volumes.delete(volume.id);
    return { status: 202, body: {} };
  }
}

/** @param {number} status @param {string} code @param {Record<string, string>} [headers] @returns {CloudAnswer} */
export function refusal(status, code, headers) {
  return { status, headers, body: { code, message: 'because', requestId: 'req-1' } };
}

/**
 * LXD as far as the driver's tests need it, in memory: by the answers of LXD 5.0 (`tests/clouds/lxd`). Operations end
 * when one is waited for, or so many waits later as a test says.
 */

import type { CloudAnswer, CloudRequest } from 'machinist-sdk/mock';

interface Operation {
  id: string;
  location: string;
  /** Waits until it ends. */
  rounds: number;
  end: () => string | undefined;
  error?: string;
  isOver: boolean;
}

export interface FakeInstance {
  name: string;
  project: string;
  status: 'Running' | 'Stopped';
  isCreating: boolean;
  config: Record<string, string>;
  body: any;
  lastUsed: string;
  power?: string;
  location: string;
}

export const NEVER = '1970-01-01T00:00:00Z';

export class FakeLxd {
  instances = new Map<string, FakeInstance>();
  operations = new Map<string, Operation>();
  /** How many waits end before an operation does. */
  rounds = 0;
  /** The error of the next operation of an action. */
  failing: { create?: string; start?: string; stop?: string; delete?: string } = {};
  profiles: Record<string, object> = { default: { config: {}, devices: { root: { type: 'disk', path: '/', pool: 'default' } } } };
  location = 'lab-1';
  created = 0;
  #count = 0;
  /** Replaces answers: undefined keeps LXD's own. */
  fault: (request: CloudRequest, answer: () => CloudAnswer) => CloudAnswer | undefined = () => undefined;

  answer = (request: CloudRequest): CloudAnswer => this.fault(request, () => this.#answer(request)) ?? this.#answer(request);

  get live() {
    return [...this.instances.values()];
  }

  /** An instance of somebody else. */
  plant(name: string, config: Record<string, string>, status: FakeInstance['status'] = 'Running') {
    const body = { name, config };
    const instance: FakeInstance = {
      name,
      project: 'default',
      status,
      isCreating: false,
      config,
      body,
      lastUsed: '2026-01-02T03:04:05Z',
      power: 'RUNNING',
      location: this.location,
    };
    this.instances.set(`default/${name}`, instance);
    return instance;
  }

  #answer(request: CloudRequest): CloudAnswer {
    const { url, method } = request;
    const [, , kind, name, sub] = url.pathname.split('/');
    const project = url.searchParams.get('project') ?? 'default';
    if (kind === 'operations') return this.#wait(name!);
    if (kind === 'profiles') return name! in this.profiles ? sync(this.profiles[name!]) : refusal(404, 'Fetch profile: Profile not found');
    if (kind === 'resources') return sync({ cpu: { total: 8, architecture: 'x86_64' }, memory: { total: 32 * 2 ** 30 } });
    if (kind !== 'instances') return refusal(404, 'not found');
    if (name === undefined)
      return method === 'POST' ? this.#create(project, request.json(), url.searchParams.get('target')) : this.#list(project, url);
    const instance = this.instances.get(`${project}/${name}`);
    if (!instance) return refusal(404, 'Instance not found');
    if (method === 'GET') return sync(shown(instance));
    if (method === 'PUT' && sub === 'state') return this.#setState(instance, request.json().action);
    if (method === 'DELETE') return this.#delete(instance);
    return refusal(404, 'not found');
  }

  #create(project: string, body: any, target: string | null): CloudAnswer {
    const key = `${project}/${body.name}`;
    const known = this.instances.get(key);
    if (known) {
      const error = known.isCreating
        ? 'Instance is busy running a "create" operation'
        : 'Add instance info to the database: This "instances" entry already exists';
      return this.#operation(() => `Failed creating instance record: ${error}`);
    }
    const instance: FakeInstance = {
      name: body.name,
      project,
      status: 'Stopped',
      isCreating: true,
      config: body.config,
      body,
      lastUsed: NEVER,
      location: target ?? this.location,
    };
    this.instances.set(key, instance);
    this.created += 1;
    return this.#operation(() => {
      instance.isCreating = false;
      const error = this.#failure('create');
      if (error !== undefined) this.instances.delete(key);
      return error;
    }, instance.location);
  }

  #setState(instance: FakeInstance, action: string): CloudAnswer {
    return this.#operation(() => {
      if (instance.isCreating) return `Failed to create instance ${action} operation: Instance is busy running a "create" operation`;
      const failure = action === 'start' || action === 'stop' ? this.#failure(action) : undefined;
      if (failure !== undefined) return failure;
      if (action === 'start' && instance.status === 'Running') return 'The instance is already running';
      if (action === 'stop' && instance.status === 'Stopped') return 'The instance is already stopped';
      instance.status = action === 'stop' ? 'Stopped' : 'Running';
      instance.lastUsed = '2026-01-02T03:04:05Z';
      instance.power = instance.status === 'Running' ? 'RUNNING' : 'STOPPED';
      return undefined;
    }, instance.location);
  }

  #delete(instance: FakeInstance): CloudAnswer {
    if (instance.status === 'Running') return refusal(400, 'Instance is running');
    return this.#operation(() => {
      if (instance.isCreating) return 'Failed to create instance delete operation: Instance is busy running a "create" operation';
      const failure = this.#failure('delete');
      if (failure === undefined) this.instances.delete(`${instance.project}/${instance.name}`);
      return failure;
    }, instance.location);
  }

  #failure(action: keyof FakeLxd['failing']) {
    const error = this.failing[action];
    delete this.failing[action];
    return error;
  }

  #operation(end: () => string | undefined, location = this.location): CloudAnswer {
    const id = `00000000-0000-4000-8000-${String(++this.#count).padStart(12, '0')}`;
    const operation: Operation = { id, location, rounds: this.rounds, end, isOver: false };
    this.operations.set(id, operation);
    return {
      status: 202,
      body: { type: 'async', status: 'Operation created', operation: `/1.0/operations/${id}`, metadata: described(operation) },
    };
  }

  #wait(id: string): CloudAnswer {
    const operation = this.operations.get(id);
    if (!operation) return refusal(404, 'Operation not found');
    // All operations go on at the same time, whichever is waited for.
    for (const each of this.operations.values()) {
      if (each.rounds > 0) each.rounds -= 1;
      else this.#finish(each);
    }
    return sync(described(operation));
  }

  #finish(operation: Operation) {
    if (!operation.isOver) operation.error = operation.end();
    operation.isOver = true;
  }

  /** All operations end, and LXD forgets them, as it does after some seconds. */
  forgetOperations() {
    for (const operation of this.operations.values()) this.#finish(operation);
    this.operations.clear();
  }

  #list(project: string, url: URL): CloudAnswer {
    const filter = url.searchParams.get('filter') ?? '';
    const clauses = filter.split(' or ').map((clause) => clause.split(' eq '));
    const fits = (instance: FakeInstance) =>
      clauses.some(([key, value]) => {
        const own = key === 'name' ? instance.name : instance.config[key!.replace(/^config\./, '')];
        return own !== undefined && new RegExp(`^${value}$`, 'i').test(own);
      });
    const found = this.live.filter((instance) => instance.project === project && fits(instance));
    return sync(
      url.searchParams.get('recursion') === '0' ? found.map(({ name }) => `/1.0/instances/${name}?project=${project}`) : found.map(shown),
    );
  }
}

function shown({ name, status, config: own, lastUsed, power, location, project }: FakeInstance) {
  const config = { ...own, ...(power !== undefined && { 'volatile.last_state.power': power }) };
  const network = {
    lo: { addresses: [{ family: 'inet', address: '127.0.0.1', scope: 'local' }] },
    eth0: {
      addresses: [
        { family: 'inet', address: '10.1.2.3', scope: 'global' },
        { family: 'inet6', address: 'fe80::1', scope: 'link' },
      ],
    },
  };
  return {
    name,
    project,
    status,
    status_code: status === 'Running' ? 103 : 102,
    config,
    expanded_config: config,
    created_at: '2026-01-02T03:04:05.123456789Z',
    last_used_at: lastUsed,
    location,
    state: { network: status === 'Running' ? network : null },
  };
}

function described({ id, error, location, isOver }: Operation) {
  const status_code = isOver ? (error === undefined ? 200 : 400) : 103;
  return { id, class: 'task', status_code, err: error ?? '', location };
}

export function sync(metadata: unknown): CloudAnswer {
  return { body: { type: 'sync', status: 'Success', status_code: 200, metadata } };
}

export function refusal(status: number, error: string, headers?: Record<string, string>): CloudAnswer {
  return { status, headers, body: { type: 'error', status: '', status_code: 0, error_code: status, error, metadata: null } };
}

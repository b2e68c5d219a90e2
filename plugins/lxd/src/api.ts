/**
 * LXD's requests, one method each. LXD answers a change with an operation, which the driver polls in short steps.
 */

import { type Answer, Attempt, DriverError, type Http, type HttpRequest, NoAnswer } from 'machinist-sdk';

import type { Endpoint } from './endpoint.js';
import { CLUSTER_KEY, UID_KEY } from './marks.js';
import {
  type Instance,
  type Outcome,
  readInstance,
  readInstances,
  readNames,
  readOperation,
  readProfile,
  readResources,
} from './objects.js';
import { isObject } from './reader.js';
import { isClearNo, NO_OPERATION, NOT_FOUND, refusalOf, throttled, unless } from './refusal.js';

/** The host adds the client certificate to requests with this mark, and verifies the server's. */
const MARK = { 'machinist-auth': 'client-certificate' };
/** Follows the message of a failure of TLS: with serverCert no authority counts, so grants help only without it. */
const TLS_ADVICE = "; compare serverCert of the MachineClass's Secret with the server's certificate, and check the host's clock";

interface Body {
  name: string;
  type: string;
  source: object;
  profiles: string[];
  config: Record<string, string>;
  devices: object;
}

export class Api {
  constructor(
    private readonly http: Http,
    private readonly endpoint: Endpoint,
  ) {}

  /** Orders an instance. Returns LXD's operation, which fails if the name is taken. */
  async create(project: string, target: string | undefined, body: Body): Promise<string> {
    const attempt = this.change('create the instance');
    const query = { project, ...(target !== undefined && { target }) };
    return operation(attempt, await this.ask(attempt, 'POST', '/1.0/instances', query, body));
  }

  /** Orders a start, a stop or a restart. Returns the operation; undefined: there is no such instance. */
  async setState(project: string, name: string, action: 'start' | 'stop' | 'restart'): Promise<string | undefined> {
    const attempt = this.change(`${action} the instance`);
    // Without force LXD waits for the instance to shut down, which a broken one never does.
    const body = { action, timeout: -1, force: action !== 'start' };
    const answer = await unless([NOT_FOUND], this.ask(attempt, 'PUT', `/1.0/instances/${name}/state`, { project }, body));
    return answer === undefined ? undefined : operation(attempt, answer);
  }

  /** Orders the removal. Returns the operation; undefined: there is no such instance. */
  async remove(project: string, name: string): Promise<string | undefined> {
    const attempt = this.change('delete the instance');
    const answer = await unless([NOT_FOUND], this.ask(attempt, 'DELETE', `/1.0/instances/${name}`, { project }));
    return answer === undefined ? undefined : operation(attempt, answer);
  }

  /** Waits for an operation, at most for these seconds. */
  async wait(project: string, id: string, seconds: number): Promise<Outcome> {
    const attempt = this.read("wait for LXD's operation");
    const query = { project, timeout: String(seconds) };
    const answer = await unless([NO_OPERATION], this.ask(attempt, 'GET', `/1.0/operations/${id}/wait`, query));
    if (answer === undefined) return { is: 'forgotten' };
    return whole(attempt, readOperation(answer)).outcome;
  }

  /** Returns an instance with its addresses. Undefined: there is none. */
  async get(project: string, name: string): Promise<Instance | undefined> {
    const attempt = this.read('read the instance');
    const answer = await unless([NOT_FOUND], this.ask(attempt, 'GET', `/1.0/instances/${name}`, { project, recursion: '1' }));
    return answer === undefined ? undefined : whole(attempt, readInstance(answer));
  }

  /** Returns the instances with the marks of a cluster and a uid. */
  async find(project: string, cluster: string, uid: string): Promise<Instance[]> {
    const attempt = this.read('look for the instance');
    const filter = `config.${UID_KEY} eq ${pattern(uid)}`;
    const answer = await this.ask(attempt, 'GET', '/1.0/instances', { project, recursion: '1', filter });
    // LXD's filter is wider than what was asked for.
    return whole(attempt, readInstances(answer)).filter(({ config }) => config[CLUSTER_KEY] === cluster && config[UID_KEY] === uid);
  }

  /** Returns the names of all instances of a cluster, sorted, each once. */
  async names(project: string, cluster: string): Promise<string[]> {
    const attempt = this.read('list instances');
    const filter = `config.${CLUSTER_KEY} eq ${pattern(cluster)}`;
    const answer = await this.ask(attempt, 'GET', '/1.0/instances', { project, recursion: '0', filter });
    return [...new Set(whole(attempt, readNames(answer)))].sort();
  }

  /** Returns the instances of these names: LXD's filter is wider, and a server may ignore it. */
  async named(project: string, names: string[]): Promise<Instance[]> {
    const attempt = this.read('list instances');
    const filter = names.map((name) => `name eq ${name}`).join(' or ');
    const answer = await this.ask(attempt, 'GET', '/1.0/instances', { project, recursion: '1', filter });
    return whole(attempt, readInstances(answer)).filter(({ name }) => names.includes(name));
  }

  async profile(project: string, name: string) {
    const attempt = this.read(`read the profile ${name}`);
    return whole(attempt, readProfile(await this.ask(attempt, 'GET', `/1.0/profiles/${encodeURIComponent(name)}`, { project })));
  }

  /** Returns the resources of a server: of this cluster member, else of the one that answers. */
  async resources(member: string | undefined) {
    const attempt = this.read("read the server's resources");
    return whole(attempt, readResources(await this.ask(attempt, 'GET', '/1.0/resources', member === undefined ? {} : { target: member })));
  }

  private read(doing: string) {
    return new Attempt(this.http, { doing, host: this.endpoint.host, changes: false });
  }

  private change(doing: string) {
    return new Attempt(this.http, { doing, host: this.endpoint.host, changes: true });
  }

  /** Returns `metadata` of a success. */
  private async ask(attempt: Attempt, method: string, path: string, query: Record<string, string>, body?: object): Promise<unknown> {
    const search = Object.entries(query).map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
    const request: HttpRequest = {
      method,
      url: `${this.endpoint.base}${path}${search.length > 0 ? `?${search.join('&')}` : ''}`,
      headers: {
        accept: 'application/json',
        ...(this.endpoint.isTls && MARK),
        ...(body && { 'content-type': 'application/json' }),
      },
      body: body && JSON.stringify(body),
    };
    const received = await this.send(attempt, request);
    // A clear no, whoever says it: LXD, a proxy, or the host itself.
    if (received.status === 429) throw attempt.refused(received, refusalOf(received) ?? throttled(received));
    const answer = certain(() => attempt.json(received, refusalOf));
    if (!isObject(answer) || !('metadata' in answer)) throw attempt.unexpected("has no metadata: it is not LXD's");
    return answer.metadata;
  }

  private async send(attempt: Attempt, request: HttpRequest): Promise<Answer> {
    try {
      return await this.http.send(request);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      const failure = error.asDriverError(attempt);
      throw error.reason === 'tls' ? failure.saying(`${failure.message}${TLS_ADVICE}`) : failure;
    }
  }
}

/** A 500 in LXD's own known words is a clear no; any other may hide work that was done. */
function certain<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof DriverError && isClearNo(error) ? error.with({ mayHaveHappened: false }) : error;
  }
}

function operation(attempt: Attempt, answer: unknown): string {
  return whole(attempt, readOperation(answer)).id;
}

function whole<T>(attempt: Attempt, object: T | undefined): T {
  if (object === undefined) throw attempt.unexpected('lacks a field that its kind of object always has');
  return object;
}

/**
 * Returns a value for a filter. LXD reads it as a regular expression, and cuts it at blanks and quotes: any character
 * but letters, digits, `-` and `_` becomes a dot, which matches all. The driver compares again.
 */
function pattern(value: string): string {
  return [...value].map((character) => (/[A-Za-z0-9_-]/.test(character) ? character : '.')).join('');
}

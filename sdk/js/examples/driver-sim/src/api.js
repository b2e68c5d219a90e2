/**
 * The calls of the cloud's API, one method each. Reads may be stale; changes and idempotency keys are not.
 */

/** @import { Http, HttpRequest } from 'machinist-sdk' */
/** @import { Endpoint } from './endpoint.js' */
/** @import { CloudVm, Volume } from './vm.js' */

import { Attempt, DriverError } from 'machinist-sdk';

import { refusalOf } from './refusal.js';
import { CLUSTER_TAG, exists, isOf, readPage, readSize, readVm, readVolume, UID_TAG } from './vm.js';

/** Entries of one page: with every tag at its maximum length, a page stays below the host's limit of 4 MiB. */
const PAGE_ENTRIES = 200;
/** Pages of one search. No machine has this many VMs: a cloud that returns more pages is broken. */
const PAGES = 100;

export class Api {
  #http;
  #endpoint;
  #authorization;

  /** @param {Http} http @param {Endpoint} endpoint @param {string} authorization */
  constructor(http, endpoint, authorization) {
    this.#http = http;
    this.#endpoint = endpoint;
    this.#authorization = authorization;
  }

  /**
   * Creates a VM, or returns the one that was created with the key.
   * @param {object} body @param {string} idempotencyKey
   */
  async create(body, idempotencyKey) {
    const attempt = this.#change('create the VM');
    return whole(attempt, readVm(await this.#ask(attempt, 'POST', '/v1/vms', { body, idempotencyKey })));
  }

  /**
   * Returns a VM. Undefined: there is no such VM, or reads do not show it yet.
   * @param {string} id @returns {Promise<CloudVm | undefined>}
   */
  async get(id) {
    const attempt = this.#read('read the VM');
    const answer = await unlessAbsent(this.#ask(attempt, 'GET', `/v1/vms/${escaped(id)}`));
    return answer === undefined ? undefined : whole(attempt, readVm(answer));
  }

  /**
   * Completes the VM. May be repeated. Undefined: there is no such VM.
   * @param {string} id @returns {Promise<CloudVm | undefined>}
   */
  async initialize(id) {
    const attempt = this.#change('initialize the VM');
    const answer = await unlessAbsent(
      this.#ask(attempt, 'POST', `/v1/vms/${escaped(id)}/initialize`, { body: { sourceDestCheck: false } }),
    );
    return answer === undefined ? undefined : whole(attempt, readVm(answer));
  }

  /** Restarts the VM. False: there is no such VM. @param {string} id */
  async reboot(id) {
    const answer = await unlessAbsent(this.#ask(this.#change('reboot the VM'), 'POST', `/v1/vms/${escaped(id)}/reboot`));
    return answer !== undefined;
  }

  /** Deletes the VM. If it does not exist, that is success. @param {string} id */
  async delete(id) {
    await unlessAbsent(this.#ask(this.#change('delete the VM'), 'DELETE', `/v1/vms/${escaped(id)}`));
  }

  /** Deletes the volume. If it does not exist, that is success. @param {string} id */
  async deleteVolume(id) {
    await unlessAbsent(this.#ask(this.#change("delete the machine's volume"), 'DELETE', `/v1/volumes/${escaped(id)}`));
  }

  /**
   * Returns one page of the cluster's VMs that exist. A repeated cursor is an error: the listing would never end.
   * @param {string} cluster @param {string} [cursor]
   */
  async page(cluster, cursor) {
    const attempt = this.#read('list VMs');
    const page = await this.#page(attempt, vmList(`tag=${CLUSTER_TAG}:${escaped(cluster)}`, cursor), 'vms', readVm);
    if (page.next !== undefined && page.next === cursor) throw attempt.unexpected('repeats a cursor of its listing');
    return page;
  }

  /**
   * Returns the VMs of the cluster that exist and have this uid.
   * @param {string} cluster @param {string} uid @returns {Promise<CloudVm[]>}
   */
  async find(cluster, uid) {
    const vms = await this.#all('look for the VM', 'vms', readVm, (cursor) => vmList(marks(cluster, uid), cursor));
    // The cloud filters; a VM that passes wrongly is still not ours.
    return vms.filter((vm) => exists(vm) && isOf(vm, cluster) && vm.tags.get(UID_TAG) === uid);
  }

  /**
   * Returns the volumes of the cluster with this uid.
   * @param {string} cluster @param {string} uid @returns {Promise<Volume[]>}
   */
  async volumes(cluster, uid) {
    const target = (/** @type {string | undefined} */ cursor) => `/v1/volumes?${marks(cluster, uid)}&limit=${PAGE_ENTRIES}${at(cursor)}`;
    const volumes = await this.#all("look for the machine's volumes", 'volumes', readVolume, target);
    return volumes.filter((volume) => isOf(volume, cluster) && volume.tags.get(UID_TAG) === uid);
  }

  /** Returns the size of a type of VMs. `null`: there is no such type. @param {string} type */
  async size(type) {
    const attempt = this.#read('read the types of VMs');
    return whole(attempt, readSize(await this.#ask(attempt, 'GET', '/v1/regions'), type));
  }

  /** @param {string} doing */
  #read(doing) {
    return new Attempt(this.#http, { doing, host: this.#endpoint.host, changes: false });
  }

  /** @param {string} doing */
  #change(doing) {
    return new Attempt(this.#http, { doing, host: this.#endpoint.host, changes: true });
  }

  /**
   * * Returns the body of a success.
   * @param {Attempt} attempt
   * @param {string} method
   * @param {string} target Path and query.
   * @param {{ body?: object, idempotencyKey?: string }} [more]
   */
  async #ask(attempt, method, target, { body, idempotencyKey } = {}) {
    /** @type {HttpRequest} */
    const request = {
      method,
      url: `${this.#endpoint.base}${target}`,
      headers: {
        accept: 'application/json',
        authorization: this.#authorization,
        ...(body && { 'content-type': 'application/json' }),
        ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
      },
      body: body && JSON.stringify(body),
    };
    return attempt.json(await attempt.send(request), refusalOf);
  }

  /**
   * @template T
   * @param {Attempt} attempt
   * @param {string} target
   * @param {string} field
   * @param {(entry: unknown) => T | undefined} read
   */
  async #page(attempt, target, field, read) {
    const page = readPage(await this.#ask(attempt, 'GET', target), field, read);
    if (!page) throw attempt.unexpected('is not a listing');
    return page;
  }

  /**
   * @template T
   * @param {string} doing
   * @param {string} field
   * @param {(entry: unknown) => T | undefined} read
   * @param {(cursor: string | undefined) => string} target
   */
  async #all(doing, field, read, target) {
    const attempt = this.#read(doing);
    /** @type {T[]} */
    const entries = [];
    /** @type {string[]} */
    const cursors = [];
    for (;;) {
      const page = await this.#page(attempt, target(cursors.at(-1)), field, read);
      entries.push(...page.entries);
      if (page.next === undefined) return entries;
      if (cursors.includes(page.next)) throw attempt.unexpected('repeats a cursor of its listing');
      if (cursors.length >= PAGES) throw attempt.unexpected('is a listing without end');
      cursors.push(page.next);
    }
  }
}

/** @template T @param {Attempt} attempt @param {T | undefined} object @returns {T} */
function whole(attempt, object) {
  if (object === undefined) throw attempt.unexpected('lacks a field that its kind of object always has');
  return object;
}

/** Only the cloud's own `not_found` is an answer. @param {Promise<unknown>} answer @returns {Promise<unknown>} */
async function unlessAbsent(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DriverError && error.cloudCode === 'not_found') return undefined;
    throw error;
  }
}

/** @param {string} filter @param {string | undefined} cursor */
function vmList(filter, cursor) {
  return `/v1/vms?${filter}&state=pending&state=running&state=stopping&limit=${PAGE_ENTRIES}${at(cursor)}`;
}

/** @param {string} cluster @param {string} uid */
function marks(cluster, uid) {
  return `tag=${CLUSTER_TAG}:${escaped(cluster)}&tag=${UID_TAG}:${escaped(uid)}`;
}

/** @param {string | undefined} cursor */
function at(cursor) {
  return cursor === undefined ? '' : `&cursor=${escaped(cursor)}`;
}

/** Escapes a segment of a path or a value of a query. @param {string} text */
function escaped(text) {
  return encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}

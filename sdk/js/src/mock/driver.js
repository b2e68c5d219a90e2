/**
 * A driver under test. Each call takes the same path as in a component, including the conversion to the contract's
 * types; only the host is a mock.
 */

/** @import * as Wit from 'machinist:provider/types@0.1.0' */
/** @import { Class, Level, NodeResources, RawHost, Request, Vm, WireRequest } from '../contract.js' */
/** @import { Driver } from '../driver/driver.js' */
/** @import { Cloud } from './cloud.js' */
/** @import { GrantsText } from './grants.js' */

import { InProgress } from '../driver/driver.js';
import { DriverError } from '../error.js';
import { requestTo } from '../driver/host-words.js';
import { serve } from '../driver/serve.js';
import { NoAnswer } from '../http/no-answer.js';
import { answering, CloudRequest, wired } from './cloud.js';
import { utf8 } from './encode.js';
import { Grants } from './grants.js';
import { substituted } from './substitute.js';
import { Vault } from './vault.js';

const CALL_MS = 60_000;

/**
 * The surroundings of a driver. Tests may change them between calls.
 * @typedef {object} Surroundings
 * @property {Cloud} [cloud] By default no request has an answer.
 * @property {Record<string, string>} [secrets] Without user data.
 * @property {string} [userData] Seen by `create` and `initialize`.
 * @property {object | string} [settings]
 * @property {GrantsText} [grants] By default everything is granted.
 * @property {number} [remainingMs] The time left for each call.
 * @property {Level} [logLevel] The mock drops lines below it. By default `trace`.
 */

/** @type {Level[]} */
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'];

export class MockDriver {
  #author;
  #answer;

  /** @param {Driver} author @param {Surroundings} [surroundings] */
  constructor(author, surroundings = {}) {
    this.#author = author;
    this.surroundings = surroundings;
    this.#answer = answering(surroundings.cloud ?? []);
    /** Requests as the driver sent them: with placeholders. @type {WireRequest[]} */
    this.sent = [];
    /** Requests as they reached the cloud: with secrets. @type {CloudRequest[]} */
    this.arrived = [];
    /** @type {{ level: Level, message: string, fields: Record<string, string> }[]} */
    this.lines = [];
  }

  async describe() {
    return this.#call(false, ({ driver }) => driver.describe());
  }

  /** @param {Class} machineClass */
  async validateClass(machineClass) {
    return this.#call(false, ({ driver }) => driver.validateClass(machineClass));
  }

  /** @param {Request} request @returns {Promise<Wit.Vm | InProgress>} */
  async create(request) {
    const creation = await this.#call(true, ({ driver }) => driver.create(requestTo(request)));
    return creation.tag === 'in-progress' ? progress(creation.val) : creation.val;
  }

  /** @param {Request} request */
  async initialize(request) {
    return this.#call(true, ({ driver }) => driver.initialize(requestTo(request)));
  }

  /** @param {Request} request @returns {Promise<{ lastKnownState?: string } | InProgress>} */
  async delete(request) {
    const deletion = await this.#call(false, ({ driver }) => driver.delete(requestTo(request)));
    return deletion.tag === 'in-progress' ? progress(deletion.val) : { lastKnownState: deletion.val };
  }

  /** @param {Request} request */
  async getStatus(request) {
    return this.#call(false, ({ driver }) => driver.getStatus(requestTo(request)));
  }

  /** @param {{ class: Class, cluster: string, token?: string }} request */
  async list({ class: machineClass, cluster, token }) {
    const { machines, next } = await this.#call(false, ({ driver }) => driver.list(machineClass, cluster, token));
    return { machines: machines.map(({ createdAtMs, ...rest }) => ({ ...rest, createdAtMs: optional(createdAtMs) })), next };
  }

  /** @param {string[]} volumeSpecs */
  async getVolumeIds(volumeSpecs) {
    return this.#call(false, ({ driver }) => driver.getVolumeIds(volumeSpecs));
  }

  /** @param {Request} request */
  async reboot(request) {
    return this.#call(false, ({ reboot }) => reboot.reboot(requestTo(request)));
  }

  /** @param {Request} request @param {string} providerId */
  async deleteById(request, providerId) {
    return this.#call(false, ({ deleteById }) => deleteById.deleteById(requestTo(request), providerId));
  }

  /** @param {Request} request @param {Vm} vm */
  async nodeId(request, vm) {
    return this.#call(false, ({ nodeId }) => nodeId.nodeId(requestTo(request), { addresses: [], conditions: [], ...vm }));
  }

  /** @param {Class} machineClass @param {string} failureDomain @returns {Promise<any>} */
  async place(machineClass, failureDomain) {
    return JSON.parse(await this.#call(false, ({ placement }) => placement.place(machineClass, failureDomain)));
  }

  /** @param {Class} machineClass */
  async isInterruptible(machineClass) {
    return this.#call(false, ({ interruption }) => interruption.isInterruptible(machineClass));
  }

  /** @param {Class} machineClass @returns {Promise<NodeResources>} */
  async nodeCapacity(machineClass) {
    const { resources, ...platform } = await this.#call(false, ({ capacity }) => capacity.nodeCapacity(machineClass));
    return { resources: Object.fromEntries(resources), ...platform };
  }

  /**
   * @template T
   * @param {boolean} hasUserData
   * @param {(exports: ReturnType<typeof serve>) => Promise<T>} act
   * @returns {Promise<T>}
   */
  async #call(hasUserData, act) {
    try {
      return await act(serve(this.#author, this.#host(hasUserData)));
    } catch (error) {
      throw isOfContract(error) ? errorFrom(error) : error;
    }
  }

  /** The host of one call, with the secrets of this call. @param {boolean} hasUserData @returns {RawHost} */
  #host(hasUserData) {
    const { secrets = {}, userData, settings = {}, remainingMs = CALL_MS, logLevel = 'trace' } = this.surroundings;
    const grants = new Grants(this.surroundings.grants);
    const vault = new Vault({
      secrets: Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, utf8(value)])),
      userData: hasUserData && userData !== undefined ? utf8(userData) : undefined,
      isGranted: (key) => grants.hasSecret(key),
      reveals: grants.reveals,
    });
    return {
      log: {
        enabled: (level) => LEVELS.indexOf(level) >= LEVELS.indexOf(logLevel),
        emit: (level, message, fields) => {
          if (LEVELS.indexOf(level) >= LEVELS.indexOf(logLevel)) this.lines.push({ level, message, fields: Object.fromEntries(fields) });
        },
      },
      settings: () => (typeof settings === 'string' ? settings : JSON.stringify(settings)),
      remainingMs: () => BigInt(remainingMs),
      secrets: vault.handles,
      wire: { send: (request) => this.#carry(request, vault, grants) },
    };
  }

  /** @param {WireRequest} request @param {Vault} vault @param {Grants} grants */
  async #carry(request, vault, grants) {
    this.sent.push(request);
    const arrived = new CloudRequest(substituted(request, vault, grants));
    this.arrived.push(arrived);
    const answer = wired(await this.#answer(arrived));
    if (answer.body.length > request.answerBytes) throw new NoAnswer('answer-too-large', arrived.url.hostname);
    return answer;
  }
}

/** @param {Wit.Progress} progress */
function progress({ askAgainMs, ...rest }) {
  return new InProgress({ ...rest, askAgainMs: Number(askAgainMs) });
}

/** @param {unknown} error @returns {error is Wit.DriverError} */
function isOfContract(error) {
  return typeof error === 'object' && error !== null && 'code' in error && 'mayHaveHappened' in error && !(error instanceof Error);
}

/** @param {Wit.DriverError} error */
function errorFrom({ code, message, retryAfterMs, ...facts }) {
  return new DriverError(code, message, { ...facts, retryAfterMs: optional(retryAfterMs) });
}

/** @param {bigint | undefined} number */
function optional(number) {
  return number === undefined ? undefined : Number(number);
}

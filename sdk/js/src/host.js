/**
 * The host, as a driver sees it.
 */

/** @import { Level, RawHost } from './contract.js' */

import { Defect } from './error.js';
import { Http } from './http/request.js';
import { Secrets } from './secrets.js';

/** The log of a call. `message` is a static text; put all values that vary into `fields`. */
export class Log {
  #raw;

  /** @param {RawHost['log']} raw */
  constructor(raw) {
    this.#raw = raw;
  }

  /** False if the host drops this level. @param {Level} level */
  isEnabled(level) {
    return this.#raw.enabled(level);
  }

  /** @param {string} message @param {Record<string, unknown>} [fields] */
  trace(message, fields) {
    this.#emit('trace', message, fields);
  }

  /** @param {string} message @param {Record<string, unknown>} [fields] */
  debug(message, fields) {
    this.#emit('debug', message, fields);
  }

  /** @param {string} message @param {Record<string, unknown>} [fields] */
  info(message, fields) {
    this.#emit('info', message, fields);
  }

  /** @param {string} message @param {Record<string, unknown>} [fields] */
  warn(message, fields) {
    this.#emit('warn', message, fields);
  }

  /** @param {string} message @param {Record<string, unknown>} [fields] */
  error(message, fields) {
    this.#emit('error', message, fields);
  }

  /** @param {Level} level @param {string} message @param {Record<string, unknown>} [fields] */
  #emit(level, message, fields = {}) {
    this.#raw.emit(
      level,
      message,
      Object.entries(fields).map(([name, value]) => [name, String(value)]),
    );
  }
}

/** The host of every call. */
export class QuietHost {
  #raw;

  /** @param {RawHost} raw */
  constructor(raw) {
    this.#raw = raw;
    this.log = new Log(raw.log);
  }

  /** The operator's settings beside the plugin: a JSON object, as text. `Fields.parse` reads it. */
  get settings() {
    return this.#raw.settings();
  }

  /** Returns the milliseconds until the host ends this call. */
  remainingMs() {
    return Number(this.#raw.remainingMs());
  }
}

/** The host of calls about machines, with secrets and network. */
export class Host extends QuietHost {
  /** @param {RawHost} raw */
  constructor(raw) {
    super(raw);
    this.secrets = new Secrets(raw.secrets);
    this.http = new Http(raw.wire, () => this.remainingMs());
  }
}

/**
 * Returns the host of a call without secrets and network. Types deny both; this host throws for authors who do not
 * check types.
 * @param {RawHost} raw
 * @param {string} call
 */
export function quietHost(raw, call) {
  const refused = (/** @type {string} */ what) => () => {
    throw new Defect(`${call} has no ${what}: use them in a call about a machine`);
  };
  return Object.defineProperties(new QuietHost(raw), {
    secrets: { get: refused('secrets') },
    http: { get: refused('network') },
  });
}

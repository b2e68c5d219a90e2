/**
 * What a driver's call gets from the host.
 */

/** @import { Level, RawHost } from './contract.js' */

import { Defect } from './error.js';
import { Http } from './http.js';
import { Secrets } from './secrets.js';

/** Lines for the log. `message` is a static text; what varies goes into `fields`. */
export class Log {
  #raw;

  /** @param {RawHost['log']} raw */
  constructor(raw) {
    this.#raw = raw;
  }

  /** False when the host drops this level anyway. @param {Level} level */
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

/** What every call gets. */
export class QuietHost {
  #raw;

  /** @param {RawHost} raw */
  constructor(raw) {
    this.#raw = raw;
    this.log = new Log(raw.log);
  }

  /** What the operator wrote beside the plugin: a JSON object, as text. `Fields.parse` reads it. */
  get settings() {
    return this.#raw.settings();
  }

  /** Milliseconds until the host ends this call. */
  remainingMs() {
    return Number(this.#raw.remainingMs());
  }
}

/** What calls about machines get: the cloud as well. */
export class Host extends QuietHost {
  /** @param {RawHost} raw */
  constructor(raw) {
    super(raw);
    this.secrets = new Secrets(raw.secrets);
    this.http = new Http(raw.wire, () => this.remainingMs());
  }
}

/**
 * What a call gets that has neither secrets nor network. Types say so; this is for those who do not look at them.
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

/**
 * Secrets as handles. The values stay in the host.
 */

/** @import { Encoding, RawHost, RawSecret, Refusal } from './contract.js' */

import { DriverError } from './error.js';
import { hasPayload } from './payload.js';

/** A secret that can be sent and not seen. */
export class Secret {
  #raw;

  /** @param {string} key @param {RawSecret} raw */
  constructor(key, raw) {
    this.key = key;
    this.#raw = raw;
  }

  /** Bytes of the value, before any encoding. */
  get length() {
    return Number(this.#raw.length());
  }

  /** Only user data answers, and only for the first 64 bytes. @param {string | Uint8Array} prefix */
  startsWith(prefix) {
    return this.#raw.startsWith(typeof prefix === 'string' ? new TextEncoder().encode(prefix) : prefix);
  }

  /**
   * Letters and digits that stand for the encoded value in requests of this call. Worthless outside of the host.
   * @param {...Encoding} encodings Applied in this order; none leaves the value as it is.
   */
  placeholder(...encodings) {
    return this.#ask(() => this.#raw.placeholder(encodings.length > 0 ? encodings : ['plain']));
  }

  /** The value itself. Refused unless the operator granted `reveal` for this key. */
  reveal() {
    return this.#ask(() => this.#raw.reveal());
  }

  /** @template T @param {() => T} question @returns {T} */
  #ask(question) {
    try {
      return question();
    } catch (error) {
      if (!hasPayload(error)) throw error;
      throw new DriverError('failed-precondition', this.#explanation(/** @type {Refusal} */ (error.payload)));
    }
  }

  /** @param {Refusal} refusal */
  #explanation(refusal) {
    switch (refusal) {
      case 'not-granted':
        return `the secret ${this.key} is not granted: add ${this.key} with its places to secrets in the plugin's grants`;
      case 'encodings':
        return `the secret ${this.key} cannot be encoded like this: it is too large, or the encodings do not fit`;
      case 'too-many':
        return `the secret ${this.key} has too many placeholders in one call`;
    }
  }
}

/** The secrets of the running call. */
export class Secrets {
  #raw;

  /** @param {RawHost['secrets']} raw */
  constructor(raw) {
    this.#raw = raw;
  }

  /** The keys of the Secret, sorted, without user data. */
  keys() {
    return this.#raw.keys();
  }

  /** Undefined when there is no such key. @param {string} key */
  open(key) {
    const raw = this.#raw.open(key);
    return raw && new Secret(key, raw);
  }

  /**
   * The same for a key that the driver cannot do without.
   * @param {string} key
   * @param {string} what For the message: what belongs there, such as "the cloud's API token".
   */
  need(key, what) {
    const secret = this.open(key);
    if (secret) return secret;
    throw new DriverError('unauthenticated', `the MachineClass's Secret has no key ${key}: add ${what}`, { terminal: true });
  }

  /** What the machine gets at boot. Present in `create` and `initialize`. */
  userData() {
    const raw = this.#raw.userData();
    return raw && new Secret('userData', raw);
  }
}

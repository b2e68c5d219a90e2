/**
 * Secrets as handles. Their values stay in the host.
 */

/** @import { Encoding, RawHost, RawSecret, Refusal } from './contract.js' */

import { DriverError } from './error.js';
import { hasPayload } from './http/payload.js';

/** A secret that a driver can send and not see. */
export class Secret {
  #raw;

  /** @param {string} key @param {RawSecret} raw */
  constructor(key, raw) {
    this.key = key;
    this.#raw = raw;
  }

  /** The length of the value in bytes, before any encoding. */
  get length() {
    return Number(this.#raw.length());
  }

  /**
   * True if user data starts with this prefix (at most 64 bytes are compared). Always false for a credential.
   * @param {string | Uint8Array} prefix
   */
  startsWith(prefix) {
    return this.#raw.startsWith(typeof prefix === 'string' ? new TextEncoder().encode(prefix) : prefix);
  }

  /**
   * Returns letters and digits that represent the encoded value in requests of this call. Worthless outside of the
   * host.
   * @param {...Encoding} encodings Applied in this order; none keeps the value unchanged.
   */
  placeholder(...encodings) {
    return this.#ask(() => this.#raw.placeholder(encodings.length > 0 ? encodings : ['plain']));
  }

  /** Returns the value itself. The host refuses unless the operator granted `reveal` for this key. */
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

  /** Returns the keys of the Secret, sorted, without user data. */
  keys() {
    return this.#raw.keys();
  }

  /** Returns a secret; undefined if there is no such key. @param {string} key */
  open(key) {
    const raw = this.#raw.open(key);
    return raw && new Secret(key, raw);
  }

  /**
   * Returns the secret of a required key.
   * @param {string} key
   * @param {string} what Describes the value in the message, such as "the cloud's API token".
   */
  need(key, what) {
    const secret = this.open(key);
    if (secret) return secret;
    throw new DriverError('unauthenticated', `the MachineClass's Secret has no key ${key}: add ${what}`, { terminal: true });
  }

  /** Returns the machine's data at boot. Present in `create` and `initialize` only. */
  userData() {
    const raw = this.#raw.userData();
    return raw && new Secret('userData', raw);
  }
}

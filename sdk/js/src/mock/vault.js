/**
 * The secrets of one call, as the host keeps them: the driver sees placeholders, and the fake cloud values.
 */

/** @import { Encoding, RawHost, RawSecret, Refusal } from '../contract.js' */

import { encoded } from './encode.js';

const PREFIX = 'x0machinist0secret0x';
const DIGITS = 25;
const PLACEHOLDER = new RegExp(`${PREFIX}[a-z0-9]{0,${DIGITS}}`, 'g');
const PLACEHOLDERS_PER_CALL = 256;
const ENCODINGS_PER_PLACEHOLDER = 4;
const PREFIX_BYTES = 64;

/** Returns the number of placeholders in a text. @param {string} text */
export function countPlaceholders(text) {
  return text.match(PLACEHOLDER)?.length ?? 0;
}

/** @typedef {{ key: string, value: Uint8Array, issued: string }} Issued */

export class Vault {
  /** @type {Map<string, Issued>} */
  #issued = new Map();
  #secrets;
  #userData;
  #isGranted;
  #reveals;

  /**
   * @param {object} contents
   * @param {Record<string, Uint8Array>} contents.secrets
   * @param {Uint8Array | undefined} contents.userData
   * @param {(key: string) => boolean} contents.isGranted
   * @param {readonly string[]} contents.reveals Keys for which the operator granted `reveal`.
   */
  constructor({ secrets, userData, isGranted, reveals }) {
    this.#secrets = secrets;
    this.#userData = userData;
    this.#isGranted = isGranted;
    this.#reveals = reveals;
  }

  /** The handles that the driver sees. @returns {RawHost['secrets']} */
  get handles() {
    return {
      keys: () => Object.keys(this.#secrets).sort(),
      open: (key) => (Object.hasOwn(this.#secrets, key) ? this.#handle(key, this.#secrets[key]) : undefined),
      userData: () => this.#userData && this.#handle('userData', this.#userData),
    };
  }

  /**
   * Returns a text with values instead of placeholders. `take` receives the key and the value of each, and may throw.
   * Placeholders that this call does not know have no key.
   * @param {string} text
   * @param {(key: string | undefined, value: Uint8Array) => string} take
   */
  fill(text, take) {
    return text.replace(PLACEHOLDER, (token) => {
      const issued = [...this.#issued.values()].find((entry) => entry.issued === token);
      return take(issued?.key, issued?.value ?? new Uint8Array());
    });
  }

  /** @param {string} key @param {Uint8Array} value @returns {RawSecret} */
  #handle(key, value) {
    return {
      length: () => BigInt(value.length),
      startsWith: (prefix) => key === 'userData' && prefix.slice(0, PREFIX_BYTES).every((byte, at) => byte === value[at]),
      placeholder: (encodings) => this.#placeholder(key, value, encodings),
      reveal: () => {
        if (!this.#reveals.includes(key)) throw refused('not-granted');
        return value.slice();
      },
    };
  }

  /** @param {string} key @param {Uint8Array} value @param {Encoding[]} encodings */
  #placeholder(key, value, encodings) {
    if (!this.#isGranted(key)) throw refused('not-granted');
    if (encodings.length > ENCODINGS_PER_PLACEHOLDER) throw refused('encodings');
    const wanted = JSON.stringify([key, encodings]);
    const known = this.#issued.get(wanted);
    if (known) return known.issued;
    if (this.#issued.size >= PLACEHOLDERS_PER_CALL) throw refused('too-many');
    const bytes = encoded(value, encodings);
    if (!bytes) throw refused('encodings');
    const digits = Array.from(crypto.getRandomValues(new Uint8Array(DIGITS)), (byte) => (byte % 36).toString(36)).join('');
    this.#issued.set(wanted, { key, value: bytes, issued: `${PREFIX}${digits}` });
    return `${PREFIX}${digits}`;
  }
}

/** Returns the error that the bindings throw. @param {Refusal} refusal */
function refused(refusal) {
  return Object.assign(new Error(`refused: ${refusal}`), { payload: refusal });
}

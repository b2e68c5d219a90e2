/**
 * Reads JSON that people write: a class, or settings. Null counts as absent, and each error names its field.
 */

import { invalidClass, quoted } from './error.js';

/** The fields of a JSON object, with its path. */
export class Fields {
  #fields;
  #fault;

  /**
   * @param {string} path Such as `providerSpec`; empty for the root of settings.
   * @param {Record<string, unknown>} fields
   * @param {(message: string) => Error} fault Creates the error.
   */
  constructor(path, fields, fault) {
    this.path = path;
    this.#fields = fields;
    this.#fault = fault;
  }

  /**
   * Parses an object.
   * @param {string} text
   * @param {string} path The name of the object in messages.
   * @param {(message: string) => Error} [fault] By default `invalidClass`.
   */
  static parse(text, path, fault = invalidClass) {
    const value = parsed(text, () => fault(`${path} is not JSON: correct it`));
    if (value !== null && !isObject(value)) throw fault(`${path} must be an object`);
    return new Fields(path, value ?? {}, fault);
  }

  /** @param {string} name @returns {unknown} Undefined if it is absent or null. */
  get(name) {
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }

  /** Returns a text that is not empty. @param {string} name @returns {string | undefined} */
  text(name) {
    const value = this.get(name);
    if (value === undefined || (typeof value === 'string' && value !== '')) return value;
    throw this.unfit(name, 'a text that is not empty', value);
  }

  /** @param {string} name */
  neededText(name) {
    return this.text(name) ?? this.#missing(name);
  }

  /** @param {string} name @returns {boolean | undefined} */
  flag(name) {
    const value = this.get(name);
    if (value === undefined || typeof value === 'boolean') return value;
    throw this.unfit(name, 'true or false', value);
  }

  /** @param {string} name @param {{ least?: number, most?: number }} [range] @returns {number | undefined} */
  wholeNumber(name, { least = 0, most = Number.MAX_SAFE_INTEGER } = {}) {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value;
    throw this.unfit(
      name,
      most === Number.MAX_SAFE_INTEGER ? `a whole number from ${least} on` : `a whole number from ${least} to ${most}`,
      value,
    );
  }

  /** @param {string} name @param {{ least?: number, most?: number }} [range] */
  neededWholeNumber(name, range) {
    return this.wholeNumber(name, range) ?? this.#missing(name);
  }

  /**
   * Returns keys and values of an object, sorted by key.
   * @param {string} name @param {string} wanted The expected value. @returns {[string, unknown][]}
   */
  entries(name, wanted) {
    const value = this.get(name);
    if (value === undefined) return [];
    if (!isObject(value)) throw this.unfit(name, wanted, value);
    return Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Returns the objects of a list. @param {string} name @returns {Fields[]} */
  objects(name) {
    const value = this.get(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) throw this.unfit(name, 'a list', value);
    return value.map((entry, index) => {
      const at = `${name}[${index}]`;
      if (!isObject(entry)) throw this.unfit(at, 'an object', entry);
      return new Fields(this.#at(at), entry, this.#fault);
    });
  }

  /** Returns the paths of fields that `known` does not name. @param {readonly string[]} known */
  unknown(known) {
    return Object.keys(this.#fields)
      .filter((name) => !known.includes(name))
      .map((name) => this.#at(quoted(name)));
  }

  /** @param {string} name @param {string} wanted @param {unknown} got */
  unfit(name, wanted, got) {
    return this.invalid(name, `must be ${wanted}, got ${quoted(JSON.stringify(got))}`);
  }

  /** @param {string} name @param {string} problem */
  invalid(name, problem) {
    return this.#fault(`${this.#at(name)} ${problem}`);
  }

  /** @param {string} name @returns {never} */
  #missing(name) {
    throw this.invalid(name, 'is required');
  }

  /** @param {string} name */
  #at(name) {
    return this.path === '' ? name : `${this.path}.${name}`;
  }
}

/** @param {string} text @param {() => Error} fault @returns {unknown} */
function parsed(text, fault) {
  try {
    return JSON.parse(text);
  } catch {
    throw fault();
  }
}

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

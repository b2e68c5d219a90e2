/**
 * Reads JSON that people write, and collects every problem instead of stopping at the first. Null counts as absent.
 */

import { quoted } from 'machinist-sdk';

export type Objects = Record<string, unknown>;

export function isObject(value: unknown): value is Objects {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of one object. All readers of one class share their lists of problems and warnings. */
export class Reader {
  constructor(
    readonly path: string,
    private readonly fields: Objects,
    readonly problems: string[],
    readonly warnings: string[],
  ) {}

  /** Adds a problem of a field. */
  invalid(name: string, problem: string) {
    this.problems.push(`${this.at(name)} ${problem}`);
  }

  get(name: string): unknown {
    return Object.hasOwn(this.fields, name) ? (this.fields[name] ?? undefined) : undefined;
  }

  /** Returns a text that is not empty; with a pattern, one that matches it. */
  text(name: string, pattern?: RegExp, wanted = 'a text that is not empty'): string | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value !== '' && (pattern?.test(value) ?? true)) return value;
    this.unfit(name, wanted, value);
    return undefined;
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.text(name);
    if (value === undefined || choices.includes(value as T)) return value as T | undefined;
    this.unfit(name, choices.join(' or '), value);
    return undefined;
  }

  /** Returns the texts of a list. */
  texts(name: string): string[] | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((entry) => typeof entry === 'string' && entry !== '')) return value;
    this.unfit(name, 'a list of texts', value);
    return undefined;
  }

  /** Returns keys and values of an object, sorted by key. Numbers and truth values become texts, as LXD wants them. */
  plainValues(name: string): [string, string][] {
    const value = this.get(name);
    if (value === undefined) return [];
    if (!isObject(value)) {
      this.unfit(name, 'an object of texts', value);
      return [];
    }
    const pairs: [string, string][] = [];
    for (const [key, entry] of Object.entries(value)) {
      if (entry === null) continue;
      if (['string', 'number', 'boolean'].includes(typeof entry)) pairs.push([key, String(entry)]);
      else this.unfit(`${name}[${JSON.stringify(quoted(key))}]`, 'a text', entry);
    }
    return pairs.sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** Returns the object of a field, to be read in turn. */
  object(name: string): Reader | undefined {
    const value = this.get(name);
    if (value === undefined) return undefined;
    if (isObject(value)) return new Reader(this.at(name), value, this.problems, this.warnings);
    this.unfit(name, 'an object', value);
    return undefined;
  }

  names(): string[] {
    return Object.keys(this.fields).filter((name) => this.get(name) !== undefined);
  }

  /** Warns of fields that `known` does not name: during an upgrade an older driver meets a newer class. */
  warnUnknown(known: readonly string[]) {
    for (const name of this.names()) {
      if (!known.includes(name)) this.warnings.push(`${this.at(quoted(name))} is not a field and is ignored`);
    }
  }

  unfit(name: string, wanted: string, got: unknown) {
    this.invalid(name, `must be ${wanted}, got ${quoted(JSON.stringify(got) ?? 'nothing')}`);
  }

  private at(name: string) {
    return `${this.path}.${name}`;
  }
}

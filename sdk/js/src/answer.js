/**
 * What the cloud answered.
 */

/** @import { WireAnswer } from './contract.js' */

/** A whole answer. */
export class Answer {
  #headers;

  /** @param {WireAnswer} answer */
  constructor({ status, headers, body }) {
    this.status = status;
    this.body = body;
    this.#headers = headers;
  }

  /** From 200 to 299. */
  get isSuccess() {
    return this.status >= 200 && this.status < 300;
  }

  /** Such a page comes from a proxy in between, whatever its status says. */
  get isHtml() {
    return this.header('content-type')?.startsWith('text/html') ?? false;
  }

  /** The first value of a header, whatever the case of its name. @param {string} name */
  header(name) {
    return this.#headers.find(([present]) => present.toLowerCase() === name.toLowerCase())?.[1];
  }

  /** `Retry-After` in seconds, as milliseconds. A date is passed over. */
  get retryAfterMs() {
    const text = this.header('retry-after')?.trim() ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : undefined;
  }

  /** Bytes that are no UTF-8 become U+FFFD. */
  text() {
    return new TextDecoder().decode(this.body);
  }

  /** The body as JSON. Throws `SyntaxError` when it is none; see `Attempt.json` for what that means. @returns {unknown} */
  json() {
    return JSON.parse(this.text());
  }
}

/**
 * True for JSON that ends early: in a text, or with an object or a list that was not closed. Engines say so in words of
 * their own, so it is counted here.
 * @param {string} text What is not JSON.
 */
export function isCutOff(text) {
  const rest = text.trimStart();
  if (rest === '') return true;
  if (!/^[[{]/.test(rest)) return false;
  const outside = rest.replace(/"(?:[^"\\]|\\.)*"/gs, '');
  if (outside.includes('"')) return true;
  const opened = outside.match(/[[{]/g)?.length ?? 0;
  const closed = outside.match(/[\]}]/g)?.length ?? 0;
  return opened > closed;
}

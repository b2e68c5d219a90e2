/**
 * The cloud's answers.
 */

/** @import { WireAnswer } from '../contract.js' */

/** A complete answer. */
export class Answer {
  #headers;

  /** @param {WireAnswer} answer */
  constructor({ status, headers, body }) {
    this.status = status;
    this.body = body;
    this.#headers = headers;
  }

  /** True for statuses from 200 to 299. */
  get isSuccess() {
    return this.status >= 200 && this.status < 300;
  }

  /** True for an HTML page, which proxies send instead of an API's answer. */
  get isHtml() {
    return this.header('content-type')?.startsWith('text/html') ?? false;
  }

  /** Returns the first value of a header, by its name in any case. @param {string} name */
  header(name) {
    return this.#headers.find(([present]) => present.toLowerCase() === name.toLowerCase())?.[1];
  }

  /** Returns `Retry-After` in milliseconds, if it is a number of seconds. Ignores a date. */
  get retryAfterMs() {
    const text = this.header('retry-after')?.trim() ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : undefined;
  }

  /** Returns the body as text. Bytes that are not UTF-8 become U+FFFD. */
  text() {
    return new TextDecoder().decode(this.body);
  }

  /**
   * Parses the body as JSON. Throws `SyntaxError` if it is not JSON; `Attempt.json` throws a `DriverError` instead.
   * @returns {unknown}
   */
  json() {
    return JSON.parse(this.text());
  }
}

/** Possible ends of JSON that was cut off, before its brackets are closed: the rest of a word, of a text, of a pair. */
const ENDS = ['', '0', '"', ':0', '":0', '"":0', 'rue', 'ue', 'e', 'alse', 'lse', 'se', 'ull', 'll', 'l'].concat(
  ['\\', '0', '00', '000', '0000'].flatMap((escape) => [`${escape}"`, `${escape}":0`]),
);
/** Longer texts are not parsed that often: brackets alone decide. */
const LONG = 256 * 1024;
const CLOSING = { '{': '}', '[': ']' };

/**
 * True for the beginning of an object or a list, and for an empty text: JSON that was cut off. Error messages differ
 * between engines, so this function decides.
 * @param {string} text A text that is not JSON.
 */
export function isCutOff(text) {
  if (text.trim() === '') return true;
  const brackets = openBrackets(text);
  if (text.length > LONG) return brackets !== '';
  return brackets !== '' && ENDS.some((end) => isJson(`${text}${end}${brackets}`));
}

/** Returns the characters that close the open brackets. @param {string} text */
function openBrackets(text) {
  const closing = [];
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*(?:"|\\?$)|[[\]{}]/gs)) {
    if (token === '{' || token === '[') closing.unshift(CLOSING[token]);
    else if (token === '}' || token === ']') closing.shift();
  }
  return closing.join('');
}

/** @param {string} text */
function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

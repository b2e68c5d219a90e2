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

/** What may be missing behind the last character, before brackets are closed: the rest of a word, of a text, of a pair. */
const ENDS = ['', '0', '"', ':0', '":0', '"":0', 'rue', 'ue', 'e', 'alse', 'lse', 'se', 'ull', 'll', 'l'].concat(
  ['\\', '0', '00', '000', '0000'].flatMap((escape) => [`${escape}"`, `${escape}":0`]),
);
/** Longer texts are not read that often: brackets alone decide. */
const LONG = 256 * 1024;
const CLOSING = { '{': '}', '[': ']' };

/**
 * True for the beginning of an object or a list, and for nothing at all: JSON that ended early. Engines say so in words of
 * their own, so it is found out here.
 * @param {string} text What is not JSON.
 */
export function isCutOff(text) {
  if (text.trim() === '') return true;
  const brackets = openBrackets(text);
  if (text.length > LONG) return brackets !== '';
  return brackets !== '' && ENDS.some((end) => isJson(`${text}${end}${brackets}`));
}

/** What would close the brackets that are open. @param {string} text */
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

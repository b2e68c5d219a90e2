/**
 * Requests to the cloud.
 */

/** @import { HttpRequest, Wire, WireRequest } from '../contract.js' */

import { Answer } from './answer.js';
import { NoAnswer } from './no-answer.js';

const TIMEOUT_MS = 30_000;
const CONNECT_MS = 10_000;
/** Left for the work after an answer, and for the answer to the host. */
const RESERVE_MS = 250;
const ANSWER_BYTES = 8 * 1024 * 1024;
const READS = ['GET', 'HEAD', 'OPTIONS'];
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;

/** Sends requests to the cloud, within the time left for the call. */
export class Http {
  #wire;
  #remainingMs;
  #hasChanged = false;

  /**
   * @param {Wire} wire
   * @param {() => number} remainingMs
   */
  constructor(wire, remainingMs) {
    this.#wire = wire;
    this.#remainingMs = remainingMs;
  }

  /** True if a request that changes something may have reached the cloud. */
  get mayHaveChanged() {
    return this.#hasChanged;
  }

  /**
   * Sends a request and waits for the complete answer, whatever its status. Throws `NoAnswer` if there is none.
   * @param {HttpRequest} request
   * @returns {Promise<Answer>}
   */
  async send(request) {
    const host = hostOf(request.url);
    const leftMs = this.#remainingMs() - RESERVE_MS;
    if (leftMs <= 0) throw new NoAnswer('no-time-left', host);
    const wired = wireRequest(request, host, leftMs);
    const changes = !READS.includes(wired.method);
    try {
      const answer = await this.#wire.send(wired);
      this.#hasChanged ||= changes;
      return new Answer(answer);
    } catch (error) {
      this.#hasChanged ||= changes && (!(error instanceof NoAnswer) || error.mayHaveBeenSent);
      throw error;
    }
  }
}

/** Returns the host of a URL without its port, as grants name it. @param {string} url */
export function hostOf(url) {
  return parse(url)?.hostname ?? 'an unknown host';
}

/** @param {string} url */
function parse(url) {
  try {
    return new URL(url);
  } catch {
    return undefined;
  }
}

/**
 * @param {HttpRequest} request
 * @param {string} host
 * @param {number} leftMs
 * @returns {WireRequest}
 */
function wireRequest({ method = 'GET', url, headers = {}, body, ...limits }, host, leftMs) {
  if (!TOKEN.test(method)) throw new NoAnswer('bad-request', host, 'the method is none');
  return {
    method,
    ...place(url, host),
    headers: Object.entries(headers).map(([name, value]) => header(name, value, host)),
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
    connectTimeoutMs: Math.min(limits.connectTimeoutMs ?? CONNECT_MS, leftMs),
    timeoutMs: Math.min(limits.timeoutMs ?? TIMEOUT_MS, leftMs),
    answerBytes: limits.answerBytes ?? ANSWER_BYTES,
  };
}

/**
 * @param {string} url
 * @param {string} host
 * @returns {Pick<WireRequest, 'scheme' | 'authority' | 'target'>}
 */
function place(url, host) {
  const parsed = parse(url);
  const scheme = parsed?.protocol.slice(0, -1);
  if (!parsed || (scheme !== 'http' && scheme !== 'https')) throw new NoAnswer('bad-request', host, 'the URL must be http(s)://HOST/…');
  if (parsed.username || parsed.password) throw new NoAnswer('bad-request', host, 'the URL must not name a user');
  return { scheme, authority: parsed.host, target: `${parsed.pathname}${parsed.search}` };
}

/**
 * @param {string} name
 * @param {string} value
 * @param {string} host
 * @returns {[string, string]}
 */
function header(name, value, host) {
  if (!TOKEN.test(name)) throw new NoAnswer('bad-request', host, 'a header has a name that is none');
  // The encoding of headers beyond ASCII is undefined.
  if (typeof value !== 'string' || !/^[\x20-\x7e\t]*$/.test(value))
    throw new NoAnswer('bad-request', host, `the header ${name} must be one line of ASCII`);
  return [name.toLowerCase(), value];
}

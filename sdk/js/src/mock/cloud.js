/**
 * The fake cloud of a test.
 */

/** @import { WireAnswer, WireRequest } from '../contract.js' */

import { NoAnswer } from '../http/no-answer.js';

/** A request as the cloud sees it: with secrets. */
export class CloudRequest {
  /** @param {WireRequest} request */
  constructor({ method, scheme, authority, target, headers, body }) {
    this.method = method;
    this.url = new URL(`${scheme}://${authority}${target}`);
    /** Names in lower case. @type {Record<string, string>} */
    this.headers = Object.fromEntries(headers);
    this.body = body ?? new Uint8Array();
  }

  text() {
    return new TextDecoder().decode(this.body);
  }

  /** @returns {any} */
  json() {
    return JSON.parse(this.text());
  }
}

/**
 * An object as body is sent as JSON. By default status 200, no headers and no body.
 * @typedef {{ status?: number, headers?: Record<string, string>, body?: string | Uint8Array | object }} CloudAnswer
 * @typedef {CloudAnswer | Promise<CloudAnswer>} AwaitableAnswer
 * @typedef {((request: CloudRequest) => AwaitableAnswer) | (CloudAnswer | NoAnswer)[]} Cloud A function, or
 *   answers in order. A function throws `NoAnswer` for no answer at all.
 */

/** @param {Cloud} cloud @returns {(request: CloudRequest) => AwaitableAnswer} */
export function answering(cloud) {
  if (typeof cloud === 'function') return cloud;
  const answers = [...cloud];
  return (request) => {
    const next = answers.shift();
    if (!next) throw new Error(`the script of answers is at its end, and the driver asks for ${request.method} ${request.url.pathname}`);
    if (next instanceof NoAnswer) throw next;
    return next;
  };
}

/** @param {CloudAnswer} answer @returns {WireAnswer} */
export function wired({ status = 200, headers = {}, body = '' }) {
  const isBytes = body instanceof Uint8Array;
  const text = typeof body === 'string' || isBytes ? body : JSON.stringify(body);
  return { status, headers: Object.entries(headers), body: typeof text === 'string' ? new TextEncoder().encode(text) : text };
}

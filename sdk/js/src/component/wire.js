/**
 * Requests through the host's `outgoing-handler`. This module releases resources of the host in order, children first:
 * the host ends an instance that releases a parent before its child.
 */

/** @import { Wire, WireAnswer, WireRequest } from '../contract.js' */
/**
 * @import { ErrorCode, FutureIncomingResponse, IncomingResponse, Method, OutgoingRequest as Outgoing } from 'wasi:http/types@0.2.12'
 */
/** @import { InputStream, OutputStream, StreamError } from 'wasi:io/streams@0.2.12' */

import { handle } from 'wasi:http/outgoing-handler@0.2.12';
import { Fields, httpErrorCode, OutgoingBody, OutgoingRequest, RequestOptions } from 'wasi:http/types@0.2.12';

import { hasPayload } from '../http/payload.js';
import { NoAnswer } from '../http/no-answer.js';

const PIECE_BYTES = 64n * 1024n;
const NANOSECONDS = 1_000_000;
/** The bindings' symbol: the engine may lack it. */
const DISPOSE = Symbol.dispose ?? Symbol.for('dispose');
/** @type {readonly string[]} */
const METHODS = ['get', 'head', 'post', 'put', 'delete', 'connect', 'options', 'trace', 'patch'];

/** @type {Wire} */
export const wire = {
  send(request) {
    const host = request.authority.replace(/:\d+$/, '');
    return whileHeld(sent(request, host), (future) => whileHeld(response(future, host), (incoming) => read(incoming, request, host)));
  },
};

/** @param {WireRequest} request @param {string} host */
function sent(request, host) {
  const outgoing = attempt(
    () => outgoingRequest(request),
    () => new NoAnswer('bad-request', host),
  );
  const body = outgoing.body();
  const future = attempt(
    () => handle(outgoing, options(request)),
    (error) => NoAnswer.ofWasi(/** @type {ErrorCode} */ (error), host),
  );
  try {
    if (request.body) whileHeld(body.write(), (stream) => write(stream, /** @type {Uint8Array} */ (request.body)));
    OutgoingBody.finish(body, undefined);
  } catch {
    // A server that refuses a body half-way gives the reason in its answer.
  }
  return future;
}

/** @param {WireRequest} request @returns {Outgoing} */
function outgoingRequest({ method, scheme, authority, target, headers }) {
  const encoder = new TextEncoder();
  const outgoing = new OutgoingRequest(Fields.fromList(headers.map(([name, value]) => [name, encoder.encode(value)])));
  const name = method.toLowerCase();
  outgoing.setMethod(/** @type {Method} */ (METHODS.includes(name) ? { tag: name } : { tag: 'other', val: method }));
  outgoing.setScheme({ tag: scheme === 'http' ? 'HTTP' : 'HTTPS' });
  outgoing.setAuthority(authority);
  outgoing.setPathWithQuery(target);
  return outgoing;
}

/** @param {WireRequest} request */
function options({ connectTimeoutMs, timeoutMs }) {
  const options = new RequestOptions();
  const nanoseconds = (/** @type {number} */ ms) => BigInt(Math.max(1, Math.floor(ms))) * BigInt(NANOSECONDS);
  try {
    options.setConnectTimeout(nanoseconds(connectTimeoutMs));
    options.setFirstByteTimeout(nanoseconds(timeoutMs));
    options.setBetweenBytesTimeout(nanoseconds(timeoutMs));
  } catch {
    // A host without one of these timeouts still ends the call.
  }
  return options;
}

/** @param {OutputStream} stream @param {Uint8Array} bytes */
function write(stream, bytes) {
  for (let rest = bytes; rest.length > 0; ) {
    const room = Number(stream.checkWrite());
    if (room === 0) {
      whileHeld(stream.subscribe(), (pollable) => pollable.block());
      continue;
    }
    stream.write(rest.subarray(0, room));
    rest = rest.subarray(room);
  }
}

/** @param {FutureIncomingResponse} future @param {string} host @returns {IncomingResponse} */
function response(future, host) {
  whileHeld(future.subscribe(), (pollable) => pollable.block());
  const taken = future.get();
  if (taken?.tag !== 'ok') throw new NoAnswer('other', host, 'the host gave no answer');
  const outcome = taken.val;
  if (outcome.tag === 'err') throw NoAnswer.ofWasi(outcome.val, host);
  return outcome.val;
}

/** @param {IncomingResponse} incoming @param {WireRequest} request @param {string} host @returns {WireAnswer} */
function read(incoming, { answerBytes }, host) {
  const decoder = new TextDecoder();
  const status = incoming.status();
  const entries = whileHeld(incoming.headers(), (fields) => fields.entries());
  const headers = entries.map(([name, value]) => /** @type {[string, string]} */ ([name, decoder.decode(value)]));
  const body = whileHeld(incoming.consume(), (held) => whileHeld(held.stream(), (stream) => all(stream, answerBytes, host)));
  return { status, headers, body };
}

/** @param {InputStream} stream @param {number} most @param {string} host */
function all(stream, most, host) {
  /** @type {Uint8Array[]} */
  const pieces = [];
  let length = 0;
  for (let piece = next(stream, host); piece; piece = next(stream, host)) {
    pieces.push(piece);
    length += piece.length;
    if (length > most) throw new NoAnswer('answer-too-large', host);
  }
  return joined(pieces, length);
}

/** Returns the next piece; undefined at the end. @param {InputStream} stream @param {string} host */
function next(stream, host) {
  try {
    return stream.blockingRead(PIECE_BYTES);
  } catch (error) {
    if (!hasPayload(error)) throw error;
    const failure = /** @type {StreamError} */ (error.payload);
    if (failure.tag === 'closed') return undefined;
    throw whileHeld(failure.val, (cause) => {
      const code = httpErrorCode(cause);
      return code ? NoAnswer.ofWasi(code, host) : new NoAnswer('cut-off', host);
    });
  }
}

/** @param {Uint8Array[]} pieces @param {number} length */
function joined(pieces, length) {
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** @template {Disposable} R @template T @param {R} resource @param {(resource: R) => T} use @returns {T} */
function whileHeld(resource, use) {
  try {
    return use(resource);
  } finally {
    /** @type {any} */ (resource)[DISPOSE]();
  }
}

/**
 * Calls the host, which throws errors as a payload.
 * @template T @param {() => T} act @param {(error: unknown) => NoAnswer} noAnswer @returns {T}
 */
function attempt(act, noAnswer) {
  try {
    return act();
  } catch (error) {
    throw hasPayload(error) ? noAnswer(error.payload) : error;
  }
}

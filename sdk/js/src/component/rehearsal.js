/**
 * The engine compiles a function when it is called first, and each call of a driver starts from what the build has left. So
 * the large functions of the bindings are called once at the build. They get nothing, and fail before they reach for a host.
 */

import { Secret } from 'machinist:host/secrets@0.1.0';
import { handle } from 'wasi:http/outgoing-handler@0.2.12';
import {
  Fields,
  FutureIncomingResponse,
  httpErrorCode,
  IncomingBody,
  IncomingResponse,
  OutgoingBody,
  OutgoingRequest,
  RequestOptions,
} from 'wasi:http/types@0.2.12';
import { Pollable } from 'wasi:io/poll@0.2.12';
import { InputStream, OutputStream } from 'wasi:io/streams@0.2.12';

const CLASSES = [
  Fields,
  FutureIncomingResponse,
  IncomingBody,
  IncomingResponse,
  InputStream,
  OutgoingBody,
  OutgoingRequest,
  OutputStream,
  Pollable,
  RequestOptions,
  Secret,
];

/** @type {Function[]} */
const functions = [handle, httpErrorCode, Fields.fromList, OutgoingBody.finish, ...CLASSES.flatMap(methodsOf)];
functions.forEach(callWithNothing);

/** @param {Function} aClass */
function methodsOf({ prototype }) {
  const names = Reflect.ownKeys(prototype).filter((name) => name !== 'constructor');
  return names.map((name) => prototype[name]).filter((member) => typeof member === 'function');
}

/** @param {Function} act */
function callWithNothing(act) {
  try {
    Reflect.apply(act, undefined, []);
  } catch {
    // That is what is expected.
  }
}

/**
 * Replaces placeholders by secrets, as the host does after a request has left the sandbox. A placeholder at a place
 * that is not granted makes it refuse the request.
 */

/** @import { WireRequest } from '../contract.js' */
/** @import { Grants, Place } from './grants.js' */

import { NoAnswer } from '../http/no-answer.js';
import { latin1 } from './encode.js';
import { countPlaceholders } from './vault.js';

/** @import { Vault } from './vault.js' */

/**
 * * Returns the request as the cloud sees it.
 * @param {WireRequest} request
 * @param {Vault} vault
 * @param {Grants} grants
 * @returns {WireRequest}
 */
export function substituted(request, vault, grants) {
  const host = new URL(`${request.scheme}://${request.authority}`).hostname;
  const denied = () => new NoAnswer('denied', host);
  if (!grants.allowsRequest(request) || countPlaceholders(request.target) > 0) throw denied();
  const fill = (/** @type {string} */ text, /** @type {Place} */ place) =>
    vault.fill(text, (key, value) => {
      if (key === undefined || !grants.allowsSecret(key, place, host) || !holds(place, value)) throw denied();
      return textOf(value);
    });
  const headers = request.headers.map(([name, value]) => {
    if (countPlaceholders(name) > 0) throw denied();
    return /** @type {[string, string]} */ ([name, fill(value, { header: name })]);
  });
  return { ...request, headers, body: request.body && filledBody(request, fill, denied) };
}

/**
 * @param {WireRequest} request
 * @param {(text: string, place: Place) => string} fill
 * @param {() => NoAnswer} denied
 */
function filledBody({ headers, body }, fill, denied) {
  const text = textOf(body ?? new Uint8Array());
  if (countPlaceholders(text) === 0) return body;
  const type =
    headers
      .find(([name]) => name === 'content-type')?.[1]
      .split(';')[0]
      .trim()
      .toLowerCase() ?? '';
  const filled =
    type === 'application/x-www-form-urlencoded'
      ? filledForm(text, fill)
      : type === '' || type.includes('json')
        ? filledJson(text, fill)
        : text;
  // A remaining placeholder is in a key, or in a body that does not have its declared type.
  if (filled === undefined || countPlaceholders(filled) > 0) throw denied();
  return new TextEncoder().encode(filled);
}

/** @param {string} text @param {(text: string, place: Place) => string} fill */
function filledForm(text, fill) {
  return text
    .split('&')
    .map((field) => {
      const equals = field.indexOf('=');
      if (equals < 0) return field;
      const name = [...new URLSearchParams(field).keys()][0] ?? '';
      return `${field.slice(0, equals)}=${fill(field.slice(equals + 1), { form: name })}`;
    })
    .join('&');
}

/** @param {string} text @param {(text: string, place: Place) => string} fill */
function filledJson(text, fill) {
  /** @param {unknown} value @param {string} pointer @returns {unknown} */
  const walk = (value, pointer) => {
    if (typeof value === 'string') return countPlaceholders(value) > 0 ? JSON.parse(`"${fill(value, { json: pointer })}"`) : value;
    if (Array.isArray(value)) return value.map((entry, at) => walk(entry, `${pointer}/${at}`));
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value).map(([key, entry]) => [
      key,
      walk(entry, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    ]);
    return Object.fromEntries(entries);
  };
  try {
    return JSON.stringify(walk(JSON.parse(text), ''));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * True if a value stays inside its place: no second header, no end of the text, no second field.
 * @param {Place} place @param {Uint8Array} value
 */
function holds(place, value) {
  const text = latin1(value);
  if ('header' in place) return /^[\x20-\x7e\x80-\xff\t]*$/.test(text);
  if ('form' in place) return /^[A-Za-z0-9*\-._+%]*$/.test(text);
  try {
    JSON.parse(`"${textOf(value)}"`);
    return true;
  } catch {
    return false;
  }
}

/** @param {Uint8Array} bytes */
function textOf(bytes) {
  return new TextDecoder().decode(bytes);
}

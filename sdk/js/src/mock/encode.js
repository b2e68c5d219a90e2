/**
 * Encodings of secrets.
 */

/** @import { Encoding } from '../contract.js' */

// @ts-expect-error: types of Node.js are not among the tools.
import { gzipSync } from 'node:zlib';

/**
 * Applies the encodings in order. Undefined if one does not fit after the one before it.
 * @param {Uint8Array} value @param {Encoding[]} encodings
 */
export function encoded(value, encodings) {
  /** @type {Uint8Array | undefined} */
  let bytes = value;
  for (const encoding of encodings) bytes = bytes && step(bytes, encoding);
  return bytes;
}

/** @param {Uint8Array} bytes @param {Encoding} encoding @returns {Uint8Array | undefined} */
function step(bytes, encoding) {
  switch (encoding) {
    case 'plain':
      return bytes;
    case 'base64':
      return utf8(btoa(latin1(bytes)));
    case 'gzip':
      return gzipSync(bytes);
    case 'form':
      return utf8(form(bytes));
    case 'json-escape':
      return ofText(bytes, (text) => JSON.stringify(text).slice(1, -1));
    default:
      return undefined;
  }
}

/** @param {Uint8Array} bytes */
function form(bytes) {
  const plain = /[A-Za-z0-9*._-]/;
  return [...bytes]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      if (plain.test(character)) return character;
      return byte === 0x20 ? '+' : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

/** @param {Uint8Array} bytes @param {(text: string) => string} act */
function ofText(bytes, act) {
  try {
    return utf8(act(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
  } catch {
    return undefined;
  }
}

/** @param {string} text */
export function utf8(text) {
  return new TextEncoder().encode(text);
}

/** One character a byte. @param {Uint8Array} bytes */
export function latin1(bytes) {
  return Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
}

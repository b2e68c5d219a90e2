// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Encodings of secrets.
 */
import type { Encoding } from '../contract.js';
/**
 * Applies the encodings in order. Undefined if one does not fit after the one before it.
 * @param {Uint8Array} value @param {Encoding[]} encodings
 */
export declare function encoded(value: Uint8Array, encodings: Encoding[]): Uint8Array<ArrayBufferLike> | undefined;
/** @param {string} text */
export declare function utf8(text: string): Uint8Array<ArrayBuffer>;
/** One character a byte. @param {Uint8Array} bytes */
export declare function latin1(bytes: Uint8Array): string;

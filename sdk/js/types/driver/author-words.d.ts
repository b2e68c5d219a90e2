// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Converts the author's answers to the contract's types. JavaScript lets an author return any value: one that the
 * contract cannot represent becomes an error that names the field.
 */
import type * as Wit from 'machinist:provider/types@0.1.0';
import type { NodeResources as WitResources } from 'machinist:capacity/capacity@0.1.0';
import type { DriverError } from '../error.js';
/** @param {unknown} answer @returns {Wit.About} */
export declare function readAbout(answer: unknown): Wit.About;
/** @param {unknown} answer @returns {string[]} */
export declare function readWarnings(answer: unknown): string[];
/** @param {unknown} answer @returns {Wit.Creation} */
export declare function readCreation(answer: unknown): Wit.Creation;
/** @param {unknown} answer @returns {Wit.Deletion} */
export declare function readDeletion(answer: unknown): Wit.Deletion;
/** @param {unknown} answer @param {string} call @returns {Wit.Vm} */
export declare function readVm(answer: unknown, call: string): Wit.Vm;
/** @param {unknown} answer @returns {Wit.Page} */
export declare function readPage(answer: unknown): Wit.Page;
/** @param {unknown} answer @param {number} count @returns {(string | undefined)[]} */
export declare function readVolumeIds(answer: unknown, count: number): (string | undefined)[];
/** @param {unknown} answer @returns {string} */
export declare function readNodeId(answer: unknown): string;
/** @param {unknown} answer @returns {string} */
export declare function readPlaced(answer: unknown): string;
/** @param {unknown} answer @returns {boolean} */
export declare function readInterruptible(answer: unknown): boolean;
/** @param {unknown} answer @returns {WitResources} */
export declare function readResources(answer: unknown): WitResources;
/** @param {DriverError} error @returns {Wit.DriverError} */
export declare function errorTo({ code, message, facts }: DriverError): Wit.DriverError;

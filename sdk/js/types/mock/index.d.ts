// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * A host for unit tests in Node.js, without WebAssembly.
 *
 * @module
 */
export type Cloud = import('./cloud.js').Cloud;
export type CloudAnswer = import('./cloud.js').CloudAnswer;
export type Surroundings = import('./driver.js').Surroundings;
export type GrantsText = import('./grants.js').GrantsText;
/** @typedef {import('./cloud.js').Cloud} Cloud */
/** @typedef {import('./cloud.js').CloudAnswer} CloudAnswer */
/** @typedef {import('./driver.js').Surroundings} Surroundings */
/** @typedef {import('./grants.js').GrantsText} GrantsText */
export { NoAnswer } from '../http/no-answer.js';
export { CloudRequest } from './cloud.js';
export { MockDriver } from './driver.js';
export { MockPolicy } from './policy.js';
export { sampleCondition, sampleQuestion, sampleRequest } from './samples.js';

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The SDK for drivers.
 *
 * @module
 */
export type About = import('./contract.js').About;
export type Address = import('./contract.js').Address;
export type Capability = import('./contract.js').Capability;
export type Class = import('./contract.js').Class;
export type Code = import('./contract.js').Code;
export type Condition = import('./contract.js').Condition;
export type Deleted = import('./contract.js').Deleted;
export type Encoding = import('./contract.js').Encoding;
export type ErrorFacts = import('./contract.js').ErrorFacts;
export type HttpRequest = import('./contract.js').HttpRequest;
export type Listed = import('./contract.js').Listed;
export type ListRequest = import('./contract.js').ListRequest;
export type Machine = import('./contract.js').Machine;
export type NodeResources = import('./contract.js').NodeResources;
export type Page = import('./contract.js').Page;
export type Request = import('./contract.js').Request;
export type Vm = import('./contract.js').Vm;
export type VmState = import('./contract.js').VmState;
export type Host = import('./host.js').Host;
export type QuietHost = import('./host.js').QuietHost;
export type Http = import('./http/request.js').Http;
export type Secret = import('./secrets.js').Secret;
export type Refusal = import('./http/attempt.js').Refusal;
/** @typedef {import('./contract.js').About} About */
/** @typedef {import('./contract.js').Address} Address */
/** @typedef {import('./contract.js').Capability} Capability */
/** @typedef {import('./contract.js').Class} Class */
/** @typedef {import('./contract.js').Code} Code */
/** @typedef {import('./contract.js').Condition} Condition */
/** @typedef {import('./contract.js').Deleted} Deleted */
/** @typedef {import('./contract.js').Encoding} Encoding */
/** @typedef {import('./contract.js').ErrorFacts} ErrorFacts */
/** @typedef {import('./contract.js').HttpRequest} HttpRequest */
/** @typedef {import('./contract.js').Listed} Listed */
/** @typedef {import('./contract.js').ListRequest} ListRequest */
/** @typedef {import('./contract.js').Machine} Machine */
/** @typedef {import('./contract.js').NodeResources} NodeResources */
/** @typedef {import('./contract.js').Page} Page */
/** @typedef {import('./contract.js').Request} Request */
/** @typedef {import('./contract.js').Vm} Vm */
/** @typedef {import('./contract.js').VmState} VmState */
/** @typedef {import('./host.js').Host} Host */
/** @typedef {import('./host.js').QuietHost} QuietHost */
/** @typedef {import('./http/request.js').Http} Http */
/** @typedef {import('./secrets.js').Secret} Secret */
/** @typedef {import('./http/attempt.js').Refusal} Refusal */
export { Answer } from './http/answer.js';
export { Attempt, codeOfStatus } from './http/attempt.js';
export * as auth from './http/auth.js';
export { Driver, InProgress } from './driver/driver.js';
export { DriverError, invalidClass, quoted } from './error.js';
export { Fields } from './fields.js';
export { Log } from './host.js';
export { hostOf } from './http/request.js';
export { NoAnswer } from './http/no-answer.js';

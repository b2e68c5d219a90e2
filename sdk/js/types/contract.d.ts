// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The nouns of the contract as JavaScript likes them: numbers for milliseconds, objects for lists of pairs. All else is
 * as the bindings have it, which are generated from `wit/`.
 */
/// <reference path="../bindings/full-provider.d.ts" preserve="true" />
/// <reference path="../bindings/health-policy.d.ts" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
import type * as wit from 'machinist:provider/types@0.1.0';
export type { Address, Code, Condition, VmState } from 'machinist:provider/types@0.1.0';
export type { Level } from 'machinist:host/log@0.1.0';
export type { Encoding, Refusal } from 'machinist:host/secrets@0.1.0';
/** One Machine of the cluster. */
export interface Machine extends Omit<wit.Machine, 'labels' | 'annotations'> {
    labels: Record<string, string>;
    annotations: Record<string, string>;
}
/** The MachineClass of the call. `spec` is JSON as the user wrote it: see `Fields`. */
export type Class = wit.Class;
/** What every call about a machine gets. */
export interface Request extends Omit<wit.Request, 'machine' | 'class' | 'deadlineMs'> {
    machine: Machine;
    class: Class;
    /** Milliseconds that this call may take. `host.remainingMs()` says what is left. */
    deadlineMs: number;
}
/** What is asked of a listing. */
export interface ListRequest {
    class: Class;
    cluster: string;
    /** What the page before gave. */
    token?: string;
}
/** A machine as the cloud shows it. What may be left out is empty. */
export type Vm = Omit<wit.Vm, 'addresses' | 'conditions'> & Partial<Pick<wit.Vm, 'addresses' | 'conditions'>>;
/** A machine in a listing. */
export interface Listed extends Omit<wit.Listed, 'createdAtMs'> {
    createdAtMs?: number;
}
/** One page of a listing. */
export interface Page {
    machines: Listed[];
    /** Present: there is more, ask with this token. */
    next?: string;
}
/** The cloud works on it. See `InProgress`. */
export interface ProgressFacts extends Omit<wit.Progress, 'askAgainMs'> {
    askAgainMs: number;
}
/** The cloud has accepted the deletion, or nothing is there. */
export interface Deleted {
    lastKnownState?: string;
}
export type Capability = keyof wit.Capabilities;
/** What a driver says about itself. What may be left out is empty or 0. */
export interface About {
    name: string;
    version: string;
    providers: string[];
    /** JSON Schema of `providerSpec`. */
    classSchema?: object;
    capabilities: Capability[];
    consistencyWindowMs?: number;
    hosts?: string[];
}
/** All of an error but code and message. What is left out is absent or false. */
export interface ErrorFacts extends Partial<Pick<wit.DriverError, 'cloudCode' | 'terminal' | 'mayHaveHappened' | 'lastKnownState' | 'providerId' | 'nodeName'>> {
    retryAfterMs?: number;
}
/** A request to a cloud. */
export interface HttpRequest {
    /** By default GET. */
    method?: string;
    /** Absolute, `http` or `https`. */
    url: string;
    headers?: Record<string, string>;
    /** Text goes as UTF-8. */
    body?: string | Uint8Array;
    /** How long the cloud may take to begin its answer, and between two pieces of it. By default 30 seconds. */
    timeoutMs?: number;
    /** By default 10 seconds. */
    connectTimeoutMs?: number;
    /** The largest answer that is read. By default 8 MiB. */
    answerBytes?: number;
}
/** A request as it leaves the SDK, complete and checked. */
export interface WireRequest {
    method: string;
    scheme: 'http' | 'https';
    /** Host and port. */
    authority: string;
    /** Path and query. */
    target: string;
    /** Names in lower case. */
    headers: [string, string][];
    body?: Uint8Array;
    connectTimeoutMs: number;
    timeoutMs: number;
    answerBytes: number;
}
export interface WireAnswer {
    status: number;
    headers: [string, string][];
    body: Uint8Array;
}
/** Carries a request to the cloud. Throws `Trouble` when there is no answer. */
export interface Wire {
    send(request: WireRequest): WireAnswer | Promise<WireAnswer>;
}
/** A secret as the host gives it. Refusals are thrown with the reason as `payload`. */
export interface RawSecret {
    length(): bigint;
    startsWith(prefix: Uint8Array): boolean;
    placeholder(encodings: wit_Encoding[]): string;
    reveal(): Uint8Array;
}
type wit_Encoding = import('machinist:host/secrets@0.1.0').Encoding;
/** What the host offers to a driver, as the bindings have it. The component and the mock have one each. */
export interface RawHost {
    log: Pick<typeof import('machinist:host/log@0.1.0'), 'enabled' | 'emit'>;
    settings(): string;
    remainingMs(): bigint;
    secrets: {
        keys(): string[];
        open(key: string): RawSecret | undefined;
        userData(): RawSecret | undefined;
    };
    wire: Wire;
}

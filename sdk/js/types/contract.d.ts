// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The contract's types in JavaScript: numbers for milliseconds, objects for lists of pairs. Everything else is as in
 * the bindings, which are generated from `wit/`.
 */
/// <reference path="../bindings/driver.d.ts" preserve="true" />
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
/** The MachineClass of the call. `spec` is JSON as the user wrote it; `Fields` reads it. */
export type Class = wit.Class;
/** The arguments of every call about a machine. */
export interface Request extends Omit<wit.Request, 'machine' | 'class' | 'deadlineMs'> {
    machine: Machine;
    class: Class;
    /** Milliseconds for this call. `host.remainingMs()` returns the time left. */
    deadlineMs: number;
}
/** The arguments of a listing. */
export interface ListRequest {
    class: Class;
    cluster: string;
    /** The token of the previous page. */
    token?: string;
}
/** A machine as the cloud shows it. Optional fields default to empty. */
export type Vm = Omit<wit.Vm, 'addresses' | 'conditions'> & Partial<Pick<wit.Vm, 'addresses' | 'conditions'>>;
/** The resources and the platform of a Node. */
export interface NodeResources {
    /** Kubernetes quantities by resource: at least `cpu` and `memory`. */
    resources: Record<string, string>;
    /** `amd64`, `arm64`, `s390x` or `ppc64le`. */
    architecture?: string;
    /** `linux` or `windows`. */
    operatingSystem?: string;
}
/** A machine in a listing. */
export interface Listed extends Omit<wit.Listed, 'createdAtMs'> {
    createdAtMs?: number;
}
/** One page of a listing. */
export interface Page {
    machines: Listed[];
    /** If present, there are more: call again with this token. */
    next?: string;
}
/** The cloud is working on it. See `InProgress`. */
export interface ProgressFacts extends Omit<wit.Progress, 'askAgainMs'> {
    askAgainMs: number;
}
/** The cloud has accepted the deletion, or nothing exists. */
export interface Deleted {
    lastKnownState?: string;
}
export type Capability = keyof wit.Capabilities;
/** A driver's description of itself. Optional fields default to empty or 0. */
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
/** The fields of an error beside code and message. Missing ones are absent or false. */
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
    /** Text is sent as UTF-8. */
    body?: string | Uint8Array;
    /** Maximum time until the answer begins, and between two parts of it. By default 30 seconds. */
    timeoutMs?: number;
    /** Maximum time until there is a connection. By default 10 seconds. */
    connectTimeoutMs?: number;
    /** Maximum size of an answer. By default 8 MiB. */
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
/** Sends a request to the cloud. Throws `NoAnswer` if there is no answer. */
export interface Wire {
    send(request: WireRequest): WireAnswer | Promise<WireAnswer>;
}
/** A secret in the form of the bindings. Throws a refusal with the reason as `payload`. */
export interface RawSecret {
    length(): bigint;
    startsWith(prefix: Uint8Array): boolean;
    placeholder(encodings: wit_Encoding[]): string;
    reveal(): Uint8Array;
}
type wit_Encoding = import('machinist:host/secrets@0.1.0').Encoding;
/** The host's functions for a driver, in the form of the bindings. The component and the mock implement them. */
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

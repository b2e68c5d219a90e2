// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The types of the policies' contract in JavaScript: numbers for times, objects for lists of pairs.
 */
/// <reference path="../../bindings/health-policy.d.ts" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />
import type * as wit from 'machinist:policy/types@0.1.0';
export type { Action, Domain, Phase, Status } from 'machinist:policy/types@0.1.0';
/** One Machine of the cluster. */
export interface Machine extends Omit<wit.Machine, 'labels' | 'created' | 'healthTimeoutMs'> {
    labels: Record<string, string>;
    created: number;
    healthTimeoutMs?: number;
}
/** A condition of the Node. */
export interface Condition extends Omit<wit.Condition, 'since'> {
    since?: number;
}
/** The Machine's Node. */
export interface Node extends Omit<wit.Node, 'created' | 'labels' | 'conditions'> {
    created?: number;
    labels: Record<string, string>;
    conditions: Condition[];
}
export interface History extends Omit<wit.History, 'phaseSince' | 'reboots'> {
    phaseSince?: number;
    reboots: number[];
}
/** The facts that a policy may know. */
export interface Question {
    machine: Machine;
    /** Undefined: the Node is gone. */
    node?: Node;
    history: History;
    domain: wit.Domain;
}
/** A policy's judgement. */
export interface Verdict {
    health: 'healthy' | 'unhealthy' | 'unknown';
    /** Required with `unhealthy`: the time from which it is unhealthy. */
    since?: number;
    /** One sentence, the same for the same state. */
    reason: string;
    /** By default `none`. */
    action?: wit.Action;
    /** The end of the verdict, as long as the question is the same. */
    holdsUntil: number;
}
/** A policy's description of itself. */
export interface About {
    name: string;
    version: string;
    /** JSON Schema of the settings. */
    settingsSchema?: object;
}

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Makes a component of a policy. Only the module that is built may import this: natively there is no such host.
 */
import type { Policy } from '../policy/policy.js';
/** @import { Policy } from '../policy/policy.js' */
import './globals.js';
/**
 * What the component's module exports: `export const policy = exportPolicy(new MyPolicy());`
 * @template Settings
 * @param {Policy<Settings>} author
 */
export declare function exportPolicy<Settings>(author: Policy<Settings>): {
    describe: () => import("machinist:policy/types@0.1.0").About;
    checkSettings: (settings: string) => void;
    evaluate: (question: import("machinist:policy/types@0.1.0").Question, settings: string, now: bigint) => import("machinist:policy/types@0.1.0").Verdict;
};

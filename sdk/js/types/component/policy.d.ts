// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * Exports a policy from a component. Import this only in the module that the build starts from: there is no such host
 * in Node.js.
 */
import type { Policy } from '../policy/policy.js';
/** @import { Policy } from '../policy/policy.js' */
import './globals.js';
/**
 * Returns the exports of the component's module: `export const policy = exportPolicy(new MyPolicy());`
 * @template Settings
 * @param {Policy<Settings>} author
 */
export declare function exportPolicy<Settings>(author: Policy<Settings>): {
    describe: () => import("machinist:policy/types@0.1.0").About;
    checkSettings: (settings: string) => void;
    evaluate: (question: import("machinist:policy/types@0.1.0").Question, settings: string, now: bigint) => import("machinist:policy/types@0.1.0").Verdict;
};

// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * What the operator wrote beside a policy.
 */
import type { Policy } from './policy.js';
/** What is wrong with settings. The message names the field and what belongs there. */
export declare class SettingsError extends Error {
}
/**
 * The settings of a policy, checked. Throws `SettingsError`.
 * @template Settings
 * @param {Policy<Settings>} policy
 * @param {string} text
 */
export declare function readSettings<Settings>(policy: Policy<Settings>, text: string): Settings;

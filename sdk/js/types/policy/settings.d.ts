// Code generated from src by `npm run generate`. DO NOT EDIT.
/**
 * The operator's settings beside a policy.
 */
import type { Policy } from './policy.js';
/** An error in the settings. The message names the field and the expected value. */
export declare class SettingsError extends Error {
}
/**
 * Reads and checks the settings of a policy. Throws `SettingsError`.
 * @template Settings
 * @param {Policy<Settings>} policy
 * @param {string} text
 */
export declare function readSettings<Settings>(policy: Policy<Settings>, text: string): Settings;

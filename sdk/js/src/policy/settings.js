/**
 * The operator's settings beside a policy.
 */

/** @import { Policy } from './policy.js' */

import { Fields } from '../fields.js';

/** An error in the settings. The message names the field and the expected value. */
export class SettingsError extends Error {}

/**
 * Reads and checks the settings of a policy. Throws `SettingsError`.
 * @template Settings
 * @param {Policy<Settings>} policy
 * @param {string} text
 */
export function readSettings(policy, text) {
  if (!text.trimStart().startsWith('{')) throw new SettingsError('the settings are invalid: they must be a JSON object');
  const fields = Fields.parse(text, '', (message) => new SettingsError(message.trim()));
  return policy.readSettings(fields);
}

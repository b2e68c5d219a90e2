/**
 * What the operator wrote beside a policy.
 */

/** @import { Policy } from './policy.js' */

import { Fields } from '../fields.js';

/** What is wrong with settings. The message names the field and what belongs there. */
export class SettingsError extends Error {}

/**
 * The settings of a policy, checked. Throws `SettingsError`.
 * @template Settings
 * @param {Policy<Settings>} policy
 * @param {string} text
 */
export function readSettings(policy, text) {
  if (!text.trimStart().startsWith('{')) throw new SettingsError('the settings are invalid: they must be a JSON object');
  const fields = Fields.parse(text, '', (message) => new SettingsError(message.trim()));
  return policy.readSettings(fields);
}

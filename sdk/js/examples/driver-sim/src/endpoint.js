/**
 * The address of the cloud, from the operator's settings beside the plugin.
 */

import { DriverError, Fields } from 'machinist-sdk';

const EXAMPLE = 'write {"endpoint": "http://HOST:PORT"}';

/**
 * The base of all URLs, without a trailing slash, and the host without its port, as grants name it.
 * @typedef {{ base: string, host: string }} Endpoint
 */

/** Parses the plugin's settings. The error says what to write. @param {string} settings @returns {Endpoint} */
export function readEndpoint(settings) {
  const url = Fields.parse(settings, 'settings.json', invalid).text('endpoint');
  if (url === undefined) throw invalid(`endpoint is missing in the plugin's settings: ${EXAMPLE}`);
  const endpoint = parsed(url);
  if (!endpoint) throw invalid(`endpoint in the plugin's settings must be http(s)://HOST[:PORT][/PATH], got ${JSON.stringify(url)}`);
  return endpoint;
}

/** @param {string} url @returns {Endpoint | undefined} */
function parsed(url) {
  if (!/^https?:\/\/[^\s/?#@\\]+(\/[^\s?#@\\]*)?$/.test(url)) return undefined;
  try {
    return { base: url.replace(/\/+$/, ''), host: new URL(url).hostname };
  } catch {
    return undefined;
  }
}

/** The operator can fix the settings, so the error is not terminal. @param {string} message */
function invalid(message) {
  return new DriverError('failed-precondition', message);
}

/**
 * The address of the LXD server: from the class, else from the operator's settings beside the plugin.
 */

import { DriverError, Fields, hostOf } from 'machinist-sdk';

const EXAMPLE = 'https://HOST:8443';

/** The base of all URLs, without a trailing slash, and the host without its port, as grants name it. */
export interface Endpoint {
  base: string;
  host: string;
  isTls: boolean;
}

/**
 * Returns the server of a class. Reads no other field, so that a broken class does not keep its instances from being
 * removed.
 */
export function endpointOf(spec: string, settings: string): Endpoint {
  const own = ofClass(spec);
  if (own !== undefined) return own;
  const shared = Fields.parse(settings, 'settings.json', unset).text('endpoint');
  if (shared === undefined) throw unset(`endpoint is missing: write ${EXAMPLE} into the plugin's settings or the class's providerSpec`);
  const endpoint = parsedEndpoint(shared);
  if (!endpoint) throw unset(`endpoint in the plugin's settings must be ${EXAMPLE}, got ${JSON.stringify(shared)}`);
  return endpoint;
}

/** The hosts that the settings name. `describe` must not fail, whatever the settings are. */
export function hostsOf(settings: string): string[] {
  try {
    return [endpointOf('{}', settings).host];
  } catch {
    return [];
  }
}

/** True if the settings name a usable server. */
export function hasDefault(settings: string) {
  return hostsOf(settings).length > 0;
}

export function parsedEndpoint(url: string): Endpoint | undefined {
  if (!/^https?:\/\/[^\s/?#@\\]+\/*$/.test(url)) return undefined;
  try {
    const base = url.replace(/\/+$/, '');
    return { base, host: hostOf(base), isTls: new URL(base).protocol === 'https:' };
  } catch {
    return undefined;
  }
}

function ofClass(spec: string): Endpoint | undefined {
  let value: unknown;
  try {
    value = JSON.parse(spec)?.endpoint;
  } catch {
    return undefined;
  }
  if (value === undefined || value === null) return undefined;
  const endpoint = typeof value === 'string' ? parsedEndpoint(value) : undefined;
  // Another server than the class means would be asked otherwise, and would know none of its instances.
  if (!endpoint) throw new DriverError('invalid-argument', `providerSpec.endpoint must be ${EXAMPLE}`, { terminal: true });
  return endpoint;
}

/** The operator can correct the settings, so the error is not terminal. */
function unset(message: string) {
  return new DriverError('failed-precondition', message);
}

/**
 * A driver, its host and the cloud, and the functions that tests use.
 */

import { MockDriver, sampleRequest } from 'machinist-sdk/mock';

import { SimDriver } from '../src/driver.js';
import { FakeCloud } from './fake-cloud.js';

export const SPEC = { zone: 'sim-1a', type: 'sim.small', image: 'linux-1' };
export const USER_DATA = '#cloud-config\n';

/** The grants of `grants.yaml`, for the cloud of the tests. */
const GRANTS = {
  egress: [
    { host: 'cloud.test', scheme: /** @type {const} */ ('http'), ports: [8080], methods: ['GET', 'POST', 'DELETE'], paths: ['/v1/'] },
  ],
  secrets: [
    { key: 'token', places: [{ header: 'authorization' }] },
    { key: 'userData', places: [{ json: '/userData' }] },
  ],
};

export function fixture() {
  const cloud = new FakeCloud();
  const driver = new MockDriver(new SimDriver(), {
    cloud: cloud.answer,
    secrets: { token: 'sim-token' },
    userData: USER_DATA,
    settings: { endpoint: 'http://cloud.test:8080' },
    grants: GRANTS,
  });
  /** Returns the requests since the last call. */
  const sent = () => driver.arrived.splice(0).map(({ method, url }) => `${method} ${url.pathname}`);
  return { cloud, driver, sent };
}

/** @param {number} number @param {object} [spec] */
export function request(number, spec = {}) {
  return sampleRequest({
    spec: { ...SPEC, ...spec },
    machine: { name: `machine-${number}`, uid: `uid-${number}` },
    idempotencyKey: `key-${number}`,
  });
}

/** @template {{ machine: object }} R @param {R} request @param {{ providerId: string }} vm @returns {R} */
export function withId(request, { providerId }) {
  return { ...request, machine: { ...request.machine, providerId } };
}

/**
 * Returns the error of a call, with the fields that tests expect.
 * @param {Promise<unknown>} call @returns {Promise<any>}
 */
export async function failure(call) {
  const answer = await call.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  if ('error' in answer) return answer.error;
  throw new Error(`it did not fail, and answered ${JSON.stringify(answer.value)}`);
}

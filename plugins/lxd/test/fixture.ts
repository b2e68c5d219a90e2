/**
 * A driver, its host and LXD, and the functions that tests use.
 */

import type { Request, Vm } from 'machinist-sdk';
import { InProgress } from 'machinist-sdk';
import { type Cloud, type GrantsText, MockDriver, sampleRequest } from 'machinist-sdk/mock';

import { LxdDriver } from '../src/driver.js';
import { FakeLxd } from './fake-lxd.js';

export const USER_DATA = '#cloud-config\nruncmd: [echo "hello"]\n';
export const SPEC = { image: { alias: 'small' }, config: { 'limits.cpu': '2', 'limits.memory': '2GiB' } };
export const CREDENTIALS = { clientCert: 'PEM', clientKey: 'PEM', serverCert: 'PEM' };

/** The grants of `grants.yaml`, as far as the mock reads them. */
export const GRANTS: GrantsText = {
  egress: [
    {
      host: 'lxd.test',
      ports: [8443],
      methods: ['GET', 'POST', 'PUT', 'DELETE'],
      paths: ['/1.0/instances', '/1.0/operations/', '/1.0/profiles/', '/1.0/resources'],
    },
  ],
  secrets: [{ key: 'userData', places: [{ json: '/config/cloud-init.user-data' }, { json: '/config/user.user-data' }] }],
};

export function driverOf(cloud: Cloud, settings: object = { endpoint: 'https://lxd.test:8443' }) {
  return new MockDriver(new LxdDriver(), { cloud, secrets: CREDENTIALS, userData: USER_DATA, settings, grants: GRANTS });
}

export function fixture() {
  const lxd = new FakeLxd();
  const driver = driverOf(lxd.answer);
  /** Returns the requests since the last call. */
  const sent = () =>
    driver.arrived.splice(0).map(({ method, url }) => `${method} ${url.pathname.replace(/operations\/[^/]+/, 'operations/ID')}`);
  return { lxd, driver, sent };
}

export function request(number: number, spec: object = {}, machine: object = {}): Request {
  return sampleRequest({
    spec: { ...SPEC, ...spec },
    machine: { name: `worker-${number}`, uid: `0f0e0d0c-0000-4000-8000-00000000000${number}`, ...machine },
    idempotencyKey: `key-${number}`,
    cluster: 'lab',
  });
}

/** The request after an answer: with the id of its VM, and the note for the next call. */
export function after(request: Request, vm: { providerId?: string; lastKnownState?: string }): Request {
  const { providerId = request.machine.providerId, lastKnownState = request.machine.lastKnownState } = vm;
  return { ...request, machine: { ...request.machine, providerId, lastKnownState } };
}

/** Calls `create` as the host does, until it does not answer "in progress". */
export async function created(driver: MockDriver, request: Request): Promise<Vm> {
  let asked = request;
  for (let calls = 0; calls < 50; calls += 1) {
    const answer = await driver.create(asked);
    if (!(answer instanceof InProgress)) return answer;
    asked = after(asked, { lastKnownState: answer.resumeToken });
  }
  throw new Error('the create does not end');
}

/** Calls `delete` until it does not answer "in progress". */
export async function deleted(driver: MockDriver, request: Request) {
  let asked = request;
  for (let calls = 0; calls < 50; calls += 1) {
    const answer = await driver.delete(asked);
    if (!(answer instanceof InProgress)) return answer;
    asked = after(asked, { lastKnownState: answer.resumeToken });
  }
  throw new Error('the deletion does not end');
}

/** Returns the error of a call, with the fields that tests expect. */
export async function failure(call: Promise<unknown>): Promise<any> {
  const answer = await call.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  if ('error' in answer) return answer.error;
  throw new Error(`it did not fail, and answered ${JSON.stringify(answer.value)}`);
}

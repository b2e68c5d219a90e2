/**
 * A driver that runs a function of the test in each call.
 */

import { Driver } from 'machinist-sdk';
import { MockDriver } from 'machinist-sdk/mock';

export const VM = { providerId: 'p:///1', nodeName: 'n', state: 'running' };

/**
 * @param {Record<string, (...args: any[]) => any>} methods
 * @param {import('machinist-sdk/mock').Surroundings} [surroundings]
 */
export function mock(methods, surroundings) {
  return new MockDriver(Object.assign(new Driver(), methods), surroundings);
}

/** Returns the error of a call. @param {Promise<unknown>} call @returns {Promise<any>} */
export async function failure(call) {
  const answer = await call.then(
    (value) => ({ value }),
    (error) => ({ error }),
  );
  if ('error' in answer) return answer.error;
  throw new Error(`it did not fail, and answered ${JSON.stringify(answer.value)}`);
}

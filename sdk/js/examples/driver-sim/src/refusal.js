/**
 * The cloud's error codes as codes of the contract.
 */

/** @import { Answer, Code, Refusal } from 'machinist-sdk' */

/** @type {Map<string, Pick<Refusal, 'code' | 'terminal' | 'advice'>>} */
const KNOWN = new Map(
  Object.entries(
    /** @type {Record<string, Pick<Refusal, 'code' | 'terminal' | 'advice'>>} */ ({
      invalid_parameter: { code: 'invalid-argument', terminal: true },
      image_not_found: { code: 'invalid-argument', terminal: true, advice: "correct image in the MachineClass's providerSpec" },
      unauthorized: { code: 'unauthenticated', terminal: true, advice: "correct token in the MachineClass's Secret" },
      forbidden: { code: 'permission-denied', advice: 'the token needs the right to change things' },
      quota_exceeded: { code: 'resource-exhausted', advice: "raise the account's quota or delete VMs" },
      capacity_exhausted: { code: 'resource-exhausted' },
      not_found: { code: 'not-found' },
      conflict: { code: 'aborted' },
      idempotency_mismatch: { code: 'aborted' },
      idempotency_gone: {
        code: 'failed-precondition',
        terminal: true,
        advice:
          'the VM of this Machine was deleted or died, and a Machine gets one VM only; delete the Machine, and its MachineSet makes another',
      },
      throttled: { code: 'unavailable' },
      internal: { code: 'unavailable' },
      unavailable: { code: 'unavailable' },
    }),
  ),
);

/**
 * Parses an answer with an error status. Undefined if it is not in the API's form. An unknown code is classified by its
 * status.
 * @param {Answer} answer @returns {Refusal | undefined}
 */
export function refusalOf(answer) {
  const { code: cloudCode, message } = fieldsOf(answer);
  if (typeof cloudCode !== 'string') return undefined;
  return { cloudCode, message: typeof message === 'string' ? message : 'no message', ...KNOWN.get(cloudCode) };
}

/** @param {Answer} answer @returns {{ code?: unknown, message?: unknown }} */
function fieldsOf(answer) {
  try {
    return /** @type {object | null} */ (answer.json()) ?? {};
  } catch {
    return {};
  }
}

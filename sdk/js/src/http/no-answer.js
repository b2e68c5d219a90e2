/**
 * Requests without an answer: the cause, and what to do.
 */

/** @import { Code } from '../contract.js' */
/** @import { ErrorCode } from 'wasi:http/types@0.2.12' */

import { DriverError } from '../error.js';

/**
 * `isUnsent`: the cloud has certainly not seen the request.
 * @typedef {object} Meaning
 * @property {Code} code
 * @property {boolean} isUnsent
 * @property {(host: string, detail: string) => string} explanation
 */

const MEANINGS = /** @satisfies {Record<string, Meaning>} */ ({
  denied: {
    code: 'failed-precondition',
    isUnsent: true,
    explanation: (host) =>
      `the host ${host} is not granted, or a secret not in its place: add ${host} with its scheme and port to egress, and the places of secrets to secrets, in the plugin's grants`,
  },
  'address-denied': {
    code: 'failed-precondition',
    isUnsent: true,
    explanation: (host) =>
      `the host ${host} leads to an address that is not granted: add the address's class (loopback, private, …) to addresses of ${host} in egress of the plugin's grants`,
  },
  'bad-request': {
    code: 'failed-precondition',
    isUnsent: true,
    explanation: (host, detail) =>
      `the request to ${host} is not usable${detail && `: ${detail}`}: check where the URL and the headers come from, such as the plugin's settings`,
  },
  'request-too-large': {
    code: 'invalid-argument',
    isUnsent: true,
    explanation: (host) => `the request to ${host} is too large: shorten the user data, or raise the limit in the grants`,
  },
  'no-such-host': {
    code: 'unavailable',
    isUnsent: true,
    explanation: (host) => `the host ${host} has no address: check it in the plugin's settings, and DNS`,
  },
  'connection-refused': {
    code: 'unavailable',
    isUnsent: true,
    explanation: (host) => `the host ${host} refuses connections: check that the cloud runs, and the host in the plugin's settings`,
  },
  unreachable: {
    code: 'unavailable',
    isUnsent: true,
    explanation: (host) => `the host ${host} cannot be reached: check the network towards it`,
  },
  tls: {
    code: 'unavailable',
    isUnsent: true,
    explanation: (host) =>
      `there is no TLS session with ${host}: check its certificate; an authority of its own belongs into ca of the plugin's grants`,
  },
  'no-time-left': {
    code: 'deadline-exceeded',
    isUnsent: true,
    explanation: (host) => `the call's time was over before ${host} could be asked`,
  },
  'timed-out': { code: 'deadline-exceeded', isUnsent: false, explanation: (host) => `no answer of ${host} in time` },
  'cut-off': { code: 'unavailable', isUnsent: false, explanation: (host) => `the connection to ${host} ended before the answer did` },
  'answer-too-large': { code: 'internal', isUnsent: false, explanation: (host) => `the answer of ${host} is larger than what is read` },
  other: { code: 'unknown', isUnsent: false, explanation: (host, detail) => `the request to ${host} failed: ${detail}` },
});

/** @typedef {keyof typeof MEANINGS} NoAnswerReason */

/**
 * Causes for errors of `wasi:http`. All others are `other`.
 * @type {Partial<Record<ErrorCode['tag'], NoAnswerReason>>}
 */
const OF_WASI = {
  'HTTP-request-denied': 'denied',
  'destination-IP-prohibited': 'address-denied',
  'HTTP-request-URI-invalid': 'bad-request',
  'HTTP-request-URI-too-long': 'bad-request',
  'HTTP-request-method-invalid': 'bad-request',
  'HTTP-request-body-size': 'request-too-large',
  'DNS-timeout': 'no-such-host',
  'DNS-error': 'no-such-host',
  'destination-not-found': 'no-such-host',
  'connection-refused': 'connection-refused',
  'connection-timeout': 'unreachable',
  'connection-limit-reached': 'unreachable',
  'destination-unavailable': 'unreachable',
  'destination-IP-unroutable': 'unreachable',
  'TLS-protocol-error': 'tls',
  'TLS-certificate-error': 'tls',
  'TLS-alert-received': 'tls',
  'HTTP-response-timeout': 'timed-out',
  'connection-read-timeout': 'timed-out',
  'connection-write-timeout': 'timed-out',
  'HTTP-response-incomplete': 'cut-off',
  'connection-terminated': 'cut-off',
  'HTTP-response-body-size': 'answer-too-large',
  'HTTP-response-header-section-size': 'answer-too-large',
  'HTTP-response-header-size': 'answer-too-large',
};

/** A request without an answer. Its message gives the cause, and what to do. */
export class NoAnswer extends Error {
  /**
   * @param {NoAnswerReason} reason
   * @param {string} host The host of the request.
   * @param {string} [detail]
   */
  constructor(reason, host, detail = '') {
    super(MEANINGS[reason].explanation(host, detail));
    this.name = 'NoAnswer';
    this.reason = reason;
  }

  /** @param {ErrorCode} error @param {string} host */
  static ofWasi(error, host) {
    const detail = 'val' in error && error.val !== undefined ? `${error.tag} (${JSON.stringify(error.val)})` : error.tag;
    return new NoAnswer(OF_WASI[error.tag] ?? 'other', host, detail);
  }

  /** The contract's code, by which the host decides. @returns {Code} */
  get code() {
    return MEANINGS[this.reason].code;
  }

  /** True if the request may have reached the cloud. */
  get mayHaveBeenSent() {
    return !MEANINGS[this.reason].isUnsent;
  }

  /**
   * @param {object} what
   * @param {string} what.doing As in "failed to …".
   * @param {boolean} what.changes Whether the request changes the cloud.
   */
  asDriverError({ doing, changes }) {
    return new DriverError(this.code, `failed to ${doing}: ${this.message}`, { mayHaveHappened: changes && this.mayHaveBeenSent });
  }
}

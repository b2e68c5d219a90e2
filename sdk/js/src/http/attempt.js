/**
 * One request to the cloud, and its failures as errors of the contract.
 */

/** @import { Code, ErrorFacts, HttpRequest } from '../contract.js' */
/** @import { Http } from './request.js' */

import { isCutOff } from './answer.js';
import { DriverError, quoted } from '../error.js';
import { NoAnswer } from './no-answer.js';

/** @import { Answer } from './answer.js' */

/**
 * An error of a cloud, with facts beyond the HTTP status: `code` overrules the status.
 * @typedef {object} Refusal
 * @property {string} cloudCode The cloud's own code.
 * @property {string} message The cloud's message; the error quotes its beginning.
 * @property {Code} [code]
 * @property {boolean} [terminal]
 * @property {string} [advice] Advice for a person, if the cloud gives none.
 */

/**
 * Returns the code for an error of which only the status is known.
 * @param {number} status
 * @returns {Code}
 */
export function codeOfStatus(status) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return 'invalid-argument';
    case 401:
      return 'unauthenticated';
    case 403:
      return 'permission-denied';
    case 404:
      return 'not-found';
    case 408:
    case 504:
      return 'deadline-exceeded';
    case 409:
      return 'aborted';
    case 410:
    case 412:
      return 'failed-precondition';
    case 429:
      return 'unavailable';
    default:
      return status >= 500 && status < 600 ? 'unavailable' : 'unknown';
  }
}

/** One request to the cloud, with the facts that its errors need. */
export class Attempt {
  #http;

  /**
   * @param {Http} http
   * @param {object} what
   * @param {string} what.doing As in "failed to …".
   * @param {string} what.host The host that receives the request.
   * @param {boolean} what.changes Whether the request changes the cloud: only then it may have happened.
   */
  constructor(http, { doing, host, changes }) {
    this.#http = http;
    this.doing = doing;
    this.host = host;
    this.changes = changes;
  }

  /**
   * Returns the cloud's answer, whatever its status.
   * @param {HttpRequest} request
   * @returns {Promise<Answer>}
   */
  async send(request) {
    try {
      return await this.#http.send(request);
    } catch (error) {
      throw error instanceof NoAnswer ? error.asDriverError(this) : error;
    }
  }

  /**
   * Returns the JSON of a success. Throws the corresponding error for everything else.
   * @param {Answer} answer
   * @param {(answer: Answer) => Refusal | undefined} refusalOf Reads an error in the cloud's
   *   own form; undefined if the answer has another form.
   * @returns {unknown}
   */
  json(answer, refusalOf) {
    if (answer.isHtml) throw this.foreign(answer, 'an HTML page');
    if (!answer.isSuccess) {
      const refusal = refusalOf(answer);
      throw refusal ? this.refused(answer, refusal) : this.foreign(answer, "something that is not the cloud's");
    }
    try {
      return answer.json();
    } catch {
      throw isCutOff(answer.text()) ? this.foreign(answer, 'with half of an answer') : this.unexpected('is not JSON');
    }
  }

  /**
   * * Returns the error for a refusal in the cloud's own form.
   * @param {Answer} answer
   * @param {Refusal} refusal
   */
  refused({ status, retryAfterMs }, { cloudCode, message, code, terminal, advice }) {
    const text = `failed to ${this.doing}: ${quoted(message)} (${quoted(cloudCode)})${advice ? `: ${advice}` : ''}`;
    const facts = { cloudCode: quoted(cloudCode), retryAfterMs, terminal, mayHaveHappened: this.changes && status >= 500 };
    return new DriverError(code ?? codeOfStatus(status), text, facts);
  }

  /**
   * Returns the error for an answer that does not come from the cloud itself: a proxy's page, or half an answer.
   * @param {Answer} answer
   * @param {string} what
   */
  foreign({ status, retryAfterMs }, what) {
    const text = `${this.host} answered ${what} with status ${status}: look at what is in between`;
    return this.#failed('unavailable', text, { retryAfterMs, mayHaveHappened: this.changes });
  }

  /** Returns the error for a complete answer that violates the cloud's API. @param {string} what */
  unexpected(what) {
    return this.#failed('internal', `the answer of ${this.host} ${what}`, { mayHaveHappened: this.changes });
  }

  /** @param {Code} code @param {string} text @param {ErrorFacts} facts */
  #failed(code, text, facts) {
    return new DriverError(code, `failed to ${this.doing}: ${text}`, facts);
  }
}

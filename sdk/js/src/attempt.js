/**
 * One thing that is tried in the cloud, and what each way of failing means for the host.
 */

/** @import { Code, ErrorFacts, HttpRequest } from './contract.js' */
/** @import { Http } from './http.js' */

import { isCutOff } from './answer.js';
import { DriverError, quoted } from './error.js';
import { Trouble } from './trouble.js';

/** @import { Answer } from './answer.js' */

/**
 * What an error of a cloud says, where the status alone does not: `code` and `facts` overrule what the status means.
 * @typedef {object} Refusal
 * @property {string} cloudCode The cloud's own code.
 * @property {string} message The cloud's own words; quoted in part.
 * @property {Code} [code]
 * @property {boolean} [terminal]
 * @property {string} [advice] What a person can do, where the cloud does not say it.
 */

/**
 * How a status is to be taken that nobody knows better.
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

/** Something that is tried, for the errors of it. */
export class Attempt {
  #http;

  /**
   * @param {Http} http
   * @param {object} what
   * @param {string} what.doing As in "failed to …".
   * @param {string} what.host Whom it is asked of.
   * @param {boolean} what.changes Whether it changes the cloud: only then it may have happened.
   */
  constructor(http, { doing, host, changes }) {
    this.#http = http;
    this.doing = doing;
    this.host = host;
    this.changes = changes;
  }

  /**
   * The cloud's answer, whatever its status.
   * @param {HttpRequest} request
   * @returns {Promise<Answer>}
   */
  async send(request) {
    try {
      return await this.#http.send(request);
    } catch (error) {
      throw error instanceof Trouble ? error.asDriverError(this) : error;
    }
  }

  /**
   * The JSON of a success. Throws for everything else what it means.
   * @param {Answer} answer
   * @param {(answer: Answer) => Refusal | undefined} refusalOf Reads an error in the cloud's own form; undefined when it is none.
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
      throw isCutOff(answer.text()) ? this.foreign(answer, 'with half of an answer') : this.odd('is not JSON');
    }
  }

  /**
   * An error in the cloud's own form.
   * @param {Answer} answer
   * @param {Refusal} refusal
   */
  refused({ status, retryAfterMs }, { cloudCode, message, code, terminal, advice }) {
    const text = `failed to ${this.doing}: ${quoted(message)} (${quoted(cloudCode)})${advice ? `: ${advice}` : ''}`;
    const facts = { cloudCode: quoted(cloudCode), retryAfterMs, terminal, mayHaveHappened: this.changes && status >= 500 };
    return new DriverError(code ?? codeOfStatus(status), text, facts);
  }

  /**
   * An answer that the cloud itself does not give: a proxy's page, or half of one.
   * @param {Answer} answer
   * @param {string} what
   */
  foreign({ status, retryAfterMs }, what) {
    const text = `${this.host} answered ${what} with status ${status}: look at what is in between`;
    return this.#failed('unavailable', text, { retryAfterMs, mayHaveHappened: this.changes });
  }

  /** A whole answer that is not what the cloud's documents say. @param {string} what */
  odd(what) {
    return this.#failed('internal', `the answer of ${this.host} ${what}`, { mayHaveHappened: this.changes });
  }

  /** @param {Code} code @param {string} text @param {ErrorFacts} facts */
  #failed(code, text, facts) {
    return new DriverError(code, `failed to ${this.doing}: ${text}`, facts);
  }
}

/**
 * The standard rule: `Ready` is True, and no condition on the list has another status than False.
 */

/** @import { Condition, Question, Status } from './contract.js' */

/** The condition by which a kubelet reports that its Node accepts pods. */
export const READY = 'Ready';

/**
 * The reason why a Node is unhealthy: one text for one state, and the time of the earliest cause.
 * @typedef {{ because: string, since: number }} Sickness
 */

/**
 * Returns the problem of a Node; undefined if it is healthy. A missing `Ready` is unhealthy: such a Node has not shown
 * that it works.
 * @param {Question} question
 * @param {readonly string[]} mustBeFalse
 * @param {number} now
 * @returns {Sickness | undefined}
 */
export function sickness({ node, history }, mustBeFalse, now) {
  const phaseSince = history.phaseSince ?? now;
  if (!node) return { because: 'the Node is gone', since: phaseSince };
  const against = node.conditions.filter((condition) => speaksAgainst(condition, mustBeFalse));
  const found = against.map(({ kind, status, since }) => ({ because: `${kind} is ${NAMES[status]}`, since: since ?? phaseSince }));
  if (!node.conditions.some(({ kind }) => kind === READY)) {
    found.push({ because: `${READY} is missing`, since: node.created ?? phaseSince });
  }
  if (found.length === 0) return undefined;
  const texts = new Set(found.map(({ because }) => because));
  return { because: [...texts].sort().join(', '), since: Math.min(...found.map(({ since }) => since)) };
}

/** @type {Record<Status, string>} */
const NAMES = { true: 'True', false: 'False', unknown: 'Unknown' };

/** @param {Condition} condition @param {readonly string[]} mustBeFalse */
function speaksAgainst({ kind, status }, mustBeFalse) {
  return (kind === READY && status !== 'true') || (status !== 'false' && mustBeFalse.includes(kind));
}

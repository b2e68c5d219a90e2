/**
 * The rule that everybody knows: `Ready` is True, and nothing on the list is anything but False.
 */

/** @import { Condition, Question, Status } from './contract.js' */

/** The condition that a kubelet keeps for "this Node takes pods". */
export const READY = 'Ready';

/**
 * What speaks against a Node: one text for one state of things, and since when the first of it.
 * @typedef {{ because: string, since: number }} Sickness
 */

/**
 * Undefined: the Node is healthy. A missing `Ready` is not: a Node that says nothing of itself has not shown that it works.
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

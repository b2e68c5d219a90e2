import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MockPolicy, sampleCondition, sampleQuestion } from 'machinist-sdk/mock';
import { Policy, sickness } from 'machinist-sdk/policy';

/** @param {[string, 'true' | 'false' | 'unknown'][]} conditions */
function found(conditions) {
  const asked = sampleQuestion();
  asked.node = asked.node && { ...asked.node, conditions: conditions.map(([kind, status]) => sampleCondition(kind, status, 50)) };
  return sickness(asked, ['DiskPressure'], 100)?.because;
}

test('a Node is healthy when it is ready and nothing listed speaks against it', () => {
  assert.equal(found([['Ready', 'true']]), undefined);
  assert.equal(
    found([
      ['Ready', 'true'],
      ['DiskPressure', 'false'],
      ['MemoryPressure', 'true'],
    ]),
    undefined,
  );
  assert.equal(found([['Ready', 'false']]), 'Ready is False');
  assert.equal(
    found([
      ['Ready', 'true'],
      ['DiskPressure', 'unknown'],
    ]),
    'DiskPressure is Unknown',
  );
  assert.equal(
    found([
      ['Ready', 'false'],
      ['DiskPressure', 'true'],
    ]),
    'DiskPressure is True, Ready is False',
  );
  assert.equal(found([]), 'Ready is missing');
  assert.equal(found([['ready', 'true']]), 'Ready is missing');
});

test('a sickness is as old as its oldest cause, and as the phase where nobody says', () => {
  const asked = sampleQuestion();
  asked.node = asked.node && {
    ...asked.node,
    conditions: [sampleCondition('Ready', 'false', 80), sampleCondition('DiskPressure', 'true', 30)],
  };
  assert.equal(sickness(asked, ['DiskPressure'], 100)?.since, 30);
  const gone = { ...sampleQuestion(), node: undefined };
  gone.history.phaseSince = 70;
  assert.deepEqual(sickness(gone, [], 100), { because: 'the Node is gone', since: 70 });
});

/** @param {any} verdict */
function answering(verdict) {
  const policy = Object.assign(new Policy(), { readSettings: () => ({}), evaluate: () => verdict });
  return new MockPolicy(/** @type {any} */ (policy));
}

test('a verdict comes back as it was given', () => {
  const verdict = { health: 'unhealthy', since: 5, reason: 'because', action: 'reboot', holdsUntil: 9 };
  assert.deepEqual(answering(verdict).evaluate(sampleQuestion(), {}, 1), verdict);
  const healthy = answering({ health: 'healthy', reason: 'fine', holdsUntil: 9 }).evaluate(sampleQuestion(), {}, 1);
  assert.deepEqual([healthy.health, healthy.action], ['healthy', 'none']);
});

test('a policy with a defect breaks, and the log says why', () => {
  const fine = { health: 'healthy', reason: 'fine', holdsUntil: 9 };
  for (const verdict of [
    undefined,
    { ...fine, health: 'well' },
    { ...fine, reason: 7 },
    { ...fine, action: 'explode' },
    { ...fine, holdsUntil: NaN },
    { ...fine, health: 'unhealthy' },
  ]) {
    const policy = answering(verdict);
    assert.throws(() => policy.evaluate(sampleQuestion(), {}, 1), TypeError);
    assert.deepEqual(
      policy.lines.map(({ level, message }) => [level, message]),
      [['error', 'the policy has a defect']],
    );
  }
});

test('settings that are no object are refused before the policy sees them', () => {
  const policy = answering({});
  for (const text of ['', 'null', '[]', '7', '{']) assert.match(String(policy.problemOf(text)), /JSON/);
  assert.equal(policy.problemOf('{}'), undefined);
});

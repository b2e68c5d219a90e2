import assert from 'node:assert/strict';
import { test } from 'node:test';

import { MockPolicy, sampleCondition, sampleQuestion } from 'machinist-sdk/mock';

import settingsSchema from '../src/settings-schema.json';
import { Zone } from '../src/zone.js';

const HELD = 'unknown until 31000: at least 50 % of the Machines in failure domain zone-a are silent: held until that is over';
const SICK = 'unhealthy until 31000: Ready is Unknown';

function silent(machines: number, silent: number, name: string | undefined = 'zone-a') {
  const asked = sampleQuestion();
  asked.node!.conditions = [sampleCondition('Ready', 'unknown', 400)];
  asked.domain = { name, machines, silent };
  return asked;
}

function verdict(settings: object, question: ReturnType<typeof sampleQuestion>) {
  const { health, holdsUntil, reason } = new MockPolicy(new Zone()).evaluate(question, settings, 1_000);
  return `${health} until ${holdsUntil}: ${reason}`;
}

test('a sick machine is held from half of its domain on', () => {
  assert.equal(verdict({}, silent(4, 1)), SICK);
  assert.equal(verdict({}, silent(4, 2)), HELD);
  assert.equal(verdict({}, silent(5, 2)), SICK);
  assert.equal(verdict({}, silent(5, 5)), HELD);
  assert.equal(verdict({ silentPercent: 30 }, silent(10, 3)), HELD.replace('50', '30'));
});

test('a domain with few machines is never silent', () => {
  assert.equal(verdict({}, silent(2, 2)), SICK);
  assert.equal(verdict({ leastMachines: 2 }, silent(2, 2)), HELD);
});

test('a healthy machine is healthy however silent its domain is', () => {
  const asked = sampleQuestion();
  Object.assign(asked.domain, { machines: 10, silent: 9 });
  assert.equal(verdict({}, asked), 'healthy until 43201000: the Node is ready');
});

test('a domain without a name is one too', () => {
  const asked = silent(3, 3);
  asked.domain.name = undefined;
  assert.equal(verdict({}, asked), HELD.replace('failure domain zone-a', 'an unknown failure domain'));
});

test('a sick machine of a calm domain is to be replaced, and its sickness has an age', () => {
  const { action, since } = new MockPolicy(new Zone()).evaluate(silent(4, 1), {}, 1_000);
  assert.deepEqual([action, since], ['replace', 400]);
});

test('settings that cannot be are named', () => {
  const problem = (settings: object | string) => new MockPolicy(new Zone()).problemOf(settings);
  assert.equal(problem({}), undefined);
  assert.equal(problem({ silentPercent: 0 }), 'silentPercent must be a whole number from 1 to 100, got 0');
  assert.equal(problem({ leastMachines: 1 }), 'leastMachines must be a whole number from 2 to 4294967295, got 1');
  assert.match(problem({ recheckSeconds: -1 })!, /-1/);
  assert.match(problem({ colour: 'blue' })!, /^colour is not a setting/);
  for (const settings of ['', '[]', '7', '{']) assert.match(problem(settings)!, /JSON/);
});

test('the schema names the settings', () => {
  assert.deepEqual(Object.keys(settingsSchema.properties), ['silentPercent', 'leastMachines', 'recheckSeconds']);
});

/**
 * Exactly one instance, and none left behind, whatever is lost: each request of a life, one after the other, loses its
 * answer, or itself, or the host dies at it. With the variable `LXD_TEST_URL` the same is done to a real LXD
 * (`tests/clouds/lxd` sets it).
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { type CloudAnswer, type CloudRequest, MockDriver, NoAnswer } from 'machinist-sdk/mock';
import { InProgress, type Request } from 'machinist-sdk';

import { LxdDriver } from '../src/driver.js';
import { FakeLxd } from './fake-lxd.js';
import { after, request, USER_DATA } from './fixture.js';

declare const process: { env: Record<string, string | undefined> };

/** The death of the host: nobody gets the answer of the call, nor its note. */
class Killed extends Error {}

type Loss = 'answer' | 'request' | 'host before' | 'host after';
const LOSSES: Loss[] = ['answer', 'request', 'host before', 'host after'];
/** More requests than a life has. */
const MOST_REQUESTS = 40;
const URL_OF_LXD = process.env.LXD_TEST_URL;

interface Stage {
  endpoint: string;
  send(request: CloudRequest): Promise<CloudAnswer>;
  count(uid: string): Promise<{ instances: number; running: number }>;
}

function fake(rounds: number): Stage {
  const lxd = new FakeLxd();
  lxd.rounds = rounds;
  return {
    endpoint: 'http://lxd.test:8080',
    send: async (asked) => lxd.answer(asked),
    count: async (uid) => {
      const own = lxd.live.filter(({ config }) => config['user.machinist-uid'] === uid);
      return { instances: own.length, running: own.filter(({ status }) => status === 'Running').length };
    },
  };
}

/** A real LXD behind the proxy of the tests. */
function real(url: string): Stage {
  return {
    endpoint: url,
    send: async ({ method, url: asked, headers, body }) => {
      const answer = await fetch(`${url}${asked.pathname}${asked.search}`, {
        method,
        headers,
        body: body.length > 0 ? (body as any) : undefined,
      });
      return { status: answer.status, headers: Object.fromEntries(answer.headers), body: new Uint8Array(await answer.arrayBuffer()) };
    },
    count: async (uid) => {
      const answer = await fetch(`${url}/1.0/instances?recursion=1&filter=config.user.machinist-uid%20eq%20${uid}`);
      const { metadata } = (await answer.json()) as { metadata: { status: string }[] };
      return { instances: metadata.length, running: metadata.filter(({ status }) => status === 'Running').length };
    },
  };
}

/** One life, in which the request with this number is lost. Returns how many requests it sent. */
async function live(world: Stage, number: number, lostAt: number, loss: Loss): Promise<number> {
  let sent = 0;
  const cloud = async (asked: CloudRequest) => {
    sent += 1;
    if (sent !== lostAt) return world.send(asked);
    if (loss === 'host before') throw new Killed();
    if (loss === 'request') throw new NoAnswer('cut-off', 'lxd.test');
    await world.send(asked);
    throw loss === 'host after' ? new Killed() : new NoAnswer('timed-out', 'lxd.test');
  };
  const driver = new MockDriver(new LxdDriver(), { cloud, userData: USER_DATA, settings: { endpoint: world.endpoint } });
  const { machine } = request(1);
  const uid = `${machine.uid.slice(0, -6)}${String(number).padStart(6, '0')}`;
  let asked = request(1, {}, { uid });
  asked = await make(driver, asked);
  assert.deepEqual(await world.count(uid), { instances: 1, running: 1 }, `${loss} ${lostAt}`);
  assert.equal((await steady(asked, (now) => driver.getStatus(now))).providerId, asked.machine.providerId);
  await end(asked, (now) => driver.delete(now));
  assert.deepEqual(await world.count(uid), { instances: 0, running: 0 }, `${loss} ${lostAt}`);
  return sent;
}

/**
 * Creates as the host does: after an error it looks whether there is an instance, and takes it as it is.
 */
async function make(driver: MockDriver, asked: Request): Promise<Request> {
  let now = asked;
  for (let calls = 0; calls < 100; calls += 1) {
    try {
      const answer = await driver.create(now);
      if (!(answer instanceof InProgress)) return after(now, answer);
      now = after(now, { lastKnownState: answer.resumeToken });
      continue;
    } catch (error: any) {
      if (!(error instanceof Killed) && !isPassing(error)) throw error;
      now = after(now, { lastKnownState: error.facts?.lastKnownState ?? now.machine.lastKnownState });
    }
    try {
      return after(now, await steady(now, (looked) => driver.getStatus(looked)));
    } catch (error: any) {
      if (error.code === 'not-found') continue;
      if (error.code !== 'uninitialized') throw error;
      return end(after(now, { providerId: error.facts.providerId }), (begun) => driver.initialize(begun));
    }
  }
  throw new Error('the create does not end');
}

/** Calls again, as the host does, until there is an answer. A host that died has no note of the call. */
async function end(asked: Request, call: (asked: Request) => Promise<any>): Promise<Request> {
  let now = asked;
  for (let calls = 0; calls < 100; calls += 1) {
    try {
      const answer = await call(now);
      if (!(answer instanceof InProgress)) return after(now, answer);
      now = after(now, { lastKnownState: answer.resumeToken });
      if (URL_OF_LXD !== undefined) await new Promise((resume) => setTimeout(resume, 50));
    } catch (error: any) {
      if (!(error instanceof Killed) && !isPassing(error)) throw error;
      now = after(now, { lastKnownState: error.facts?.lastKnownState ?? now.machine.lastKnownState });
    }
  }
  throw new Error('it does not end');
}

async function steady<T>(asked: Request, call: (asked: Request) => Promise<T>): Promise<T> {
  try {
    return await call(asked);
  } catch (error) {
    if (error instanceof Killed || isPassing(error)) return call(asked);
    throw error;
  }
}

/** The death of the host reaches the driver as an exception of its request. */
function isPassing(error: any) {
  return ['unavailable', 'deadline-exceeded', 'aborted', 'internal', 'unknown'].includes(error.code);
}

const worlds: [string, () => Stage][] =
  URL_OF_LXD === undefined
    ? [0, 1, 3].map((rounds) => [`operations that take ${rounds} waits`, () => fake(rounds)])
    : [['a real LXD', () => real(URL_OF_LXD)]];

for (const [name, make] of worlds) {
  for (const loss of LOSSES) {
    test(`one instance and none left, when each request in turn loses its ${loss}, with ${name}`, async () => {
      let number = LOSSES.indexOf(loss) * MOST_REQUESTS;
      let lostAt = 0;
      for (;;) {
        lostAt += 1;
        number += 1;
        const sent = await live(make(), number, lostAt, loss);
        if (sent < lostAt) break;
        assert.ok(lostAt < MOST_REQUESTS, 'a life has no end');
      }
      assert.ok(lostAt > 9, `a life has ${lostAt} requests`);
    });
  }
}

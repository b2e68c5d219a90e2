/**
 * The removal of a Machine's instances: stop, delete, until LXD has said that it is gone. Each call looks again, so it
 * does not matter where the call before ended. LXD removes the root disk with the instance; the driver makes nothing
 * else.
 */

import { DriverError, InProgress, type Log, type Request } from 'machinist-sdk';

import type { Api } from './api.js';
import { belongs, instanceName, isOwn, leaveAlone } from './marks.js';
import { type Instance, isStopped } from './objects.js';
import { noteOf, partsOf, projectFor } from './progress.js';
import { BUSY, failureOf, IS_RUNNING, IS_STOPPED, nameOf, NOT_FOUND } from './refusal.js';
import { waitSeconds } from './waits.js';

const ASK_AGAIN_MS = 1_000;

/** `gone`: LXD has removed it, or there was none. */
type Progress = 'gone' | 'busy';

export class Removal {
  constructor(
    private readonly api: Api,
    private readonly log: Log,
    private readonly remainingMs: () => number,
  ) {}

  /** Removes every instance with the Machine's marks. */
  async run(request: Request): Promise<InProgress | { lastKnownState: string }> {
    const project = projectFor(request);
    let isBusy = false;
    const own = await this.own(request);
    for (const instance of own) {
      isBusy = (await this.remove(project, instance.name, isStopped(instance))) === 'busy' || isBusy;
    }
    const name = instanceName(request);
    if (!own.some((instance) => instance.name === name)) {
      // The name is made from the uid, so the order needs no look, and it is never late as a look may be.
      isBusy = (await this.order(project, name)) === 'busy' || isBusy;
    }
    const note = noteOf(project);
    if (!isBusy) return { lastKnownState: note };
    return new InProgress({ resumeToken: note, askAgainMs: ASK_AGAIN_MS, message: 'LXD stops and removes the instance' });
  }

  /**
   * Finds the instances by the Machine's marks, and beside them the one to which the provider id leads; without an id
   * the one with the name that the Machine's has.
   */
  private async own(request: Request): Promise<Instance[]> {
    const { cluster, machine } = request;
    const project = projectFor(request);
    const found = await this.api.find(project, cluster, machine.uid);
    const name = partsOf(machine.providerId)?.name ?? instanceName(request);
    if (found.some((instance) => instance.name === name)) return found;
    const instance = await this.api.get(project, name);
    if (!instance) return found;
    const isMeant = machine.providerId === undefined ? isOwn(instance, request) : belongs(instance, request);
    if (isMeant) return [...found, instance];
    this.log.info("another Machine's instance, left alone", { instance: name });
    leaveAlone(instance, request);
    return found;
  }

  private async order(project: string, name: string): Promise<Progress> {
    try {
      return await this.remove(project, name, true);
    } catch (error) {
      if (error instanceof DriverError && error.cloudCode === IS_RUNNING) return this.remove(project, name, false);
      throw error;
    }
  }

  private async remove(project: string, name: string, isStopped: boolean): Promise<Progress> {
    if (!isStopped) {
      const stopped = await this.finish(project, 'stop the instance', await this.api.setState(project, name, 'stop'), [IS_STOPPED]);
      if (stopped === 'busy') return 'busy';
    }
    return this.finish(project, 'delete the instance', await this.api.remove(project, name), []);
  }

  /** Waits for an operation. `harmless` are errors that mean that there was nothing to do. */
  private async finish(project: string, doing: string, operation: string | undefined, harmless: string[]): Promise<Progress> {
    if (operation === undefined) return 'gone';
    const outcome = await this.api.wait(project, operation, waitSeconds(this.remainingMs()));
    if (outcome.is === 'done') return 'gone';
    // The next call sees how it ended.
    if (outcome.is !== 'failed') return 'busy';
    const name = nameOf(outcome.error);
    if (name === NOT_FOUND || (name !== undefined && harmless.includes(name))) return 'gone';
    // Something else is at work on it: its creation, or another call.
    if (name === BUSY || name === IS_RUNNING) return 'busy';
    throw failureOf(doing, outcome.error, true);
  }
}

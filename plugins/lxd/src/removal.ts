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
import { hasTime, waitSeconds } from './waits.js';

const ASK_AGAIN_MS = 1_000;

/** How an order ended. `gone`: it is done, or there was nothing to do. */
type Progress = 'gone' | 'busy' | 'running';

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
      isBusy = (await this.remove(project, instance.name, isStopped(instance))) !== 'gone' || isBusy;
    }
    const name = instanceName(request);
    if (!own.some((instance) => instance.name === name)) {
      // The name is made from the uid, so the order needs no look, and it is never late as a look may be.
      isBusy = (await this.remove(project, name, true)) !== 'gone' || isBusy;
    }
    const note = noteOf(project);
    if (!isBusy) return { lastKnownState: note };
    return new InProgress({ resumeToken: note, askAgainMs: ASK_AGAIN_MS, message: 'LXD stops and removes the instance' });
  }

  /** Removes this instance and no other. */
  async one(project: string, instance: Instance): Promise<void> {
    await this.remove(project, instance.name, isStopped(instance));
    this.log.info('second instance ordered away', { instance: instance.name });
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

  /** Stops the instance and removes it; one that seems to be stopped is only stopped if LXD says that it runs. */
  private async remove(project: string, name: string, isStopped: boolean): Promise<Progress> {
    const remove = () => this.finish(project, 'delete the instance', this.api.remove(project, name));
    if (isStopped) {
      const removed = await remove();
      if (removed !== 'running') return removed;
    }
    const stopped = await this.finish(project, 'stop the instance', this.api.setState(project, name, 'stop'));
    return stopped === 'gone' && hasTime(this.remainingMs()) ? remove() : 'busy';
  }

  /** Waits for an order and its operation. Newer versions refuse at once, older ones in the operation. */
  private async finish(project: string, doing: string, order: Promise<string | undefined>): Promise<Progress> {
    let operation: string | undefined;
    try {
      operation = await order;
    } catch (error) {
      const progress = error instanceof DriverError ? progressOf(error.cloudCode) : undefined;
      if (progress === undefined) throw error;
      return progress;
    }
    if (operation === undefined) return 'gone';
    const outcome = await this.api.wait(project, operation, waitSeconds(this.remainingMs()));
    if (outcome.is === 'done') return 'gone';
    // The next call sees how it ended.
    if (outcome.is !== 'failed') return 'busy';
    const progress = progressOf(nameOf(outcome.error));
    if (progress === undefined) throw failureOf(doing, outcome.error, true);
    return progress;
  }
}

/** The state of the instance by an error which says that there is nothing to do, or that others work on it. */
function progressOf(name: string | undefined): Progress | undefined {
  switch (name) {
    case NOT_FOUND:
    case IS_STOPPED:
      return 'gone';
    case BUSY:
      return 'busy';
    case IS_RUNNING:
      return 'running';
    default:
      return undefined;
  }
}

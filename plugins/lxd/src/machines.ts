/**
 * How a Machine's instance comes to be, and how it is found.
 *
 * A create is four requests: order the instance, wait, order the start, wait. Each wait is short. If an operation takes
 * longer, the call ends with "in progress", and the note with the operation's id comes back in the next call. The note
 * only saves requests: without it LXD refuses the second instance of the name, and the driver takes the first one from
 * where it is.
 */

import { type Class, DriverError, InProgress, type Log, type Page, quoted, type Request, type Vm } from 'machinist-sdk';

import type { Api } from './api.js';
import { belongs, instanceName, isOf, isOwn, leaveAlone, marks, NAME_KEY, UID_KEY } from './marks.js';
import { type Instance, isStopped, isUnstarted, isUp, milliseconds, type Outcome, stateOf } from './objects.js';
import { noteOf, partsOf, projectFor, providerId, startedAt, startedNote, type Step, stepOf } from './progress.js';
import { BUSY, EXISTS, failureOf, IS_RUNNING, nameOf, NOT_FOUND, unless } from './refusal.js';
import { Removal } from './removal.js';
import { projectOf, type Spec } from './spec.js';
import { hasTime, waitSeconds } from './waits.js';

/** The time until the next call about an operation that runs. */
const ASK_AGAIN_MS = 1_000;
/** Steps of one call. A create has two. */
const TURNS = 8;
/** Instances of one page: LXD shows the user data of each twice, and the host reads 4 MiB. */
const PAGE = 16;
const SHOWN = 5;

export class Machines {
  constructor(
    private readonly api: Api,
    private readonly log: Log,
    private readonly remainingMs: () => number,
  ) {}

  /** Makes and starts the instance, or continues where an earlier call ended. */
  async create(request: Request, spec: Spec, userData: () => string | undefined): Promise<Vm | InProgress> {
    const [project, name] = [projectFor(request), instanceName(request)];
    let step = stepOf(request) ?? (await this.order(request, spec, userData()));
    let location: string | undefined;
    for (let turns = 0; turns < TURNS; turns += 1) {
      if (turns > 0 && !hasTime(this.remainingMs())) return inProgress(project, step);
      if (step.step === 'look') {
        const instance = await this.found(request);
        if (!isStopped(instance)) return vmOf(project, instance);
        const next = await ordered(this.start(request));
        if (next instanceof InProgress) return next;
        step = next;
        continue;
      }
      const outcome = await ordered(this.api.wait(project, step.operation, waitSeconds(this.remainingMs())), noteOf(project, step));
      if (outcome.is === 'running') return inProgress(project, step);
      if (outcome.is === 'done') {
        location = outcome.location ?? location;
        if (step.step === 'start') return made(project, name, location);
        const next = await ordered(this.start(request));
        if (next instanceof InProgress) return next;
        step = next;
        continue;
      }
      const next = afterFailure(project, step, outcome);
      if (next instanceof InProgress) return next;
      step = next;
    }
    // LXD says that it runs and shows it stopped: somebody else starts and stops it.
    return inProgress(project, step);
  }

  /** Orders the instance. Newer versions say at once that the name is taken, and not in the operation. */
  private async order(request: Request, spec: Spec, userData: string | undefined): Promise<Step> {
    const { type, image, profiles, devices, config, target, userDataKey } = spec;
    const pull = image.server === undefined ? {} : { mode: 'pull', protocol: image.protocol ?? 'simplestreams' };
    const order = this.api.create(projectFor(request), target, {
      name: instanceName(request),
      type,
      source: { type: 'image', ...image, ...pull },
      profiles,
      config: { ...config, ...marks(request), ...(userData !== undefined && { [userDataKey]: userData }) },
      devices,
    });
    const operation = await unless([EXISTS, BUSY], order);
    return operation === undefined ? { step: 'look' } : { step: 'create', operation };
  }

  /** Orders the start. An instance that is not there, or that runs already, is looked at. */
  private async start(request: Request): Promise<Step | InProgress> {
    const project = projectFor(request);
    try {
      const operation = await unless([IS_RUNNING], this.api.setState(project, instanceName(request), 'start'));
      return operation === undefined ? { step: 'look' } : { step: 'start', operation };
    } catch (error) {
      if (error instanceof DriverError && error.cloudCode === BUSY) return inProgress(project, { step: 'look' });
      throw error;
    }
  }

  /** Returns the instance that has the name of the Machine's, if it is the Machine's. */
  private async found(request: Request): Promise<Instance> {
    const name = instanceName(request);
    // The name is taken, perhaps by this Machine's instance.
    const instance = await ordered(this.api.get(projectFor(request), name));
    if (!instance) throw lost(request);
    if (isOwn(instance, request)) return instance;
    leaveAlone(instance, request);
    throw new DriverError('already-exists', `the name ${name} belongs to another Machine's instance: delete it, or use another project`);
  }

  /**
   * Starts an instance whose create was interrupted between order and start. Sends no request if the create has noted
   * the start.
   */
  async initialize(request: Request): Promise<Vm> {
    const { providerId: id } = request.machine;
    const known = partsOf(id);
    const started = startedAt(request);
    if (known && started) return made(known.project, known.name, started.location);
    const project = projectFor(request);
    const instance = await this.locate(request);
    if (!instance) throw notFound(request);
    if (!isUnstarted(instance)) return vmOf(project, instance);
    const operation = await unless([IS_RUNNING, BUSY], this.api.setState(project, instance.name, 'start'));
    const outcome = operation === undefined ? undefined : await this.api.wait(project, operation, waitSeconds(this.remainingMs()));
    if (outcome?.is === 'done') return made(project, instance.name, instance.location);
    if (outcome?.is === 'failed' && ![BUSY, IS_RUNNING].includes(nameOf(outcome.error) ?? '')) {
      throw failureOf('start the instance', outcome.error, true);
    }
    throw new DriverError('unavailable', 'LXD has not started the instance yet', { retryAfterMs: ASK_AGAIN_MS });
  }

  /** Returns the state of the Machine's instance. Changes nothing. */
  async getStatus(request: Request): Promise<Vm> {
    const instance = await this.locate(request);
    if (!instance) throw notFound(request);
    const project = projectFor(request);
    if (isUnstarted(instance)) {
      const facts = { providerId: providerId(project, instance.name), nodeName: instance.name };
      throw new DriverError('uninitialized', `the instance ${instance.name} is made and not started yet`, facts);
    }
    return vmOf(project, instance);
  }

  /** Restarts the instance. One that does not run counts as none. */
  async reboot(request: Request) {
    const instance = await this.locate(request);
    if (!instance || !isUp(instance)) throw notFound(request);
    if ((await this.api.setState(projectFor(request), instance.name, 'restart')) === undefined) throw notFound(request);
  }

  async delete(request: Request) {
    return new Removal(this.api, this.log, this.remainingMs).run(request);
  }

  /**
   * Removes this instance and no other, in the project that its id names. If LXD still stops it when the call ends, the
   * host's next call deletes it.
   */
  async deleteOne(request: Request, id: string) {
    const parts = partsOf(id);
    if (!parts) throw new DriverError('invalid-argument', `${quoted(id)} is no id of this driver`);
    const { project, name } = parts;
    if (request.machine.providerId === id) {
      throw new DriverError('failed-precondition', `the instance ${name} is the one that the Machine keeps, left alone`);
    }
    const instance = await this.api.get(project, name);
    if (!instance) return;
    if (isOf(instance, request.cluster)) await new Removal(this.api, this.log, this.remainingMs).one(project, instance);
    else leaveAlone(instance, request);
  }

  /** Returns one page of the cluster's instances. The token is the last name of the page before. */
  async list(machineClass: Class, cluster: string, token?: string): Promise<Page> {
    const project = projectOf(machineClass);
    const names = (await this.api.names(project, cluster)).filter((name) => token === undefined || name > token);
    const shown = names.slice(0, PAGE);
    if (shown.length === 0) return { machines: [] };
    const instances = (await this.api.named(project, shown)).filter((instance) => isOf(instance, cluster));
    const machines = instances.map(({ name, config, created }) => ({
      providerId: providerId(project, name),
      machineName: textOf(config[NAME_KEY]) ?? '',
      machineUid: textOf(config[UID_KEY]),
      createdAtMs: milliseconds(created),
    }));
    return { machines, next: names.length > shown.length ? shown.at(-1) : undefined };
  }

  /**
   * Finds the instance by its id, else by the Machine's uid. An id that leads to another Machine's instance leads
   * nowhere; one that leads to another cluster's, or to one without a mark, is refused.
   */
  private async locate(request: Request): Promise<Instance | undefined> {
    const { cluster, machine } = request;
    const project = projectFor(request);
    const id = partsOf(machine.providerId);
    if (id) {
      const instance = await this.api.get(project, id.name);
      // LXD's reads are not stale, and no other Machine gets the name of an instance that is gone.
      if (!instance) return id.name === instanceName(request) ? undefined : this.byUid(request);
      if (belongs(instance, request)) return instance;
      this.log.info("the provider id leads to another Machine's instance, left alone", { instance: id.name });
      leaveAlone(instance, request);
    }
    const own = await this.byUid(request);
    if (own || id?.name === instanceName(request)) return own;
    // Searches miss an instance without its marks, or on a cluster member that is offline. Its name finds it.
    const namesake = await this.api.get(project, instanceName(request));
    if (namesake) leaveAlone(namesake, request);
    return namesake && isOwn(namesake, { ...request, cluster, machine }) ? namesake : undefined;
  }

  private async byUid(request: Request): Promise<Instance | undefined> {
    const { cluster, machine } = request;
    const project = projectFor(request);
    const [first, ...others] = await this.api.find(project, cluster, machine.uid);
    if (first && others.length > 0) {
      const names = [first, ...others].slice(0, SHOWN).map(({ name }) => name);
      const text = `${others.length + 1} instances carry this Machine's uid: ${names.join(', ')}; delete all but one`;
      throw new DriverError('out-of-range', text);
    }
    // The search shows no addresses.
    return first && ((await this.api.get(project, first.name)) ?? first);
  }
}

/** The next step after an operation that failed, or that LXD does not know any more. */
function afterFailure(project: string, { step }: Step, outcome: Outcome): Step | InProgress {
  if (outcome.is !== 'failed') return { step: 'look' };
  const name = nameOf(outcome.error);
  // An earlier call, or one at the same time, is at work on it.
  if (name === BUSY) return inProgress(project, { step: 'look' });
  if (name === (step === 'create' ? EXISTS : IS_RUNNING) || name === NOT_FOUND) return { step: 'look' };
  if (step === 'create') {
    // LXD has removed all that it made. The next call begins again, without the note.
    throw failureOf('create the instance', outcome.error, false).with({ lastKnownState: noteOf(project) });
  }
  throw failureOf('start the instance', outcome.error, true).with({ lastKnownState: noteOf(project, { step: 'look' }) });
}

/** LXD has accepted an order: an error of a later step says so, whatever that step does. */
async function ordered<T>(step: Promise<T>, lastKnownState?: string): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    throw error.with({ mayHaveHappened: true, ...(lastKnownState !== undefined && { lastKnownState }) });
  }
}

function inProgress(project: string, step: Step): InProgress {
  const message = step.step === 'create' ? 'LXD makes the instance' : 'LXD starts the instance';
  return new InProgress({ resumeToken: noteOf(project, step), askAgainMs: ASK_AGAIN_MS, message });
}

/** The operation is over and reads show no instance: it failed while nobody asked, or somebody removed the instance. */
function lost(request: Request) {
  const text = `the instance ${instanceName(request)} is not there after its creation: it failed, or was deleted`;
  return new DriverError('aborted', text, {
    retryAfterMs: ASK_AGAIN_MS,
    mayHaveHappened: true,
    lastKnownState: noteOf(projectFor(request)),
  });
}

/** A new instance has no addresses yet; `getStatus` finds them. */
function made(project: string, name: string, failureDomain: string | undefined): Vm {
  return {
    providerId: providerId(project, name),
    nodeName: name,
    state: 'running',
    failureDomain,
    lastKnownState: startedNote(project, failureDomain),
  };
}

function vmOf(project: string, instance: Instance): Vm {
  const { name, location, addresses } = instance;
  return {
    providerId: providerId(project, name),
    nodeName: name,
    state: stateOf(instance),
    addresses: [{ kind: 'Hostname', address: name }, ...addresses],
    failureDomain: location,
  };
}

function notFound({ machine }: Request) {
  return new DriverError('not-found', `there is no instance of Machine ${machine.name} with uid ${machine.uid}`);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/**
 * Facts that one call leaves for the next, in `last-known-state`. An unreadable note counts as none: everything in it
 * can be found out again.
 */

import type { Request } from 'machinist-sdk';

import { projectOf } from './spec.js';

const OPERATION = /^[0-9a-f-]{36}$/;
/** As LXD allows names, so that no id leads to another path. */
const PROVIDER_ID = /^lxd:\/\/\/([A-Za-z0-9][A-Za-z0-9_.-]*)\/([A-Za-z][A-Za-z0-9-]*)$/;

/** In the note of an instance that was started: `initialize` has nothing to do. */
const STARTED = 'started';

/** The step of a create that is not finished, with LXD's operation. `look`: the operation is not known. */
export type Step = { step: 'create' | 'start'; operation: string } | { step: 'look' };

/** The note of an instance that was started. */
export function startedNote(project: string, location: string | undefined): string {
  return JSON.stringify({ project, step: STARTED, location });
}

/** Returns where an earlier call has seen the instance started; undefined if none has. */
export function startedAt({ machine }: Request): { location?: string } | undefined {
  const { step, location } = note(machine.lastKnownState);
  return step === STARTED ? { location: typeof location === 'string' ? location : undefined } : undefined;
}

export function noteOf(project: string, step?: Step): string {
  return JSON.stringify({ project, ...step });
}

/** Returns the step on which the last create ended; undefined if there is none to continue. */
export function stepOf({ machine }: Request): Step | undefined {
  const { step, operation } = note(machine.lastKnownState);
  if (step === 'look') return { step };
  if ((step === 'create' || step === 'start') && typeof operation === 'string' && OPERATION.test(operation)) return { step, operation };
  return undefined;
}

/**
 * Returns the project of a Machine's instance: from its provider id, else from the note of its create, else from the
 * class. So a class that moves to another project strands nothing.
 */
export function projectFor(request: Request): string {
  const { project } = note(request.machine.lastKnownState);
  return (
    partsOf(request.machine.providerId)?.project ?? (typeof project === 'string' && project !== '' ? project : projectOf(request.class))
  );
}

/** Returns `lxd:///PROJECT/NAME`, with which kubelets register. */
export function providerId(project: string, name: string) {
  return `lxd:///${project}/${name}`;
}

/** Returns project and name of a provider id; undefined if it is not one of LXD. */
export function partsOf(id: string | undefined): { project: string; name: string } | undefined {
  const [, project, name] = PROVIDER_ID.exec(id ?? '') ?? [];
  return project === undefined || name === undefined ? undefined : { project, name };
}

function note(text: string | undefined): Record<string, unknown> {
  try {
    return Object(JSON.parse(text ?? '{}'));
  } catch {
    return {};
  }
}

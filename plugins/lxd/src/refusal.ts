/**
 * LXD's errors as codes of the contract. LXD has no codes of its own: an error is a text, and its status says little (a
 * profile that does not exist is a 500). So the text decides, and the first row that matches counts. The page of the
 * driver has this table for operators.
 */

import { type Answer, type Code, codeOfStatus, DriverError, quoted, type Refusal } from 'machinist-sdk';

import { isObject } from './reader.js';

interface Meaning {
  /** A name for the error, since LXD gives none. Operators see it beside the message. */
  name: string;
  code: Code;
  terminal?: boolean;
  advice?: string;
}

/** True of the name of an error that this module gives to it. */
export const NOT_FOUND = 'instance-not-found';
export const EXISTS = 'instance-exists';
export const BUSY = 'instance-busy';
export const IS_RUNNING = 'instance-running';
export const IS_STOPPED = 'instance-stopped';
export const NO_OPERATION = 'operation-not-found';

const CLASS = { code: 'invalid-argument', terminal: true } as const;

/** The keys whose values are user data. LXD repeats values in some errors, and none of these may reach a message. */
const USER_DATA = /(cloud-init|user)\.user-data/;

const MEANINGS: [RegExp, Meaning][] = [
  [USER_DATA, { name: 'invalid-user-data', ...CLASS, advice: "correct userData in the MachineClass's Secret" }],
  [/"instances" entry already exists|instance .* already exists/i, { name: EXISTS, code: 'already-exists' }],
  [/instance is busy|matching non-reusable operation/i, { name: BUSY, code: 'aborted' }],
  [/already running/i, { name: IS_RUNNING, code: 'aborted' }],
  [/already stopped|instance is not running/i, { name: IS_STOPPED, code: 'aborted' }],
  [/instance is running/i, { name: IS_RUNNING, code: 'aborted' }],
  [/operation not found/i, { name: NO_OPERATION, code: 'not-found' }],
  [
    /image (alias )?not found|(alias|fingerprint).*(not found|doesn't exist)|failed getting image/i,
    {
      name: 'image-not-found',
      ...CLASS,
      advice: "correct image in the MachineClass's providerSpec; lxc image list shows the images of the project",
    },
  ],
  [
    /project not found/i,
    {
      name: 'project-not-found',
      ...CLASS,
      advice: "correct project in the MachineClass's providerSpec, or create it with lxc project create",
    },
  ],
  [
    /profile .*(not found|doesn't exist)|profile not found/i,
    {
      name: 'profile-not-found',
      ...CLASS,
      advice: "correct profiles in the MachineClass's providerSpec, or create the profile in the instance's project",
    },
  ],
  [
    /(cluster (member|group)|target|node).*(not found|doesn't exist)|only allowed when clustered/i,
    {
      name: 'target-not-found',
      ...CLASS,
      advice: "correct target in the MachineClass's providerSpec; lxc cluster list shows the members",
    },
  ],
  [
    /(storage )?pool.*not found|no root device|root disk/i,
    {
      name: 'pool-not-found',
      ...CLASS,
      advice: "correct pool in the MachineClass's providerSpec, or the root disk of its profiles",
    },
  ],
  [/instance not found|not found.*instance/i, { name: NOT_FOUND, code: 'not-found' }],
  [
    /reached maximum|exceeds? .*limit|limit.* (reached|exceeded)|quota/i,
    {
      name: 'project-limit',
      code: 'resource-exhausted',
      advice: "raise the project's limits (lxc project edit), or delete instances",
    },
  ],
  [
    /no space left|not enough (free )?(space|memory)|cannot allocate memory|insufficient/i,
    {
      name: 'no-room',
      code: 'resource-exhausted',
      advice: 'free space in the storage pool or memory on the server',
    },
  ],
  [
    /couldn't find a cluster member|(no|couldn't find|not find).*(suitable|available|candidate).*(member|server|node)/i,
    {
      name: 'no-member',
      code: 'resource-exhausted',
      advice: 'no cluster member takes the instance: see lxc cluster list',
    },
  ],
  [
    /(is|are) forbidden|restricted|not allowed in (this )?project|not permitted/i,
    {
      name: 'project-restriction',
      code: 'permission-denied',
      advice: "the project's restrictions (restricted.*) forbid it, or the client certificate is restricted to other projects",
    },
  ],
  [
    /not authorized|unauthorized|forbidden/i,
    {
      name: 'not-authorized',
      code: 'unauthenticated',
      terminal: true,
      advice: "let LXD trust clientCert of the MachineClass's Secret (lxc config trust add), and if it is restricted, for this project",
    },
  ],
  [
    /protected|protection/i,
    {
      name: 'protected',
      code: 'failed-precondition',
      advice: 'somebody set security.protection.delete on the instance: unset it',
    },
  ],
  [
    /member.*(offline|unavailable|not online)|(starting up|shutting down)|no available (dqlite|cowsql)? ?leader|database is locked|context deadline|connection refused|no such host/i,
    {
      name: 'unavailable',
      code: 'unavailable',
      advice: "the host asks again; if this lasts, see lxc cluster list and LXD's log",
    },
  ],
  [
    /unknown configuration key|invalid (cpu limit|config|device|value|option|instance name|instance type|name|architecture)|unsupported|device validation|not supported|instance type doesn't exist|doesn't match instance type/i,
    {
      name: 'invalid-instance',
      ...CLASS,
      advice: "correct config, devices or type in the MachineClass's providerSpec",
    },
  ],
  [
    /missing source|failed to (start|setup|add) device|failed to run: .*forkstart|failed starting|failed to (handle|start)/i,
    {
      name: 'start-failed',
      code: 'failed-precondition',
      advice: 'lxc info --show-log NAME shows why; correct devices and profiles of the class',
    },
  ],
];

/**
 * Parses an answer with an error status. Undefined if it is not in LXD's form. A text that the table lacks is
 * classified by its status.
 */
export function refusalOf(answer: Answer): Refusal | undefined {
  const { type, error } = fieldsOf(answer);
  if (type !== 'error' || typeof error !== 'string') return undefined;
  const known = meaningOf(error);
  if (known) return { cloudCode: known.name, message: presentable(error), ...known };
  return { cloudCode: `status-${answer.status}`, message: error };
}

/** The refusal of a 429 that is not LXD's: a proxy's, or the host's own while the account is throttled. */
export function throttled(answer: Answer): Refusal {
  const message = answer.header('machinist-throttled') === 'true' ? answer.text() : 'too many requests';
  return { cloudCode: 'status-429', message, code: 'unavailable', advice: 'the host asks again later' };
}

/** True for an error by which LXD says that it did nothing, although its status may be 500. */
export function isClearNo({ cloudCode }: DriverError) {
  return MEANINGS.some(([, { name }]) => name === cloudCode && name !== 'unavailable');
}

/**
 * Returns an answer; undefined for errors of these names. Only LXD's own word is an answer: not every 404 means that an
 * instance is gone.
 */
export async function unless<T>(names: string[], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof DriverError && names.includes(error.cloudCode ?? '')) return undefined;
    throw error;
  }
}

/** Returns the error for an operation that failed. LXD takes back all that a failed create made. */
export function failureOf(doing: string, error: string, mayHaveHappened: boolean): DriverError {
  const known = meaningOf(error);
  const name = known?.name ?? 'operation-failed';
  const text = `failed to ${doing}: ${quoted(presentable(error))} (${name})${known?.advice ? `: ${known.advice}` : ''}`;
  return new DriverError(known?.code ?? codeOfStatus(500), text, { cloudCode: name, terminal: known?.terminal, mayHaveHappened });
}

/** Returns the name of an error, by which the driver decides. */
export function nameOf(error: string): string | undefined {
  return meaningOf(error)?.name;
}

function presentable(error: string): string {
  return USER_DATA.test(error) ? 'LXD does not accept the user data' : error;
}

function meaningOf(error: string): Meaning | undefined {
  return MEANINGS.find(([pattern]) => pattern.test(error))?.[1];
}

function fieldsOf(answer: Answer): { type?: unknown; error?: unknown } {
  try {
    const value = answer.json();
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

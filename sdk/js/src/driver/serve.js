/**
 * Connects the contract with an author's driver: converts arguments and answers, and turns every exception into an
 * error of the contract. The error says whether the cloud may have been changed.
 */

/** @import * as Wit from 'machinist:provider/types@0.1.0' */
/** @import { RawHost } from '../contract.js' */
/** @import { DeletingDriver, Driver, InterruptibleDriver, MeasuringDriver, NamingDriver } from './driver.js' */
/** @import { PlacingDriver, RebootingDriver } from './driver.js' */

import {
  errorTo,
  readAbout,
  readCreation,
  readDeletion,
  readInterruptible,
  readNodeId,
  readPage,
  readPlaced,
  readResources,
  readVm,
  readVolumeIds,
  readWarnings,
} from './author-words.js';
import { Defect, DriverError } from '../error.js';
import { Host, Log, quietHost } from '../host.js';
import { requestFrom } from './host-words.js';
import { stackOf } from '../http/payload.js';
import { NoAnswer } from '../http/no-answer.js';

/**
 * The exports of a component: what the host calls.
 * @template {Driver} D
 * @param {D} author
 * @param {RawHost} raw
 */
export function serve(author, raw) {
  const quiet = (/** @type {string} */ call) => /** @type {any} */ (quietHost(raw, call));
  const driver = {
    describe: async () => {
      try {
        return readAbout(await author.describe(quiet('describe')));
      } catch (error) {
        // The contract has no error here: the instance ends, and the log gives the reason.
        defect(error, new Log(raw.log));
        throw error;
      }
    },

    validateClass: (/** @type {Wit.Class} */ machineClass) =>
      answered(raw, async () => readWarnings(await author.validateClass(machineClass, quiet('validate-class')))),

    create: (/** @type {Wit.Request} */ request) =>
      answered(raw, async (host) => readCreation(await author.create(requestFrom(request), host))),

    initialize: (/** @type {Wit.Request} */ request) =>
      answered(raw, async (host) => readVm(await author.initialize(requestFrom(request), host), 'initialize')),

    delete: (/** @type {Wit.Request} */ request) =>
      answered(raw, async (host) => readDeletion(await author.delete(requestFrom(request), host))),

    getStatus: (/** @type {Wit.Request} */ request) =>
      answered(raw, async (host) => readVm(await author.getStatus(requestFrom(request), host), 'getStatus')),

    list: (/** @type {Wit.Class} */ machineClass, /** @type {string} */ cluster, /** @type {string | undefined} */ token) =>
      answered(raw, async (host) => readPage(await author.list({ class: machineClass, cluster, token }, host))),

    getVolumeIds: (/** @type {string[]} */ specs) =>
      answered(raw, async () => readVolumeIds(await author.getVolumeIds(specs, quiet('get-volume-ids')), specs.length)),
  };
  const reboot = {
    reboot: (/** @type {Wit.Request} */ request) =>
      answered(raw, async (host) => {
        const served = /** @type {RebootingDriver} */ (offering(author, 'reboot', 'reboot'));
        await served.reboot(requestFrom(request), host);
      }),
  };
  const deleteById = {
    deleteById: (/** @type {Wit.Request} */ request, /** @type {string} */ providerId) =>
      answered(raw, async (host) => {
        const served = /** @type {DeletingDriver} */ (offering(author, 'deleteById', 'delete-by-id'));
        await served.deleteById(requestFrom(request), providerId, host);
      }),
  };
  const nodeId = {
    nodeId: (/** @type {Wit.Request} */ request, /** @type {Wit.Vm} */ vm) =>
      answered(raw, async () => {
        const served = /** @type {NamingDriver} */ (offering(author, 'nodeId', 'node-id'));
        return readNodeId(await served.nodeId(requestFrom(request), vm, quiet('node-id')));
      }),
  };
  const placement = {
    place: (/** @type {Wit.Class} */ machineClass, /** @type {string} */ failureDomain) =>
      answered(raw, async () => {
        const served = /** @type {PlacingDriver} */ (offering(author, 'place', 'placement'));
        return readPlaced(await served.place(machineClass, failureDomain, quiet('place')));
      }),
  };
  const interruption = {
    isInterruptible: (/** @type {Wit.Class} */ machineClass) =>
      answered(raw, async () => {
        const served = /** @type {InterruptibleDriver} */ (offering(author, 'isInterruptible', 'interruption'));
        return readInterruptible(await served.isInterruptible(machineClass, quiet('is-interruptible')));
      }),
  };
  const capacity = {
    nodeCapacity: (/** @type {Wit.Class} */ machineClass) =>
      answered(raw, async (host) => {
        const served = /** @type {MeasuringDriver} */ (offering(author, 'nodeCapacity', 'capacity'));
        return readResources(await served.nodeCapacity(machineClass, host));
      }),
  };
  return { driver, reboot, deleteById, nodeId, placement, interruption, capacity };
}

/**
 * The driver, if it has the method of an optional interface.
 * @param {Driver} author @param {string} method @param {string} offered
 */
function offering(author, method, offered) {
  if (method in author && typeof (/** @type {any} */ (author)[method]) === 'function') return author;
  throw new DriverError('unimplemented', `this driver does not offer ${offered}`);
}

/**
 * Runs a call. Throws its exceptions as the contract's error, which the bindings return.
 * @template T
 * @param {RawHost} raw
 * @param {(host: Host) => Promise<T>} call
 * @returns {Promise<T>}
 */
async function answered(raw, call) {
  const host = new Host(raw);
  try {
    return await call(host);
  } catch (error) {
    throw errorTo(explained(error, host));
  }
}

/** @param {unknown} error @param {Host} host @returns {DriverError} */
function explained(error, host) {
  const mayHaveHappened = host.http.mayHaveChanged;
  if (error instanceof DriverError) return error;
  if (error instanceof NoAnswer) return new DriverError(error.code, error.message, { mayHaveHappened });
  return new DriverError('internal', `the driver has a defect: ${defect(error, host.log)}`, { mayHaveHappened });
}

/** Logs an error, and returns its short form. @param {unknown} error @param {Log} log */
function defect(error, log) {
  const text = error instanceof Defect ? error.message : String(error);
  log.error('the driver has a defect', { error: text, stack: stackOf(error) });
  return text;
}

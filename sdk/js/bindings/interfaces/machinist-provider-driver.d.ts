// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:provider/driver@0.1.0' {
  /**
   * Who this is. Called without secrets and without network; must not fail.
   */
  export function describe(): About;
  /**
   * Checks a class without secrets and without network. Ok may carry warnings. Must accept every class that `create`
   * accepts. Errors: `invalid-argument` with a message that names the field.
   */
  export function validateClass(class_: Class): Array<string>;
  /**
   * Makes the machine, or finds the one that an earlier call with this idempotency key made. Safe to call again after
   * any failure: it never makes a second machine for one key. `in-progress` when the cloud takes longer than the call may.
   * Deadline: 5 minutes. Errors: by code; `may-have-happened` whenever the request may have reached the cloud.
   */
  export function create(request: Request): Creation;
  /**
   * Does what is to be done after creation, and nothing when it is done already. Idempotent. Deadline: 5 minutes.
   * Errors: `not-found` when there is no machine, `unimplemented` when the driver has no such step.
   */
  export function initialize(request: Request): Vm;
  /**
   * Removes the machine and all that was made with it. Works without a provider id (by uid, then name), and with a class
   * of which only the parts that deletion needs are right. Idempotent; a machine that is not there is success, and what
   * else belongs to it is removed all the same. Deadline: 5 minutes. Errors: by code, never `not-found`.
   */
  export { _delete as delete };
  function _delete(request: Request): Deletion;
  /**
   * How the machine is. Finds it by provider id, else by uid, else by name. Changes nothing. Deadline: 1 minute.
   * Errors: `not-found` only when a complete look has not found it; `out-of-range` when several machines answer;
   * `uninitialized` with provider id and node name when `initialize` is due; `unimplemented`.
   */
  export function getStatus(request: Request): Vm;
  /**
   * One page of the machines of this class's account and place that carry the cluster's mark, and of no other cluster.
   * `token` is what the page before gave. No machine is left out and none listed twice while nothing changes. A listing
   * without machines is an empty page, not an error. Deadline: 1 minute a page.
   */
  export function list(class_: Class, cluster: string, token: string | undefined): Page;
  /**
   * The cloud's ids of these PersistentVolume specs (JSON each), as they appear in the Node's `volumesAttached`.
   * A volume of another kind gives none. In the order of the input. Without network.
   */
  export function getVolumeIds(volumeSpecs: Array<Json>): Array<string | undefined>;
  export type About = import('machinist:provider/types@0.1.0').About;
  export type Class = import('machinist:provider/types@0.1.0').Class;
  export type Creation = import('machinist:provider/types@0.1.0').Creation;
  export type Deletion = import('machinist:provider/types@0.1.0').Deletion;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
  export type Json = import('machinist:provider/types@0.1.0').Json;
  export type Page = import('machinist:provider/types@0.1.0').Page;
  export type Request = import('machinist:provider/types@0.1.0').Request;
  export type Vm = import('machinist:provider/types@0.1.0').Vm;
}

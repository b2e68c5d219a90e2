// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:interruption/interruption@0.1.0' {
  /**
   * Returns whether the cloud may take a VM of this class away at any time: spot, preemptible.
   *
   * - False if the class does not say so.
   * - It is a function of its arguments: the same arguments give the same answer.
   * - The host asks about a class that already has VMs, and keeps the answer for the life of the VM. A failure holds
   *   nothing up: the host asks again later.
   *
   * Called without secrets and without network. Deadline: 10 seconds. Errors: `invalid-argument` if the class is
   * unreadable.
   */
  export function isInterruptible(class_: Class): boolean;
  export type Class = import('machinist:provider/types@0.1.0').Class;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
}

// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:provider/reboot@0.1.0' {
  /**
   * Starts the machine anew, as by its reset button: it keeps its id, its disks and its addresses. Returns when the cloud has
   * accepted that; does not wait until the machine is up. The host writes down that it asks before it asks, and asks once.
   * Deadline: 1 minute. Errors: `not-found` when there is no machine, else by code.
   */
  export function reboot(request: Request): void;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
  export type Request = import('machinist:provider/types@0.1.0').Request;
}

// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:delete-by-id/delete-by-id@0.1.0' {
  /**
   * Removes the VM with this provider id and everything created with it. Returns when the cloud has accepted the
   * order; may be repeated. `request.machine.provider-id` is the VM that the Machine keeps.
   *
   * - It removes this VM and nothing else, and does not search by the Machine's uid or name.
   * - A VM that does not exist is success.
   * - `failed-precondition` if the VM lacks the cluster's mark or carries another one, and if it is the VM that the
   *   Machine keeps. `invalid-argument` for an id that this driver never returns.
   *
   * Deadline: 5 minutes. Errors: by code, as for `delete`.
   */
  export function deleteById(request: Request, providerId: string): void;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
  export type Request = import('machinist:provider/types@0.1.0').Request;
}

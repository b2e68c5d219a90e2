// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:node-id/node-id@0.1.0' {
  /**
   * Returns the id that the cloud controller manager writes into `Node.spec.providerID` for this VM.
   *
   * - `vm` is an answer of this driver to `create`, `get-status` or `initialize` for this request.
   * - It is a function of its arguments: the same arguments give the same id, in every later version as well.
   * - The id has 1 to 512 bytes and no control characters, and no other VM has it.
   * - Calls keep getting the driver's own id as `request.machine.provider-id`.
   *
   * Called without secrets and without network. Deadline: 10 seconds. Errors: `failed-precondition` if the VM lacks a
   * part of the id, such as its zone; the host asks again later, and stores the VM only then.
   */
  export function nodeId(request: Request, vm: Vm): string;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
  export type Request = import('machinist:provider/types@0.1.0').Request;
  export type Vm = import('machinist:provider/types@0.1.0').Vm;
}

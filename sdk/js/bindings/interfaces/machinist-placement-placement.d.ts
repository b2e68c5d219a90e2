// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:placement/placement@0.1.0' {
  /**
   * Returns the `providerSpec` that creates VMs of this class in this failure domain and nowhere else.
   *
   * - The host uses it as `spec` of the class, with no `zones`, in every call about a VM that is to be there.
   * - `create` with it makes a VM whose `failure-domain` is this text, byte for byte, or fails. It tries no other
   *   failure domain. The host compares, and never reports a VM as provided that is elsewhere.
   * - It is a function of its arguments: the same arguments give the same text, in every later version as well. A
   *   class that already names this failure domain comes back with the same meaning.
   * - Everything else of the class stays as it is. `validate-class` accepts the result if it accepts the class.
   *
   * Called without secrets and without network. Deadline: 10 seconds. Errors: `invalid-argument` if the class cannot
   * be in this failure domain, with a message that names the field to change.
   */
  export function place(class_: Class, failureDomain: string): Json;
  export type Class = import('machinist:provider/types@0.1.0').Class;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
  export type Json = import('machinist:provider/types@0.1.0').Json;
}

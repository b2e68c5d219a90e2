// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
/// <reference path="./machinist-provider-types.d.ts" />
declare module 'machinist:capacity/capacity@0.1.0' {
  /**
   * Returns the resources of a Node of this class, as its kubelet will report them in `capacity`: of the whole VM,
   * before reservations. At least `cpu` and `memory`.
   *
   * It creates and changes nothing. The host asks when the class or the driver changes, and at most a few times a day
   * beside that.
   *
   * Deadline: 1 minute. Errors: `invalid-argument` if the class can never have a Node, `not-found` if the driver does
   * not know its resources, else by code.
   */
  export function nodeCapacity(class_: Class): NodeResources;
  export type Class = import('machinist:provider/types@0.1.0').Class;
  export type DriverError = import('machinist:provider/types@0.1.0').DriverError;
  /**
   * The resources and the platform of a Node.
   */
  export interface NodeResources {
    /**
     * Resources by name, with Kubernetes quantities: `cpu`, `memory`, `ephemeral-storage`, `pods`, and devices such as
     * `nvidia.com/gpu`. Without a resource that the driver does not know. In any order, each name once.
     */
    resources: Array<[string, string]>,
    /**
     * `amd64`, `arm64`, `s390x` or `ppc64le`. None if it is another one or unknown.
     */
    architecture?: string,
    /**
     * `linux` or `windows`. None if unknown.
     */
    operatingSystem?: string,
  }
}

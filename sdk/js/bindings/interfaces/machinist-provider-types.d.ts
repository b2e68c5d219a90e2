// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
declare module 'machinist:provider/types@0.1.0' {
  /**
   * JSON text in UTF-8.
   */
  export type Json = string;
  /**
   * What went wrong, for machines. The host decides by code when to try again.
   * # Variants
   *
   * ## `"canceled"`
   *
   * The caller gave up.
   * ## `"unknown"`
   *
   * Not classifiable. May have happened.
   * ## `"invalid-argument"`
   *
   * The class or the machine can never work as it is.
   * ## `"deadline-exceeded"`
   *
   * Too slow. May have happened.
   * ## `"not-found"`
   *
   * The machine does not exist in the cloud. In `delete` it is success: answer ok instead.
   * ## `"already-exists"`
   *
   * The name is taken by something that is not this machine.
   * ## `"permission-denied"`
   *
   * The identity is known and lacks a right.
   * ## `"resource-exhausted"`
   *
   * Quota or capacity is used up. The autoscaler looks elsewhere.
   * ## `"failed-precondition"`
   *
   * Something in the cloud must be mended by a person first.
   * ## `"aborted"`
   *
   * A change at the same time was in the way.
   * ## `"out-of-range"`
   *
   * Several machines answer to this one's name.
   * ## `"unimplemented"`
   *
   * This driver does not offer the call.
   * ## `"internal"`
   *
   * The driver met what it holds impossible.
   * ## `"unavailable"`
   *
   * A passing outage of the cloud.
   * ## `"data-loss"`
   *
   * Lost beyond repair.
   * ## `"unauthenticated"`
   *
   * The cloud does not accept the credentials.
   * ## `"uninitialized"`
   *
   * The machine exists, a step after its creation is missing: `initialize` is due. Carries provider id and node name.
   */
  export type Code = 'canceled' | 'unknown' | 'invalid-argument' | 'deadline-exceeded' | 'not-found' | 'already-exists' | 'permission-denied' | 'resource-exhausted' | 'failed-precondition' | 'aborted' | 'out-of-range' | 'unimplemented' | 'internal' | 'unavailable' | 'data-loss' | 'unauthenticated' | 'uninitialized';
  /**
   * How every call says that it failed.
   */
  export interface DriverError {
    code: Code,
    /**
     * For people: what failed, and what to do. Must not hold a secret, user data or a whole answer of the cloud.
     */
    message: string,
    /**
     * The cloud's own code, such as `InsufficientInstanceCapacity`.
     */
    cloudCode?: string,
    /**
     * Do not ask again before. From Retry-After and its like.
     */
    retryAfterMs?: bigint,
    /**
     * True: no retry helps until class, secret or machine change.
     */
    terminal: boolean,
    /**
     * True: the cloud may have done what was asked. The host looks before it asks again.
     */
    mayHaveHappened: boolean,
    /**
     * What the next call for this machine should know. None leaves what is stored.
     */
    lastKnownState?: string,
    /**
     * Which machine it is, where that is known (`uninitialized`, `already-exists`).
     */
    providerId?: string,
    nodeName?: string,
  }
  /**
   * One Machine of the cluster.
   */
  export interface Machine {
    namespace: string,
    /**
     * Unique in the namespace among those that live at the same time.
     */
    name: string,
    /**
     * Unique for all time. Put it on the machine as a tag, and find the machine by it.
     */
    uid: string,
    labels: Array<[string, string]>,
    annotations: Array<[string, string]>,
    /**
     * The cloud's id as this driver gave it. None before the machine is created, and after a crash in between.
     */
    providerId?: string,
    /**
     * metadata and taints that the Node is to carry, as the Machine's `spec.nodeTemplate`.
     */
    nodeTemplate?: Json,
    /**
     * What this driver said last about this machine.
     */
    lastKnownState?: string,
  }
  /**
   * The MachineClass of the call.
   */
  export interface Class {
    name: string,
    /**
     * The provider name by which the driver was chosen.
     */
    provider: string,
    /**
     * `providerSpec`, as the user wrote it.
     */
    spec: Json,
    /**
     * The class's `nodeTemplate`: capacity, instance type, region, zone.
     */
    nodeTemplate?: Json,
    /**
     * Zones that may be used instead, best first. Empty: only what `spec` says.
     */
    zones: Array<string>,
  }
  /**
   * What every call about a machine gets.
   */
  export interface Request {
    machine: Machine,
    'class': Class,
    /**
     * Made from the Machine's uid. The same key always comes with the same class, user data and tags while a create is
     * unresolved. Hand it to the cloud where the cloud takes one.
     */
    idempotencyKey: string,
    /**
     * Names the cluster towards the cloud. Put it on every machine as a tag, list by it, touch nothing without it.
     */
    cluster: string,
    /**
     * Milliseconds that this call may take, as in `machinist:host/deadline`.
     */
    deadlineMs: bigint,
  }
  export interface Address {
    /**
     * Hostname, ExternalIP, InternalIP, ExternalDNS or InternalDNS.
     */
    kind: string,
    address: string,
  }
  /**
   * A fact about the machine in the cloud, as a Kubernetes condition. `status` is True, False or Unknown.
   */
  export interface Condition {
    kind: string,
    status: string,
    reason: string,
    message: string,
  }
  /**
   * # Variants
   *
   * ## `"pending"`
   *
   * ## `"running"`
   *
   * ## `"stopping"`
   *
   * ## `"stopped"`
   *
   * ## `"unknown"`
   */
  export type VmState = 'pending' | 'running' | 'stopping' | 'stopped' | 'unknown';
  /**
   * A machine as the cloud shows it.
   */
  export interface Vm {
    providerId: string,
    /**
     * The name under which the machine's Node registers.
     */
    nodeName: string,
    state: VmState,
    addresses: Array<Address>,
    failureDomain?: string,
    conditions: Array<Condition>,
    lastKnownState?: string,
  }
  /**
   * The cloud works on it. The host stores the token and calls again, in an instance of its own.
   */
  export interface Progress {
    /**
     * Comes back as the machine's `last-known-state`.
     */
    resumeToken: string,
    /**
     * The earliest time to ask again.
     */
    askAgainMs: bigint,
    /**
     * For people: what is awaited.
     */
    message: string,
  }
  export type Creation = CreationCreated | CreationInProgress;
  export interface CreationCreated {
    tag: 'created',
    val: Vm,
  }
  export interface CreationInProgress {
    tag: 'in-progress',
    val: Progress,
  }
  export type Deletion = DeletionDeleted | DeletionInProgress;
  /**
   * The cloud has accepted it, or nothing is there. `last-known-state` is stored when given.
   */
  export interface DeletionDeleted {
    tag: 'deleted',
    val: string | undefined,
  }
  export interface DeletionInProgress {
    tag: 'in-progress',
    val: Progress,
  }
  /**
   * A machine in a listing.
   */
  export interface Listed {
    providerId: string,
    /**
     * Empty when the machine does not say.
     */
    machineName: string,
    machineUid?: string,
    /**
     * Milliseconds since 1970, where the cloud says it.
     */
    createdAtMs?: bigint,
  }
  export interface Page {
    machines: Array<Listed>,
    /**
     * Present: there is more, ask with this token.
     */
    next?: string,
  }
  export interface Capabilities {
    /**
     * `get-status` is offered.
     */
    status?: boolean,
    /**
     * `initialize` does something.
     */
    initialize?: boolean,
    /**
     * `list` is offered.
     */
    listing?: boolean,
    /**
     * `get-volume-ids` is offered.
     */
    volumeIds?: boolean,
    /**
     * The cloud keeps idempotency keys: a create with a known key answers with the same machine.
     */
    idempotencyKey?: boolean,
  }
  /**
   * What a driver says about itself. Asked once for each version, before it serves.
   */
  export interface About {
    name: string,
    /**
     * A semantic version of the driver.
     */
    version: string,
    /**
     * Values of MachineClass `provider` that it serves, matched without regard to case.
     */
    providers: Array<string>,
    /**
     * JSON Schema of `providerSpec`.
     */
    classSchema?: Json,
    capabilities: Capabilities,
    /**
     * After a create, reads of the cloud may not show the machine for as long as this.
     */
    consistencyWindowMs: bigint,
    /**
     * Hosts that it would like to reach, as patterns of grants. A wish, not a grant.
     */
    hosts: Array<string>,
  }
}

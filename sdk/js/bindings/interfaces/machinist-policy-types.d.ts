// Code generated from wit/ by `npm run generate`. DO NOT EDIT.
declare module 'machinist:policy/types@0.1.0' {
  /**
   * JSON text in UTF-8.
   */
  export type Json = string;
  /**
   * Milliseconds since 1970 in UTC.
   */
  export type Time = bigint;
  /**
   * One Machine of the cluster.
   */
  export interface Machine {
    namespace: string,
    name: string,
    /**
     * Unique for all time.
     */
    uid: string,
    /**
     * Its MachineClass.
     */
    'class': string,
    /**
     * The MachineDeployment that it belongs to, where it does.
     */
    deployment?: string,
    labels: Array<[string, string]>,
    providerId?: string,
    created: Time,
    /**
     * How long the Machine may be unhealthy before it fails. None: for ever.
     */
    healthTimeoutMs?: bigint,
    /**
     * Types of Node conditions that must be False, by the Machine's settings. Sorted.
     */
    mustBeFalse: Array<string>,
    /**
     * Its driver can start its VM anew. Where this is false, `reboot` means to wait.
     */
    canReboot: boolean,
  }
  /**
   * # Variants
   *
   * ## `"true"`
   *
   * ## `"false"`
   *
   * ## `"unknown"`
   */
  export type Status = 'true' | 'false' | 'unknown';
  /**
   * A condition of the Node. Heartbeats are left out: they change by themselves.
   */
  export interface Condition {
    /**
     * Such as `Ready`. Case matters.
     */
    kind: string,
    status: Status,
    reason: string,
    message: string,
    /**
     * Since when the status is what it is, where the Node says.
     */
    since?: Time,
  }
  /**
   * The Machine's Node.
   */
  export interface Node {
    name: string,
    /**
     * When it was registered.
     */
    created?: Time,
    labels: Array<[string, string]>,
    /**
     * It takes no more pods.
     */
    unschedulable: boolean,
    /**
     * Sorted by kind.
     */
    conditions: Array<Condition>,
  }
  /**
   * Where a Machine is in its life. Only Machines that have joined the cluster are asked about.
   * # Variants
   *
   * ## `"running"`
   *
   * ## `"unknown"`
   *
   * ## `"failed"`
   */
  export type Phase = 'running' | 'unknown' | 'failed';
  export interface History {
    phase: Phase,
    /**
     * Since when it is in this phase.
     */
    phaseSince?: Time,
    /**
     * When the VM was started anew because of a policy. Oldest first, the last ten at most.
     */
    reboots: BigUint64Array,
  }
  /**
   * The Machines that fail together with this one, such as those of one zone.
   */
  export interface Domain {
    /**
     * None: not known. All Machines of which it is not known count as one domain.
     */
    name?: string,
    /**
     * Machines in it that have joined the cluster, this one too.
     */
    machines: number,
    /**
     * Those of them whose Node is gone or does not say that it is ready, this one too.
     */
    silent: number,
  }
  export interface Question {
    machine: Machine,
    /**
     * None: the Node is gone.
     */
    node?: Node,
    history: History,
    domain: Domain,
  }
  export type Health = HealthHealthy | HealthUnhealthy | HealthUnknown;
  export interface HealthHealthy {
    tag: 'healthy',
  }
  /**
   * Not healthy, and since when.
   */
  export interface HealthUnhealthy {
    tag: 'unhealthy',
    val: Time,
  }
  /**
   * Not to be told. Nothing is done to the Machine: it keeps its phase, and it does not fail.
   */
  export interface HealthUnknown {
    tag: 'unknown',
  }
  /**
   * What to do about a Machine that is not healthy. Means nothing with `healthy` and `unknown`.
   * # Variants
   *
   * ## `"none"`
   *
   * Wait.
   * ## `"reboot"`
   *
   * Start the VM anew. The host does so once every ten minutes at most, and tells when it did in `history`.
   * ## `"replace"`
   *
   * Let the Machine fail when its health time-out is over, so that it is replaced.
   */
  export type Action = 'none' | 'reboot' | 'replace';
  export interface Verdict {
    health: Health,
    /**
     * For people: one sentence. Shown in conditions and Events, so the same state of things must have the same text.
     */
    reason: string,
    action: Action,
    /**
     * Until then the verdict holds as long as the question is the same. Then the policy is asked again. The host takes at
     * least a second and at most twelve hours from `now`.
     */
    holdsUntil: Time,
  }
  /**
   * What a policy says about itself. Asked once for each version, before it is used.
   */
  export interface About {
    name: string,
    /**
     * A semantic version of the policy.
     */
    version: string,
    /**
     * JSON Schema of the settings, where there are any.
     */
    settingsSchema?: Json,
  }
}

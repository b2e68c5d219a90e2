//! Names that other programs write or read. None of them may change.

/// API group of the four kinds.
pub const GROUP: &str = "machine.sapcloud.io";
/// Version of the four kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version of the four kinds.
pub const API_VERSION: &str = "machine.sapcloud.io/v1alpha1";
/// The kind that a class reference names.
pub const CLASS_KIND: &str = "MachineClass";

pub mod labels {
    /// On a Machine: name of its Node. Never set where there is no target cluster.
    pub const NODE: &str = "node";
    /// On a Machine, through its template: name of its MachineDeployment. Machines with the same value are replaced one
    /// after the other.
    pub const DEPLOYMENT: &str = "name";
    /// On a MachineSet, its selector and template, and its Machines: hash of the template.
    pub const TEMPLATE_HASH: &str = "machine-template-hash";
    /// On a MachineSet or MachineDeployment, with value `True`: no Machine is created.
    pub const FREEZE: &str = "freeze";
    /// On a Machine, with a text that Go reads as true: drain and deletion are forced.
    pub const FORCE_DELETION: &str = "force-deletion";
    /// On a Machine, with value `True`: the drain for an update in place or for preservation is forced.
    pub const FORCE_DRAIN: &str = "force-drain";
    /// On a Node: name of its Machine.
    pub const MACHINE_NAME: &str = "node.gardener.cloud/machine-name";
    /// On a Node, with value `true`: it may be updated in place.
    pub const CANDIDATE_FOR_UPDATE: &str = "node.machine.sapcloud.io/candidate-for-update";
    /// On a Node, with value `true`: it is to be updated in place now.
    pub const SELECTED_FOR_UPDATE: &str = "node.machine.sapcloud.io/selected-for-update";
    /// On a Node, and for a moment on a Machine: `successful` or `failed`.
    pub const UPDATE_RESULT: &str = "node.machine.sapcloud.io/update-result";
    /// On a MachineSet: its presence blocks creation.
    pub const SCALE_UP_DISABLED: &str = "node.machine.sapcloud.io/scale-up-disabled";
    /// The value of [`FREEZE`] and [`FORCE_DRAIN`].
    pub const TRUE: &str = "True";
    /// On a Machine's `nodeTemplate`: the zone of the Node.
    pub const ZONE: &str = "topology.kubernetes.io/zone";
    /// On a ConfigMap: it holds a plugin, `driver` or `health-policy`.
    pub const PLUGIN: &str = "machinist.dev/plugin";
    /// On a ConfigMap: name of the plugin that it is a version of.
    pub const PLUGIN_NAME: &str = "machinist.dev/plugin-name";
}

pub mod annotations {
    /// On a Machine: a smaller number is deleted first. `3` by default, `1` is deleted at once.
    pub const PRIORITY: &str = "machinepriority.machine.sapcloud.io";
    /// The value of [`PRIORITY`] that a Machine gets at its creation.
    pub const DEFAULT_PRIORITY: &str = "3";
    /// The value of [`PRIORITY`] of a Machine that is to go first.
    pub const FIRST_PRIORITY: &str = "1";
    /// On a Machine: when it was marked for deletion, RFC 3339.
    pub const MARKED_FOR_DELETION_TIME: &str = "machine.sapcloud.io/marked-for-deletion-time";
    /// On a MachineDeployment: `machine~time,machine~time`, written by the autoscaler.
    pub const TRIGGER_DELETION: &str = "node.machine.sapcloud.io/trigger-deletion-by-mcm";
    /// On a MachineDeployment and its sets: when the autoscaler lowered the replicas last, RFC 3339.
    pub const REPLICA_CHANGE_BY_SCALER_TIME: &str =
        "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time";
    /// On a Node: JSON of the node template that was applied last.
    pub const LAST_APPLIED_TEMPLATE: &str = "node.machine.sapcloud.io/last-applied-anno-labels-taints";
    /// On a Node: JSON of the virtual capacity that was applied last.
    pub const LAST_APPLIED_VIRTUAL_CAPACITY: &str = "node.machine.sapcloud.io/last-applied-virtual-capacity";
    /// On a Node, with value `1`: it has no Machine.
    pub const NOT_MANAGED: &str = "node.machine.sapcloud.io/not-managed-by-mcm";
    /// On a Node: why its update in place failed.
    pub const UPDATE_FAILED_REASON: &str = "node.machine.sapcloud.io/update-failed-reason";
    /// On a MachineDeployment, its sets and Machines: a duration that wins over `spec.creationTimeout`.
    pub const EFFECTIVE_CREATION_TIMEOUT: &str = "node.machine.sapcloud.io/effective-creation-timeout";
    /// On a Machine: how long its Node took to join.
    pub const JOIN_DURATION: &str = "node.machine.sapcloud.io/machine-join-duration";
    /// On a Machine or Node: `now`, `when-failed`, `auto-preserved` or `false`.
    pub const PRESERVE: &str = "node.machine.sapcloud.io/preserve";
    /// On a Machine: the Node's value of [`PRESERVE`] that was acted on last.
    pub const LAST_APPLIED_NODE_PRESERVE: &str = "node.machine.sapcloud.io/last-applied-node-preserve-value";
    /// On a MachineSet or MachineDeployment: its presence thaws once.
    pub const UNFREEZE: &str = "safety.machine.sapcloud.io/unfreeze";
    /// On a MachineSet or MachineDeployment: revision of the template.
    pub const REVISION: &str = "deployment.kubernetes.io/revision";
    /// On a MachineSet: earlier revisions of the same template.
    pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
    /// On a MachineSet: replicas that its deployment wanted when it scaled the set.
    pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
    /// On a MachineSet: replicas and surge at that time.
    pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
    /// On a MachineSet, with value `True`: its Nodes carry the taint of the same name.
    pub const PREFER_NO_SCHEDULE: &str = "deployment.machine.sapcloud.io/prefer-no-schedule";
    /// On a Node, with value `true`: the autoscaler leaves it alone.
    pub const SCALE_DOWN_DISABLED: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled";
    /// On a Node, with value `true`: the controller has set [`SCALE_DOWN_DISABLED`] and may remove it.
    pub const SCALE_DOWN_DISABLED_BY_US: &str = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm";
    /// On a Machine, with a name after it: somebody's hook that holds the drain of a deletion, as Cluster API has it.
    pub const PRE_DRAIN_HOOK: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io/";
    /// On a Machine, with a name after it: somebody's hook that holds the removal of the VM, as Cluster API has it.
    pub const PRE_TERMINATE_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/";
    /// On a Machine: since when the hooks before the removal of its VM are awaited, RFC 3339. Written by the host.
    pub const PRE_TERMINATE_SINCE: &str = "machinist.dev/pre-terminate-since";
    /// On a Machine: a duration, how long its hooks hold its deletion at most. Wins over the flag.
    pub const DELETION_HOOK_TIMEOUT: &str = "machinist.dev/deletion-hook-timeout";
    /// On a Machine, with value `true`: somebody knows that its VM is gone. Counts where the cloud cannot be asked.
    pub const VM_IS_GONE: &str = "machinist.dev/vm-is-gone";
    /// On a MachineClass: zones that its VMs may be created in instead, best first, with commas between them.
    pub const ZONES: &str = "machinist.dev/zones";
    /// On a Machine and on a MachineClass: the mark of the cluster that their VMs carry, as `--cluster-id` says it.
    /// Written by the host once it has seen the VM, and only compared. It moves with the objects.
    pub const CLUSTER_MARK: &str = "machinist.dev/cluster-id";
    /// On a MachineClass, with value `true`: its VMs without a Machine are deleted also where there are many and
    /// nothing shows that they were ever of this control plane.
    pub const DELETE_STRANGERS: &str = "machinist.dev/delete-unknown-vms";
    /// On a MachineClass: `sha256:` and 64 hex digits of the one version of its driver that makes its machines.
    pub const DRIVER_DIGEST: &str = "machinist.dev/driver-digest";
    /// On a Secret: the plugins that may get it, separated by commas.
    pub const SECRET_PLUGINS: &str = "machinist.dev/plugins";
    /// On a Secret: the classes that may use it, separated by commas.
    pub const SECRET_CLASSES: &str = "machinist.dev/classes";
    /// On a Machine, through its template: how many Machines of its deployment may be replaced at a time because they
    /// are unhealthy, a number or a share such as `20%`.
    pub const MAX_UNHEALTHY_REPLACEMENTS: &str = "machinist.dev/max-unhealthy-replacements";
    /// On a Machine: its place in the order of its set's Machines, from which its name follows. Written by the host.
    pub const ORDINAL: &str = "machinist.dev/ordinal";
    /// On a MachineSet: ordinals up to this one are not given out any more. Written by the host, and about this set
    /// only.
    pub const CLOSED_ORDINAL: &str = "machinist.dev/closed-ordinal";
    /// On a MachineSet: how many of its Machines in a row have failed to join. Written by the host, and about this set
    /// only.
    pub const FAILED_JOINS: &str = "machinist.dev/failed-joins";
    /// On the template of a MachineDeployment: another value, such as a time, rolls it without any other change.
    pub const RESTARTED_AT: &str = "machinist.dev/restarted-at";
    /// On a MachineDeployment: when its rollouts may go on, such as `Mon-Fri 22:00-06:00 Europe/Berlin`.
    pub const MAINTENANCE_WINDOWS: &str = "machinist.dev/maintenance-windows";
    /// On a MachineDeployment: how many Machines may be taken away within a time, by rollouts, for their failures or
    /// for their age, such as `3/1h`.
    pub const DISRUPTION_BUDGET: &str = "machinist.dev/disruption-budget";
    /// On a MachineDeployment: how old its Machines may become, such as `168h`.
    pub const MAX_NODE_AGE: &str = "machinist.dev/max-node-age";
    /// On a MachineDeployment: a failed Machine stays until its replacement runs, for so long at most; `true` or a time
    /// such as `30m`.
    pub const REPLACE_BEFORE_DRAIN: &str = "machinist.dev/replace-before-drain";
    /// On a MachineDeployment, with value `true`: failed Machines are replaced in its maintenance windows only.
    pub const REMEDIATE_IN_WINDOWS: &str = "machinist.dev/remediate-in-windows";
    /// On a MachineDeployment, or a MachineSet without one: names of classes, separated by commas, that are tried in
    /// this order when the cloud has no capacity for that of the template.
    pub const CLASS_ALTERNATIVES: &str = "machinist.dev/class-alternatives";
    /// On a MachineDeployment: who may be taken away or was, as `machine~time,machine~time`. Written by the host.
    pub const DISRUPTIONS: &str = "machinist.dev/disruptions";
    /// On a MachineDeployment: whose replacement is awaited, as `machine~time,machine~time`. Written by the host.
    pub const REPLACING: &str = "machinist.dev/replacing";
}

pub mod finalizers {
    /// On the four kinds.
    pub const MACHINE: &str = "machine.sapcloud.io/machine-controller-manager";
    /// On Secrets that a class refers to.
    pub const SECRET: &str = "machine.sapcloud.io/machine-controller";
    /// On Nodes: makes the deletion of a Node the deletion of its Machine.
    pub const NODE: &str = "node.machine.sapcloud.io/machine-controller";
    /// By which somebody asks the garbage collector to leave dependents alone.
    pub const ORPHAN: &str = "orphan";
}

pub mod taints {
    /// With value `True` and effect `PreferNoSchedule`: the Node is of an old set.
    pub const PREFER_NO_SCHEDULE: &str = "deployment.machine.sapcloud.io/prefer-no-schedule";
    /// With effect `NoSchedule`: a pending Machine stays so.
    pub const CRITICAL_COMPONENTS_NOT_READY: &str = "node.gardener.cloud/critical-components-not-ready";
    /// With effect `NoSchedule`: the Node's Machine failed and is preserved.
    pub const PRESERVED: &str = "node.machine.sapcloud.io/preserved";
}

/// Types of Node conditions, and the reasons that go with them.
pub mod node_conditions {
    /// Written by the kubelet.
    pub const READY: &str = "Ready";
    /// Conditions that must be False for a healthy Node when neither machine nor flag say others.
    pub const UNHEALTHY_BY_DEFAULT: [&str; 4] =
        ["KernelDeadlock", "ReadonlyFilesystem", "DiskPressure", "NetworkUnavailable"];
    /// Progress of an update in place. Its status is always True.
    pub const IN_PLACE_UPDATE: &str = "InPlaceUpdate";
    pub const CANDIDATE_FOR_UPDATE: &str = "CandidateForUpdate";
    pub const SELECTED_FOR_UPDATE: &str = "SelectedForUpdate";
    pub const DRAIN_SUCCESSFUL: &str = "DrainSuccessful";
    pub const READY_FOR_UPDATE: &str = "ReadyForUpdate";
    pub const UPDATE_SUCCESSFUL: &str = "UpdateSuccessful";
    pub const UPDATE_FAILED: &str = "UpdateFailed";
    /// Whether the Node's Machine is preserved.
    pub const PRESERVED: &str = "Preserved";
    pub const PRESERVED_BY_CONTROLLER: &str = "Preserved by MCM.";
    pub const PRESERVED_BY_USER: &str = "Preserved by user.";
    pub const PRESERVATION_STOPPED: &str = "Preservation stopped.";
    /// The Node's Machine is being deleted.
    pub const TERMINATING: &str = "Terminating";
}

/// Types of the conditions of sets and deployments. Others count them, so there are no more.
pub mod conditions {
    /// A Machine or set could not be created or deleted.
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
    /// There are too many Machines, so that none is created.
    pub const FROZEN: &str = "Frozen";
    /// Enough Machines of a deployment are available.
    pub const AVAILABLE: &str = "Available";
    /// A deployment's rollout goes on or is done.
    pub const PROGRESSING: &str = "Progressing";
}

/// Reasons of Events about sets that others count. The core has those that follow from what it decides.
pub mod events {
    /// On a MachineSet: a Machine was created.
    pub const SUCCESSFUL_CREATE: &str = "SuccessfulCreate";
    /// On a MachineSet: a Machine was deleted.
    pub const SUCCESSFUL_DELETE: &str = "SuccessfulDelete";
    /// On a MachineSet: there are too many Machines.
    pub const FROZE_SET: &str = "FrozeMachineSet";
    /// On a MachineSet: there are no longer too many.
    pub const UNFROZE_SET: &str = "UnfrozeMachineSet";
}

/// Leases that machine-controller-manager's binaries hold while they run. The host holds those of the controllers that
/// it runs.
pub mod leases {
    /// Of the program for sets and deployments.
    pub const MACHINE_CONTROLLER_MANAGER: &str = "machine-controller-manager";
    /// Of the program for Machines.
    pub const MACHINE_CONTROLLER: &str = "machine-controller";
}

/// Keys of a class's Secret.
pub mod secret_keys {
    /// The user data that the VM starts with.
    pub const USER_DATA: &str = "userData";
}

//! Flags about the life of Machines.

use clap::Args;
use jiff::SignedDuration;

use super::given::{Count, Given, Limit, Percent, Positive};

/// Timeouts and limits; fields of a Machine override them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machines")]
pub(crate) struct MachineFlags {
    /// Timeout for the Node of a new Machine to join, from the Machine's creation
    #[arg(long, default_value = "20m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_creation_timeout: Given<SignedDuration>,
    /// Timeout for a Machine in phase Unknown before it becomes Failed
    #[arg(long, default_value = "10m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_health_timeout: Given<SignedDuration>,
    /// Timeout for draining a Node, from the request to delete its Machine; after it, pods are deleted without eviction
    #[arg(long, default_value = "2h", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_drain_timeout: Given<SignedDuration>,
    /// Timeout for an in-place update of a Machine
    #[arg(long, default_value = "20m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_inplace_update_timeout: Given<SignedDuration>,
    /// Time for which a Machine is preserved
    #[arg(long, default_value = "96h", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_preserve_timeout: Given<SignedDuration>,
    /// Attempts to evict a pod, 20 s apart, before it is deleted without eviction
    #[arg(long, default_value = "360", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_max_evict_retries: Given<Count>,
    /// Timeout for a volume to detach from a Node, beyond its pod's grace period
    #[arg(long, default_value = "2m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_detach_timeout: Given<SignedDuration>,
    /// Timeout for a volume to attach to another Node before the next pod with a volume is evicted
    #[arg(long, default_value = "90s", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_reattach_timeout: Given<SignedDuration>,
    /// Pods with volumes that may be evicted from a Node at once (machine-controller-manager: always one)
    #[arg(long, default_value = "1", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_parallel_volume_evictions: Given<Positive>,
    /// Time that a deletion waits for hooks of other programs: annotations
    /// pre-drain.delete.hook.machine.cluster.x-k8s.io/NAME and pre-terminate.delete.hook.machine.cluster.x-k8s.io/NAME
    #[arg(long, default_value = "1h", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_deletion_hook_timeout: Given<SignedDuration>,
    /// Unhealthy Machines of a MachineDeployment that may be replaced at once: a number or a percentage
    #[arg(long, default_value = "1", value_name = "LIMIT", allow_hyphen_values = true)]
    pub(crate) machine_max_unhealthy_replacements: Given<Limit>,
    /// Interval between searches for orphan VMs (VMs without a Machine); at least 3s; 0 means 15m
    #[arg(long, default_value = "15m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vms_period: Given<SignedDuration>,
    /// Minimum age of an orphan VM before it is deleted
    #[arg(long, default_value = "20m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_minimum_age: Given<SignedDuration>,
    /// Complete lists of VMs in a row that must show an orphan VM before it is deleted
    #[arg(long, default_value = "3", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_sightings: Given<Positive>,
    /// Percentage of a zone's Nodes, and at least two Nodes, that must be silent at once for the host to leave the
    /// zone's Machines alone
    #[arg(long, default_value = "50", value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) machine_safety_silent_zone_percent: Given<Percent>,
    /// Interval between checks that the API servers are reachable; at least 1s; 0 means 1m
    #[arg(long, default_value = "1m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_period: Given<SignedDuration>,
    /// Time for which an API server may be unreachable before destructive actions pause; at least 1s, at most the
    /// period; 0 means 30s
    #[arg(long, default_value = "30s", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_timeout: Given<SignedDuration>,
    /// Node conditions, comma-separated, that must be False for a Node to be healthy
    #[arg(
        long,
        default_value = "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable",
        value_name = "LIST"
    )]
    pub(crate) node_conditions: String,
    /// Extra groups of bootstrap tokens, comma-separated
    #[arg(long, default_value = "", value_name = "LIST")]
    pub(crate) bootstrap_token_auth_extra_groups: String,
    /// Pause before creating a VM again after the cloud reported no capacity; at least 5s; 0 means 10m
    #[arg(long, default_value = "10m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) resource_exhausted_retry: Given<SignedDuration>,
}

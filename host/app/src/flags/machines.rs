//! Flags about the life of Machines.

use clap::Args;
use jiff::SignedDuration;

use super::given::{Count, Given, Limit, Percent, Positive};

/// Time-outs and limits. What a Machine says itself outweighs them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machines")]
pub(crate) struct MachineFlags {
    /// From a Machine's creation until its Node must have joined
    #[arg(long, default_value = "20m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_creation_timeout: Given<SignedDuration>,
    /// How long a Machine may be Unknown before it is Failed
    #[arg(long, default_value = "10m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_health_timeout: Given<SignedDuration>,
    /// From the request for a Machine's deletion until its pods are not asked any more
    #[arg(long, default_value = "2h", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_drain_timeout: Given<SignedDuration>,
    /// How long an update in place may take
    #[arg(long, default_value = "20m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_inplace_update_timeout: Given<SignedDuration>,
    /// How long a preserved Machine is kept
    #[arg(long, default_value = "96h", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_preserve_timeout: Given<SignedDuration>,
    /// How often a pod is asked to go, 20 s apart, before it is deleted without asking
    #[arg(long, default_value = "360", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_max_evict_retries: Given<Count>,
    /// How long a volume may take to come off a Node, beyond its pod's grace period
    #[arg(long, default_value = "2m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_detach_timeout: Given<SignedDuration>,
    /// How long to wait for a volume to be attached elsewhere before the next pod goes
    #[arg(long, default_value = "90s", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_reattach_timeout: Given<SignedDuration>,
    /// Pods with volumes that may leave a Node at the same time (machine-controller-manager: always one)
    #[arg(long, default_value = "1", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_parallel_volume_evictions: Given<Positive>,
    /// How long a deletion waits for hooks of others: annotations pre-drain.delete.hook.machine.cluster.x-k8s.io/NAME and
    /// pre-terminate.delete.hook.machine.cluster.x-k8s.io/NAME
    #[arg(long, default_value = "1h", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_deletion_hook_timeout: Given<SignedDuration>,
    /// How many Machines of a MachineDeployment may be replaced at a time because they are unhealthy: a number, or a share in
    /// percent
    #[arg(long, default_value = "1", value_name = "LIMIT", allow_hyphen_values = true)]
    pub(crate) machine_max_unhealthy_replacements: Given<Limit>,
    /// How often VMs without Machines are looked for: at most every 3s; 0 means 15m
    #[arg(long, default_value = "15m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vms_period: Given<SignedDuration>,
    /// A VM without a Machine is left alone until it is this old
    #[arg(long, default_value = "20m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_minimum_age: Given<SignedDuration>,
    /// Complete listings in a row that must show a VM without a Machine before it is deleted
    #[arg(long, default_value = "3", value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_sightings: Given<Positive>,
    /// So many of a hundred Nodes of a zone, and at least two, must be silent together for the zone to be held
    #[arg(long, default_value = "50", value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) machine_safety_silent_zone_percent: Given<Percent>,
    /// How often the API servers are asked whether they are there: at most every second; 0 means 1m
    #[arg(long, default_value = "1m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_period: Given<SignedDuration>,
    /// For how long one may be away before dangerous work is held. At most the period, at least 1s; 0 means 30s
    #[arg(long, default_value = "30s", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_timeout: Given<SignedDuration>,
    /// Node conditions that must be False for a Node to be healthy, separated by commas
    #[arg(
        long,
        default_value = "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable",
        value_name = "LIST"
    )]
    pub(crate) node_conditions: String,
    /// Groups of bootstrap tokens, separated by commas
    #[arg(long, default_value = "", value_name = "LIST")]
    pub(crate) bootstrap_token_auth_extra_groups: String,
    /// How long to wait after the cloud said that it has no capacity: at least 5s; 0 means 10m
    #[arg(long, default_value = "10m", value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) resource_exhausted_retry: Given<SignedDuration>,
}

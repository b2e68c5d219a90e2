//! Flags about the life of Machines, the Secrets of their classes, and the sets and deployments that own them.

use clap::Args;
use jiff::SignedDuration;
use machinist_core::driver::secret_rule::{SecretRules, Unbound};
use machinist_core::machine_set::SetSettings;
use machinist_runtime::context::settings::Settings;

use super::defaults;
use super::value::{Count, FlagValue, NumberOrPercent, Percent, Positive, Problems};

/// Timeouts and limits; fields of a Machine override them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machines")]
pub(crate) struct MachineFlags {
    /// Timeout for the Node of a new Machine to join, from the Machine's creation
    #[arg(long, default_value_t = defaults().creation_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_creation_timeout: FlagValue<SignedDuration>,
    /// Timeout for a Machine in phase Unknown before it becomes Failed
    #[arg(long, default_value_t = defaults().health_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_health_timeout: FlagValue<SignedDuration>,
    /// Timeout for draining a Node, from the request to delete its Machine; after it, pods are deleted without eviction
    #[arg(long, default_value_t = defaults().drain_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_drain_timeout: FlagValue<SignedDuration>,
    /// Timeout for an in-place update of a Machine
    #[arg(long, default_value_t = defaults().in_place_update_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_inplace_update_timeout: FlagValue<SignedDuration>,
    /// Time for which a Machine is preserved
    #[arg(long, default_value_t = defaults().preserve_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_preserve_timeout: FlagValue<SignedDuration>,
    /// Attempts to evict a pod, 20 s apart, before it is deleted without eviction
    #[arg(long, default_value_t = Count(defaults().max_evict_retries).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_max_evict_retries: FlagValue<Count>,
    /// Timeout for a volume to detach from a Node, beyond its pod's grace period
    #[arg(long, default_value_t = defaults().volume_detach_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_detach_timeout: FlagValue<SignedDuration>,
    /// Timeout for a volume to attach to another Node before the next pod with a volume is evicted
    #[arg(long, default_value_t = defaults().volume_reattach_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_reattach_timeout: FlagValue<SignedDuration>,
    /// Pods with volumes that may be evicted from a Node at once (machine-controller-manager: always one)
    #[arg(long, default_value_t = Positive(defaults().parallel_volume_evictions).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_parallel_volume_evictions: FlagValue<Positive>,
    /// Time that a deletion waits for hooks of other programs: annotations
    /// pre-drain.delete.hook.machine.cluster.x-k8s.io/NAME and pre-terminate.delete.hook.machine.cluster.x-k8s.io/NAME
    #[arg(long, default_value_t = defaults().deletion_hook_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_deletion_hook_timeout: FlagValue<SignedDuration>,
    /// Unhealthy Machines of a MachineDeployment that may be replaced at once: a number or a percentage
    #[arg(long, default_value_t = NumberOrPercent(defaults().max_unhealthy_replacements).into(), value_name = "LIMIT", allow_hyphen_values = true)]
    pub(crate) machine_max_unhealthy_replacements: FlagValue<NumberOrPercent>,
    /// Interval between searches for orphan VMs (VMs without a Machine); at least 3s; 0 means 15m
    #[arg(long, default_value_t = defaults().orphan_vms_period.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vms_period: FlagValue<SignedDuration>,
    /// Minimum age of an orphan VM before it is deleted
    #[arg(long, default_value_t = defaults().orphan_vm_minimum_age.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_minimum_age: FlagValue<SignedDuration>,
    /// Complete lists of VMs in a row that must show an orphan VM before it is deleted
    #[arg(long, default_value_t = Positive(defaults().orphan_vm_sightings).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_sightings: FlagValue<Positive>,
    /// Percentage of a zone's Nodes, and at least two Nodes, that must be silent at once for the host to leave the
    /// zone's Machines alone
    #[arg(long, default_value_t = Percent(defaults().silent_zone_percent).into(), value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) machine_safety_silent_zone_percent: FlagValue<Percent>,
    /// Interval between checks that the API servers are reachable; at least 1s; 0 means 1m
    #[arg(long, default_value_t = defaults().api_check_period.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_period: FlagValue<SignedDuration>,
    /// Time for which an API server may be unreachable before destructive actions pause; at least 1s, at most the
    /// period; 0 means 30s
    #[arg(long, default_value_t = defaults().api_check_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_timeout: FlagValue<SignedDuration>,
    /// Node conditions, comma-separated, that must be False for a Node to be healthy
    #[arg(
        long,
        default_value_t = defaults().node_conditions,
        value_name = "LIST"
    )]
    pub(crate) node_conditions: String,
    /// Extra groups of bootstrap tokens, comma-separated
    #[arg(long, default_value_t = defaults().bootstrap_token_extra_groups, value_name = "LIST")]
    pub(crate) bootstrap_token_auth_extra_groups: String,
    /// Pause before creating a VM again after the cloud reported no capacity; at least 5s; 0 means 10m
    #[arg(long, default_value_t = defaults().resource_exhausted_retry.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) resource_exhausted_retry: FlagValue<SignedDuration>,
}

impl MachineFlags {
    /// Returns the settings of Machines; all others have their defaults.
    pub(super) fn settings(&self, problems: &mut Problems) -> Settings {
        let settings = Settings {
            api_check_period: problems.take(&self.machine_safety_apiserver_statuscheck_period),
            api_check_timeout: problems.take(&self.machine_safety_apiserver_statuscheck_timeout),
            creation_timeout: problems.take(&self.machine_creation_timeout),
            health_timeout: problems.take(&self.machine_health_timeout),
            drain_timeout: problems.take(&self.machine_drain_timeout),
            in_place_update_timeout: problems.take(&self.machine_inplace_update_timeout),
            preserve_timeout: problems.take(&self.machine_preserve_timeout),
            max_evict_retries: problems.take(&self.machine_max_evict_retries).0,
            volume_detach_timeout: problems.take(&self.machine_pv_detach_timeout),
            volume_reattach_timeout: problems.take(&self.machine_pv_reattach_timeout),
            parallel_volume_evictions: problems.take(&self.machine_parallel_volume_evictions).0,
            deletion_hook_timeout: problems.take(&self.machine_deletion_hook_timeout),
            max_unhealthy_replacements: problems.take(&self.machine_max_unhealthy_replacements).0,
            orphan_vms_period: problems.take(&self.machine_safety_orphan_vms_period),
            orphan_vm_minimum_age: problems.take(&self.machine_safety_orphan_vm_minimum_age),
            orphan_vm_sightings: problems.take(&self.machine_safety_orphan_vm_sightings).0,
            silent_zone_percent: problems.take(&self.machine_safety_silent_zone_percent).0,
            node_conditions: self.node_conditions.clone(),
            resource_exhausted_retry: problems.take(&self.resource_exhausted_retry),
            bootstrap_token_extra_groups: self.bootstrap_token_auth_extra_groups.clone(),
            ..defaults()
        }
        .with_pauses();
        if settings.api_check_period < settings.api_check_timeout {
            problems.add(
                "--machine-safety-apiserver-statuscheck-period must not be below \
                 --machine-safety-apiserver-statuscheck-timeout",
            );
        }
        settings
    }
}

/// Secrets that MachineClasses may use.
#[derive(Debug, Args)]
#[command(next_help_heading = "Secrets")]
pub(crate) struct SecretFlags {
    /// Types of Secrets, besides Opaque, that MachineClasses may use, comma-separated. Service account tokens,
    /// bootstrap tokens, registry logins and Helm records are always rejected
    #[arg(long, value_name = "TYPE", value_delimiter = ',')]
    pub(crate) secret_types: Vec<String>,
    /// Reject Secrets that have neither the annotation machinist.dev/plugins (plugins that may get them) nor
    /// machinist.dev/classes (classes that may use them)
    #[arg(long, default_value_t = (defaults().secrets.unbound == Unbound::Refused).into(), num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) secrets_must_be_bound: FlagValue<bool>,
}

impl SecretFlags {
    pub(super) fn rules(&self, problems: &mut Problems) -> SecretRules {
        let types = self.secret_types.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        for kind in types.clone().filter(|kind| !SecretRules::may_be_allowed(kind)) {
            problems.add(format!("--secret-types={kind}: classes may never use Secrets of this type"));
        }
        let must_be_bound = problems.take(&self.secrets_must_be_bound);
        SecretRules {
            types: types.map(str::to_owned).collect(),
            unbound: if must_be_bound { Unbound::Refused } else { Unbound::Allowed },
        }
    }
}

/// Behaviour of MachineSets and MachineDeployments.
#[derive(Debug, Args)]
#[command(next_help_heading = "MachineSets and MachineDeployments")]
pub(crate) struct OwnerFlags {
    /// Machines above the allowed number at which a MachineSet is frozen: no more Machines are created for it
    #[arg(long, default_value_t = Count(defaults().sets.safety_up.unsigned_abs()).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) safety_up: FlagValue<Count>,
    /// Machines below the freezing number at which a frozen MachineSet is thawed
    #[arg(long, default_value_t = Count(defaults().sets.safety_down.unsigned_abs()).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) safety_down: FlagValue<Count>,
    /// Machines of a MachineSet in a row that fail to join in time before it is frozen; 0 means no limit
    #[arg(long, default_value_t = Count(defaults().sets.failed_joins.unwrap_or_default()).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_failed_joins: FlagValue<Count>,
    /// Annotate the Nodes of a MachineDeployment during its rollout so that cluster-autoscaler does not scale them down
    #[arg(long, default_value_t = defaults().holds_autoscaler.into(), num_args = 0..=1, default_missing_value = "true", value_name = "BOOL")]
    pub(crate) autoscaler_scaledown_annotation_during_rollout: FlagValue<bool>,
}

impl OwnerFlags {
    pub(super) fn sets(&self, problems: &mut Problems) -> SetSettings {
        let number = |count: Count| i32::try_from(count.0).unwrap_or(i32::MAX);
        let joins = problems.take(&self.machine_safety_failed_joins).0;
        SetSettings {
            safety_up: number(problems.take(&self.safety_up)),
            safety_down: number(problems.take(&self.safety_down)),
            failed_joins: (joins > 0).then_some(joins),
        }
    }

    /// Whether deployments hold the autoscaler.
    pub(super) fn holds_autoscaler(&self, problems: &mut Problems) -> bool {
        problems.take(&self.autoscaler_scaledown_annotation_during_rollout)
    }
}

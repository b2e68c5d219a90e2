//! Flags about the life of Machines.

use clap::Args;
use jiff::SignedDuration;
use machinist_runtime::context::settings::Settings;

use super::defaults;
use super::value::{Count, FlagValue, NumberOrPercent, Percent, Positive, Problems};

/// Time-outs and limits. What a Machine says itself outweighs them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Machines")]
pub(crate) struct MachineFlags {
    /// From a Machine's creation until its Node must have joined
    #[arg(long, default_value_t = defaults().creation_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_creation_timeout: FlagValue<SignedDuration>,
    /// How long a Machine may be Unknown before it is Failed
    #[arg(long, default_value_t = defaults().health_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_health_timeout: FlagValue<SignedDuration>,
    /// From the request for a Machine's deletion until its pods are not asked any more
    #[arg(long, default_value_t = defaults().drain_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_drain_timeout: FlagValue<SignedDuration>,
    /// How long an update in place may take
    #[arg(long, default_value_t = defaults().in_place_update_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_inplace_update_timeout: FlagValue<SignedDuration>,
    /// How long a preserved Machine is kept
    #[arg(long, default_value_t = defaults().preserve_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_preserve_timeout: FlagValue<SignedDuration>,
    /// How often a pod is asked to go, 20 s apart, before it is deleted without asking
    #[arg(long, default_value_t = Count(defaults().max_evict_retries).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_max_evict_retries: FlagValue<Count>,
    /// How long a volume may take to come off a Node, beyond its pod's grace period
    #[arg(long, default_value_t = defaults().volume_detach_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_detach_timeout: FlagValue<SignedDuration>,
    /// How long to wait for a volume to be attached elsewhere before the next pod goes
    #[arg(long, default_value_t = defaults().volume_reattach_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_pv_reattach_timeout: FlagValue<SignedDuration>,
    /// Pods with volumes that may leave a Node at the same time (machine-controller-manager: always one)
    #[arg(long, default_value_t = Positive(defaults().parallel_volume_evictions).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_parallel_volume_evictions: FlagValue<Positive>,
    /// How long a deletion waits for hooks of others: annotations pre-drain.delete.hook.machine.cluster.x-k8s.io/NAME and
    /// pre-terminate.delete.hook.machine.cluster.x-k8s.io/NAME
    #[arg(long, default_value_t = defaults().deletion_hook_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_deletion_hook_timeout: FlagValue<SignedDuration>,
    /// How many Machines of a MachineDeployment may be replaced at a time because they are unhealthy: a number, or a share in
    /// percent
    #[arg(long, default_value_t = NumberOrPercent(defaults().max_unhealthy_replacements).into(), value_name = "LIMIT", allow_hyphen_values = true)]
    pub(crate) machine_max_unhealthy_replacements: FlagValue<NumberOrPercent>,
    /// How often VMs without Machines are looked for: at most every 3s; 0 means 15m
    #[arg(long, default_value_t = defaults().orphan_vms_period.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vms_period: FlagValue<SignedDuration>,
    /// A VM without a Machine is left alone until it is this old
    #[arg(long, default_value_t = defaults().orphan_vm_minimum_age.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_minimum_age: FlagValue<SignedDuration>,
    /// Complete listings in a row that must show a VM without a Machine before it is deleted
    #[arg(long, default_value_t = Positive(defaults().orphan_vm_sightings).into(), value_name = "COUNT", allow_hyphen_values = true)]
    pub(crate) machine_safety_orphan_vm_sightings: FlagValue<Positive>,
    /// So many of a hundred Nodes of a zone, and at least two, must be silent together for the zone to be held
    #[arg(long, default_value_t = Percent(defaults().silent_zone_percent).into(), value_name = "PERCENT", allow_hyphen_values = true)]
    pub(crate) machine_safety_silent_zone_percent: FlagValue<Percent>,
    /// How often the API servers are asked whether they are there: at most every second; 0 means 1m
    #[arg(long, default_value_t = defaults().api_check_period.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_period: FlagValue<SignedDuration>,
    /// For how long one may be away before dangerous work is held. At most the period, at least 1s; 0 means 30s
    #[arg(long, default_value_t = defaults().api_check_timeout.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) machine_safety_apiserver_statuscheck_timeout: FlagValue<SignedDuration>,
    /// Node conditions that must be False for a Node to be healthy, separated by commas
    #[arg(
        long,
        default_value_t = defaults().node_conditions,
        value_name = "LIST"
    )]
    pub(crate) node_conditions: String,
    /// Groups of bootstrap tokens, separated by commas
    #[arg(long, default_value_t = defaults().bootstrap_token_extra_groups, value_name = "LIST")]
    pub(crate) bootstrap_token_auth_extra_groups: String,
    /// How long to wait after the cloud said that it has no capacity: at least 5s; 0 means 10m
    #[arg(long, default_value_t = defaults().resource_exhausted_retry.into(), value_name = "DURATION", allow_hyphen_values = true)]
    pub(crate) resource_exhausted_retry: FlagValue<SignedDuration>,
}

impl MachineFlags {
    /// Returns the settings of Machines; all others have their defaults.
    pub(super) fn settings(&self, problems: &mut Problems) -> Settings {
        let period = "--machine-safety-apiserver-statuscheck-period";
        let timeout = "--machine-safety-apiserver-statuscheck-timeout";
        let api_check_period = problems.take(period, &self.machine_safety_apiserver_statuscheck_period);
        let api_check_timeout = problems.take(timeout, &self.machine_safety_apiserver_statuscheck_timeout);
        let settings = Settings {
            creation_timeout: problems.take("--machine-creation-timeout", &self.machine_creation_timeout),
            health_timeout: problems.take("--machine-health-timeout", &self.machine_health_timeout),
            drain_timeout: problems.take("--machine-drain-timeout", &self.machine_drain_timeout),
            in_place_update_timeout: problems
                .take("--machine-inplace-update-timeout", &self.machine_inplace_update_timeout),
            preserve_timeout: problems.take("--machine-preserve-timeout", &self.machine_preserve_timeout),
            max_evict_retries: problems
                .take("--machine-max-evict-retries", &self.machine_max_evict_retries)
                .0,
            volume_detach_timeout: problems
                .take("--machine-pv-detach-timeout", &self.machine_pv_detach_timeout),
            volume_reattach_timeout: problems
                .take("--machine-pv-reattach-timeout", &self.machine_pv_reattach_timeout),
            parallel_volume_evictions: problems
                .take("--machine-parallel-volume-evictions", &self.machine_parallel_volume_evictions)
                .0,
            deletion_hook_timeout: problems
                .take("--machine-deletion-hook-timeout", &self.machine_deletion_hook_timeout),
            max_unhealthy_replacements: problems
                .take("--machine-max-unhealthy-replacements", &self.machine_max_unhealthy_replacements)
                .0,
            orphan_vms_period: problems
                .take("--machine-safety-orphan-vms-period", &self.machine_safety_orphan_vms_period),
            orphan_vm_minimum_age: problems
                .take("--machine-safety-orphan-vm-minimum-age", &self.machine_safety_orphan_vm_minimum_age),
            orphan_vm_sightings: problems
                .take("--machine-safety-orphan-vm-sightings", &self.machine_safety_orphan_vm_sightings)
                .0,
            silent_zone_percent: problems
                .take("--machine-safety-silent-zone-percent", &self.machine_safety_silent_zone_percent)
                .0,
            api_check_period,
            api_check_timeout,
            node_conditions: self.node_conditions.clone(),
            resource_exhausted_retry: problems
                .take("--resource-exhausted-retry", &self.resource_exhausted_retry),
            bootstrap_token_extra_groups: self.bootstrap_token_auth_extra_groups.clone(),
            ..defaults()
        }
        .with_pauses();
        if settings.api_check_period < settings.api_check_timeout {
            problems.add(format!("{period} must not be below {timeout}"));
        }
        settings
    }
}

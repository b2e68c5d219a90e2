//! Settings of one tenant. Immutable: a change means a new process.

use jiff::SignedDuration;
use machinist_core::driver::secret_rule::SecretRules;
use machinist_core::machine_set::SetSettings;
use machinist_core::value::intervals::{
    LEAST_API_CHECK, LEAST_ORPHAN_VMS_PERIOD, LEAST_RESOURCE_EXHAUSTED_RETRY, at_least, resync,
};

use crate::context::key::Key;

/// The settings of the flags. Names and defaults are those of machine-controller-manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Names the cluster towards the cloud. Must be unique among all clusters of a cloud account.
    pub cluster: String,
    /// From a Machine's creation until its Node must have joined.
    pub creation_timeout: SignedDuration,
    /// How long a Machine may be Unknown.
    pub health_timeout: SignedDuration,
    /// Node conditions that must be False.
    pub node_conditions: String,
    /// How long to wait after the cloud's "no capacity".
    pub resource_exhausted_retry: SignedDuration,
    /// From the request for a Machine's deletion until its pods are not asked any more.
    pub drain_timeout: SignedDuration,
    /// How often a pod is asked to go, 20 s apart, before it is deleted without asking.
    pub max_evict_retries: u32,
    /// Pods with volumes that may leave a Node at the same time. At least 1.
    pub parallel_volume_evictions: u32,
    /// How long a volume may take to come off a Node, beyond its pod's grace period.
    pub volume_detach_timeout: SignedDuration,
    /// How long to wait for a volume to be attached elsewhere before the next pod is evicted.
    pub volume_reattach_timeout: SignedDuration,
    /// How long an in-place update may take.
    pub in_place_update_timeout: SignedDuration,
    /// How long a preserved Machine is kept.
    pub preserve_timeout: SignedDuration,
    /// How long a deletion waits for hooks of others.
    pub deletion_hook_timeout: SignedDuration,
    /// Machines of a MachineDeployment that may be replaced at a time because they are unhealthy: a number or a
    /// percentage.
    pub max_unhealthy_replacements: String,
    /// Percentage of a zone's Nodes, at least two, that must be silent together for none of the zone to be failed.
    pub silent_zone_percent: u32,
    /// How often VMs without a Machine are searched for.
    pub orphan_vms_period: SignedDuration,
    /// A VM without a Machine is left alone until it is this old.
    pub orphan_vm_minimum_age: SignedDuration,
    /// Complete listings in a row that must show a VM without a Machine before it is deleted.
    pub orphan_vm_sightings: u32,
    /// How often the API servers are asked whether they are there.
    pub api_check_period: SignedDuration,
    /// How long an API server may be unreachable before destructive actions pause.
    pub api_check_timeout: SignedDuration,
    /// `auth-extra-groups` of bootstrap tokens.
    pub bootstrap_token_extra_groups: String,
    /// Rules for the Secrets of classes.
    pub secrets: SecretRules,
    pub controllers: Controllers,
    /// Where the kinds for Cluster API are served.
    pub cluster_api: ClusterApi,
    /// When a set makes no more Machines.
    pub sets: SetSettings,
    /// The autoscaler is asked to leave the Nodes of a deployment alone while it is rolled.
    pub holds_autoscaler: bool,
    /// Reconciles at the same time. A reconcile that waits for a driver is not counted.
    pub concurrent_reconciles: usize,
    /// Every object is reconciled at least this often, with jitter up to twice that.
    pub resync: SignedDuration,
}

/// Where the kinds for Cluster API are served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ClusterApi {
    #[default]
    Off,
    EveryNamespace,
    Namespace(String),
}

impl ClusterApi {
    /// Returns whether they are served anywhere.
    pub fn is_served(&self) -> bool {
        *self != Self::Off
    }

    /// Returns the one namespace in which they are served.
    pub fn namespace(&self) -> Option<&str> {
        match self {
            Self::Off | Self::EveryNamespace => None,
            Self::Namespace(namespace) => Some(namespace),
        }
    }
}

/// The Leases of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseNames {
    One(&'static str),
    /// Both are needed, and acquired in this order.
    Both(&'static str, &'static str),
}

/// The controllers of this process. The others may run elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Controllers {
    /// Of Machines, their classes and Secrets, with the safety checks.
    pub machines: bool,
    pub sets: bool,
    pub deployments: bool,
}

impl Default for Controllers {
    fn default() -> Self {
        Self::ALL
    }
}

impl Controllers {
    pub const ALL: Self = Self { machines: true, sets: true, deployments: true };

    /// The names of those that run.
    pub fn names(self) -> Vec<&'static str> {
        let all =
            [(self.machines, "machine"), (self.sets, "machineset"), (self.deployments, "machinedeployment")];
        all.into_iter().filter(|(is_run, _)| *is_run).map(|(_, name)| name).collect()
    }

    /// Sets and deployments are watched: each of the two needs the other's.
    pub(crate) fn know_owners(self) -> bool {
        self.sets || self.deployments
    }

    /// Returns the Leases of a leader: one for each binary of machine-controller-manager whose controllers run here, so
    /// that none of them runs twice.
    pub fn leases(self) -> LeaseNames {
        use machinist_api::names::leases::{MACHINE_CONTROLLER, MACHINE_CONTROLLER_MANAGER};
        match (self.know_owners(), self.machines) {
            (true, true) => LeaseNames::Both(MACHINE_CONTROLLER_MANAGER, MACHINE_CONTROLLER),
            (true, false) => LeaseNames::One(MACHINE_CONTROLLER_MANAGER),
            (false, _) => LeaseNames::One(MACHINE_CONTROLLER),
        }
    }

    /// Returns whether this key is reconciled here.
    pub(crate) fn run(self, key: &Key) -> bool {
        match key {
            Key::Machine(_) | Key::Class(_) | Key::Secret(_) => self.machines,
            Key::Set(_) => self.sets,
            Key::Deployment(_) => self.deployments,
            // They are watched only where they are served.
            Key::InfraMachine(_)
            | Key::InfraCluster(_)
            | Key::InfraTemplate(_)
            | Key::InfraRemediation(_)
            | Key::InfraIdentity(_)
            | Key::InfraSecret(_) => true,
        }
    }
}

impl Settings {
    /// The defaults, for one cluster.
    pub fn for_cluster(cluster: impl Into<String>) -> Self {
        Self {
            cluster: cluster.into(),
            creation_timeout: SignedDuration::from_mins(20),
            health_timeout: SignedDuration::from_mins(10),
            node_conditions: "KernelDeadlock,ReadonlyFilesystem,DiskPressure,NetworkUnavailable".into(),
            resource_exhausted_retry: SignedDuration::from_mins(10),
            drain_timeout: SignedDuration::from_hours(2),
            max_evict_retries: 360,
            parallel_volume_evictions: 1,
            volume_detach_timeout: SignedDuration::from_mins(2),
            volume_reattach_timeout: SignedDuration::from_secs(90),
            in_place_update_timeout: SignedDuration::from_mins(20),
            preserve_timeout: SignedDuration::from_hours(96),
            // As long as most hooks take, and short enough that a forgotten one is noticed the same day.
            deletion_hook_timeout: SignedDuration::from_hours(1),
            max_unhealthy_replacements: "1".into(),
            silent_zone_percent: 50,
            orphan_vms_period: SignedDuration::from_mins(15),
            orphan_vm_minimum_age: SignedDuration::from_mins(20),
            orphan_vm_sightings: 3,
            api_check_period: SignedDuration::from_mins(1),
            api_check_timeout: SignedDuration::from_secs(30),
            bootstrap_token_extra_groups: String::new(),
            secrets: SecretRules::default(),
            controllers: Controllers::ALL,
            cluster_api: ClusterApi::Off,
            sets: SetSettings::default(),
            holds_autoscaler: true,
            // More than an API server serves of one client; each costs some kilobytes.
            concurrent_reconciles: 1_000,
            resync: SignedDuration::from_hours(12),
        }
    }

    /// The settings with intervals that have a pause in them: see [`machinist_core::value::intervals`].
    pub fn with_pauses(self) -> Self {
        let Self { orphan_vms_period, api_check_period, api_check_timeout, resource_exhausted_retry, .. } =
            Self::for_cluster("");
        let check = |given, default| at_least(LEAST_API_CHECK, given, default);
        Self {
            orphan_vms_period: at_least(LEAST_ORPHAN_VMS_PERIOD, self.orphan_vms_period, orphan_vms_period),
            api_check_period: check(self.api_check_period, api_check_period),
            api_check_timeout: check(self.api_check_timeout, api_check_timeout),
            resource_exhausted_retry: at_least(
                LEAST_RESOURCE_EXHAUSTED_RETRY, self.resource_exhausted_retry, resource_exhausted_retry,
            ),
            resync: resync(self.resync),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_interval_is_a_loop() {
        for given in [SignedDuration::ZERO, SignedDuration::from_millis(1)] {
            let settings = Settings {
                orphan_vms_period: given,
                api_check_period: given,
                api_check_timeout: given,
                resource_exhausted_retry: given,
                resync: given,
                ..Settings::for_cluster("c")
            };
            let Settings { orphan_vms_period, api_check_period, api_check_timeout, .. } =
                settings.clone().with_pauses();
            let second = SignedDuration::from_secs(1);
            assert!(orphan_vms_period >= second && api_check_period >= second && api_check_timeout >= second);
            let Settings { resource_exhausted_retry, resync, .. } = settings.with_pauses();
            assert!(resource_exhausted_retry >= second && resync >= second);
        }
        let defaults = Settings::for_cluster("c");
        assert_eq!(defaults.clone().with_pauses(), defaults);
    }

    #[test]
    fn a_leader_holds_the_lease_of_each_binary_whose_controllers_it_runs() {
        let check = |machines, sets, deployments, expected| {
            assert_eq!(Controllers { machines, sets, deployments }.leases(), expected);
        };
        let (manager, machine) = ("machine-controller-manager", "machine-controller");
        check(true, true, true, LeaseNames::Both(manager, machine));
        check(true, false, true, LeaseNames::Both(manager, machine));
        check(true, false, false, LeaseNames::One(machine));
        check(false, true, true, LeaseNames::One(manager));
        check(false, true, false, LeaseNames::One(manager));
        check(false, false, true, LeaseNames::One(manager));
    }
}

//! Settings of one tenant. Immutable: a change means a new process.

use jiff::SignedDuration;

/// What the flags say. Names and defaults are those of machine-controller-manager.
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
    /// `auth-extra-groups` of bootstrap tokens.
    pub bootstrap_token_extra_groups: String,
    /// Passes at the same time. A pass that waits for a cloud holds a place, not a thread.
    pub passes_in_flight: usize,
    /// Everything is looked at at least this often, with jitter up to twice that.
    pub resync: SignedDuration,
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
            bootstrap_token_extra_groups: String::new(),
            // Enough that slow clouds do not hold up fast ones; each costs some kilobytes.
            passes_in_flight: 1_000,
            resync: SignedDuration::from_hours(12),
        }
    }
}

//! The names by which the parts of the world know one another.

use jiff::SignedDuration;
use machinist_core::scheduling::lease::LeaseTimes;

/// The namespace of all that is not in `kube-system` or `default`.
pub(crate) const NAMESPACE: &str = "shoot";

/// The tags of this cluster's VMs.
pub(crate) const CLUSTER: &str = "sim";

/// All actors with this prefix are hosts.
pub(crate) const HOST: &str = "host-";

/// A host on its way to the cluster of the Nodes. It is the same server, and can be cut off apart.
pub(crate) fn to_target(host: &str) -> String {
    format!("{host}{TARGET}")
}

/// Ends the names of those ways.
pub(crate) const TARGET: &str = "@target";

/// Longer than the default, since renewals would be most of all requests.
pub(crate) const LEASE_TIMES: LeaseTimes = LeaseTimes {
    duration: SignedDuration::from_secs(60),
    renew_deadline: SignedDuration::from_secs(40),
    retry: SignedDuration::from_secs(10),
};

/// Where classes put their VMs, in turn.
pub(crate) const ZONES: [&str; 3] = ["sim-1a", "sim-1b", "sim-1c"];

/// VMs that were never those of a Machine of ours are named so.
pub(crate) const STRANGER: &str = "nobody-";

/// The tag with the Machine's uid.
pub(crate) const UID_TAG: &str = "machine-uid";

/// As Nodes register with it.
pub(crate) fn provider_id(zone: &str, id: &str) -> String {
    format!("sim:///{zone}/{id}")
}

/// One of the two management clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Site {
    /// With Machines of MCM's kinds, too.
    Home,
    /// `clusterctl move` brings objects here and back.
    Away,
}

impl Site {
    pub(crate) const ALL: [Self; 2] = [Self::Home, Self::Away];

    /// The site of this host.
    pub(crate) fn of(actor: &str) -> Self {
        if actor.starts_with(HOST_AWAY) { Self::Away } else { Self::Home }
    }

    /// The beginning of its hosts' names.
    pub(crate) fn hosts(self) -> &'static str {
        match self {
            Self::Home => HOST,
            Self::Away => HOST_AWAY,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::Home => Self::Away,
            Self::Away => Self::Home,
        }
    }
}

const HOST_AWAY: &str = "host-away-";

/// VMs with this mark are those of MachinistMachines: it names a Cluster and its namespace, or is given in that form.
pub(crate) fn is_of_cluster_api(mark: &str) -> bool {
    mark.contains('/')
}

/// The cloud's id in a provider id.
pub(crate) fn id_of(provider_id: &str) -> &str {
    provider_id.rsplit('/').next().unwrap_or_default()
}

/// The volume of a claim.
pub(crate) fn volume_of(claim: &str) -> String {
    format!("pv-{claim}")
}

/// The claim that this volume is for.
pub(crate) fn claim_of(volume: &str) -> String {
    volume.strip_prefix("pv-").unwrap_or_default().to_owned()
}

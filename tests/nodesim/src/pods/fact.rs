//! The fields of a pod that a kubelet reads.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;

/// The pod's containers ignore SIGTERM and SIGKILL alike: it never ends.
pub const HANGS: &str = "nodesim.machinist.dev/hangs";
/// Milliseconds that its containers take after SIGTERM, where that is less than their grace period.
pub const EXITS_AFTER_MS: &str = "nodesim.machinist.dev/exits-after-ms";
/// Milliseconds after which its containers have finished.
pub const FINISHES_AFTER_MS: &str = "nodesim.machinist.dev/finishes-after-ms";
/// With the value `false`, it runs and is never Ready.
pub const READY: &str = "nodesim.machinist.dev/ready";

/// A pod by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodKey {
    pub namespace: String,
    pub name: String,
}

/// A pod that is bound to a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodFact {
    pub key: PodKey,
    pub uid: String,
    /// The Node that it is bound to.
    pub node: String,
    /// Names and images of its containers.
    pub containers: Vec<(String, String)>,
    /// Names of the claims that it mounts, without doubles and in order.
    pub claims: Vec<String>,
    /// How far it has come.
    pub phase: PodPhase,
    /// The grace period of its deletion, once that was asked for.
    pub deletion_grace: Option<Duration>,
    /// The behaviour of its containers that tests want.
    pub conduct: Conduct,
}

/// How far a pod has come, as its status says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodPhase {
    /// Its containers are to be started.
    Pending,
    Running,
    /// They have ended for good.
    Finished,
}

/// The behaviour of a pod's containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conduct {
    pub hangs: bool,
    /// They take so long after SIGTERM; without it, their whole grace period.
    pub exits_after: Option<Duration>,
    /// They finish so long after their start.
    pub finishes_after: Option<Duration>,
    pub is_ready: bool,
}

impl PodFact {
    /// Returns the facts about a pod for its kubelet; `None` while it is bound to no Node.
    pub fn of(pod: &Pod) -> Option<Self> {
        let (meta, spec) = (&pod.metadata, pod.spec.as_ref()?);
        let annotation = |key: &str| meta.annotations.as_ref()?.get(key).map(String::as_str);
        let millis = |key: &str| annotation(key)?.parse().ok().map(Duration::from_millis);
        let volumes = spec.volumes.iter().flatten();
        let mut claims: Vec<String> = volumes
            .filter_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name.clone()))
            .collect();
        claims.sort();
        claims.dedup();
        let containers = spec.containers.iter();
        let grace = meta.deletion_grace_period_seconds.unwrap_or_default();
        Some(Self {
            key: PodKey { namespace: meta.namespace.clone()?, name: meta.name.clone()? },
            uid: meta.uid.clone()?,
            node: spec.node_name.clone()?,
            containers: containers
                .map(|container| (container.name.clone(), container.image.clone().unwrap_or_default()))
                .collect(),
            claims,
            phase: match pod.status.as_ref().and_then(|status| status.phase.as_deref()) {
                Some("Running") => PodPhase::Running,
                Some("Succeeded" | "Failed") => PodPhase::Finished,
                _ => PodPhase::Pending,
            },
            deletion_grace: meta
                .deletion_timestamp
                .as_ref()
                .map(|_| Duration::from_secs(u64::try_from(grace).unwrap_or_default())),
            conduct: Conduct {
                hangs: annotation(HANGS) == Some("true"),
                exits_after: millis(EXITS_AFTER_MS),
                finishes_after: millis(FINISHES_AFTER_MS),
                is_ready: annotation(READY) != Some("false"),
            },
        })
    }
}

//! Settings, and what can be wrong with them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a node simulator.
#[derive(Clone, Debug)]
pub struct Config {
    /// The cluster that the kubelets join.
    pub target: Target,
    /// When kubelets do what.
    pub timing: Timing,
    /// With it, kubelets run the pods that are bound to their Nodes, and volumes are attached and detached. Without it,
    /// nobody looks at pods.
    pub workloads: Option<Workloads>,
    /// Further labels of each Node.
    pub labels: BTreeMap<String, String>,
    /// Requests in flight to the API server and the cloud, all together.
    pub concurrency: usize,
    /// Where all randomness starts from.
    pub seed: u64,
}

impl Config {
    /// The usual settings for this cluster.
    pub fn new(target: Target) -> Self {
        Self {
            target,
            timing: Timing::default(),
            workloads: None,
            labels: BTreeMap::new(),
            concurrency: 32,
            seed: 0,
        }
    }
}

/// A cluster, with an account that may write Leases and the status of Nodes. Nodes themselves are created with
/// bootstrap tokens alone.
#[derive(Clone, Debug)]
pub enum Target {
    /// The current context of this file.
    Kubeconfig(PathBuf),
    /// A configuration that was read already.
    Config(Box<kube::Config>),
}

/// When kubelets do what.
#[derive(Clone, Debug)]
pub struct Timing {
    /// From the time that the VM runs, or is rebooted, until its kubelet starts.
    pub boot_delay: Duration,
    /// From the start of the kubelet until it tries to join.
    pub join_delay: Duration,
    /// Up to so much is added to these two, for each VM.
    pub spread: Duration,
    /// Between two renewals of a Lease. The status is written at each fifth, and on change.
    pub heartbeat: Duration,
    /// The first pause after a join that failed; it doubles with each further one.
    pub join_retry: Duration,
    /// The longest pause after a join that failed.
    pub join_retry_limit: Duration,
    /// Takes the place of the node lifecycle controller: after so long a silence the Node's conditions become Unknown.
    /// A silent kubelet cannot report this. Without it, a silent Node stays as it was.
    pub unknown_after: Option<Duration>,
}

/// How long what concerns pods takes.
#[derive(Clone, Debug, Default)]
pub struct Workloads {
    pub pods: PodTiming,
    pub volumes: VolumeTiming,
}

/// How long pods take.
#[derive(Clone, Debug, Default)]
pub struct PodTiming {
    /// From when a pod is bound to a Node until it is Ready. The attachment of its volumes comes on top.
    pub start: Duration,
    /// From SIGTERM to the end, at most the grace period. Without it, pods take their whole grace period.
    pub exit: Option<Duration>,
}

/// How long volumes take.
#[derive(Clone, Debug, Default)]
pub struct VolumeTiming {
    /// Until a volume is attached.
    pub attach: Duration,
    /// Until it is detached.
    pub detach: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            boot_delay: Duration::ZERO,
            join_delay: Duration::ZERO,
            spread: Duration::ZERO,
            heartbeat: Duration::from_secs(10),
            join_retry: Duration::from_millis(500),
            join_retry_limit: Duration::from_secs(15),
            unknown_after: None,
        }
    }
}

/// Why the node simulator did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The kubeconfig cannot be used.
    #[error("failed to read the kubeconfig {path}")]
    Kubeconfig {
        path: PathBuf,
        #[source]
        source: Box<kube::config::KubeconfigError>,
    },
    /// The cluster's certificate authority or our certificate cannot be used.
    #[error("failed to set up TLS")]
    Tls(#[source] Box<kube::Error>),
    /// The file with the account's token cannot be read.
    #[error("failed to read the token {path}")]
    Token {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    /// The HTTP client cannot be built.
    #[error("failed to build the HTTP client")]
    Client(#[source] reqwest::Error),
    /// No threads could be had.
    #[error("failed to start the node simulator's threads")]
    Threads(#[source] std::io::Error),
    /// The thread ended before it was ready.
    #[error("failed to start the node simulator: its thread ended")]
    Ended,
}

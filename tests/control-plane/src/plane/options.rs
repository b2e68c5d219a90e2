//! The options of a control plane.

use std::collections::BTreeMap;

/// The programs to start, and their flags. `Options::default()` is for demo and e2e tests; benchmarks turn the
/// kube-controller-manager off.
#[derive(Clone, Debug)]
pub struct Options {
    /// Runs kube-controller-manager with the controllers for service accounts, root CA ConfigMaps, garbage collection,
    /// disruption budgets and namespaces.
    pub controller_manager: bool,
    /// Adds the controllers that taint Nodes by their conditions and evict pods from them. Off, a Node that stops
    /// posting its status keeps its last conditions, and Nodes start without the `not-ready` taint that nobody would
    /// take away.
    pub node_lifecycle: bool,
    /// Adds the controller that deletes expired bootstrap tokens.
    pub token_cleaner: bool,
    /// Runs kube-scheduler, and adds the controllers for Deployments, ReplicaSets, StatefulSets, DaemonSets and
    /// volumes, and the one that removes pods of Nodes that are gone: with kubelets that run pods, workloads work.
    pub workloads: bool,
    /// Nodes are authorised as in a cluster of kubeadm, for real kubelets: a bootstrap token may request a certificate
    /// and nothing else, real controllers approve and sign it, and a kubelet may change its own Node alone (Node
    /// authorizer and NodeRestriction). Kubelets of nodesim cannot join then. Needs the controller manager.
    pub node_authorization: bool,
    /// Further controllers of kube-controller-manager by name, such as `replicaset-controller`.
    pub controllers: Vec<String>,
    /// Feature gates of kube-apiserver and kube-controller-manager.
    pub feature_gates: BTreeMap<String, bool>,
    /// Entries of kube-apiserver's `--runtime-config`, such as `api/alpha=true`.
    pub runtime_config: Vec<String>,
    /// Further arguments of kube-apiserver; they come last and so win over ours.
    pub api_server_args: Vec<String>,
    /// Further arguments of kube-controller-manager.
    pub controller_manager_args: Vec<String>,
    /// Leaves the folder (data, logs, kubeconfigs) behind. The processes stop all the same.
    pub keep: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controller_manager: true,
            node_lifecycle: false,
            token_cleaner: false,
            workloads: false,
            node_authorization: false,
            controllers: Vec::new(),
            feature_gates: BTreeMap::new(),
            runtime_config: Vec::new(),
            api_server_args: Vec::new(),
            controller_manager_args: Vec::new(),
            keep: false,
        }
    }
}

impl Options {
    /// The least: etcd and kube-apiserver alone, as the benchmarks run them.
    pub fn without_controller_manager() -> Self {
        Self { controller_manager: false, ..Self::default() }
    }

    /// With all that workloads need.
    pub fn with_workloads() -> Self {
        Self { workloads: true, ..Self::default() }
    }

    /// With all that real kubelets need to join; see [`crate::Kubelet`].
    pub fn with_node_authorization() -> Self {
        Self { node_authorization: true, ..Self::default() }
    }
}

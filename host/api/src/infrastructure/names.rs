//! Names that Cluster API, or an earlier version of this program, reads or writes. None of them may change.

pub mod labels {
    /// On every object of a cluster: name of the Cluster.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// On a definition: versions of this group that follow the contract v1beta2.
    pub const CONTRACT: &str = "cluster.x-k8s.io/v1beta2";
    /// On every part of a provider: `infrastructure-machinist`.
    pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
    /// On a definition, with an empty value: `clusterctl move` moves its objects.
    pub const MOVED: &str = "clusterctl.cluster.x-k8s.io";
}

pub mod annotations {
    /// On a Cluster's objects: nothing is done to them, deletion included.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// On an infrastructure cluster: others provide it.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// On an object that `clusterctl move` deletes: its VM lives on under the copy of the object elsewhere.
    pub const DELETE_FOR_MOVE: &str = "clusterctl.cluster.x-k8s.io/delete-for-move";
    /// On an infrastructure machine: name of the template that it was cloned from.
    pub const CLONED_FROM: &str = "cluster.x-k8s.io/cloned-from-name";
    /// On a template that the topology controller applies without keeping it.
    pub const TOPOLOGY_DRY_RUN: &str = "topology.cluster.x-k8s.io/dry-run";
    /// On a MachinistMachine: the key of its VM. Written once, before the first call to a cloud, and moved with the
    /// object, whose uid changes when it is moved.
    pub const MACHINE_KEY: &str = "machinist.dev/machine-key";
    /// On a MachinistMachine: kind and name of its credentials, noted with the key. Its deletion needs them also where
    /// its cluster is gone.
    pub const IDENTITY: &str = "machinist.dev/identity";
    /// On a MachinistMachine: a short digest of the bootstrap data that its create got, noted with the key.
    pub const BOOTSTRAP_DATA: &str = "machinist.dev/bootstrap-data";
    /// On a MachinistMachine: the driver's own id of the VM, where it differs from that of the VM's Node.
    pub const VM_ID: &str = "machinist.dev/vm-id";
    /// On a MachinistMachine: the failure domain that its VM has to be in, noted with the key. Its deletion needs it
    /// also where its Machine is gone.
    pub const FAILURE_DOMAIN: &str = "machinist.dev/failure-domain";
    /// On a MachinistMachine: what the driver has returned last, and gets back with each call.
    pub const DRIVER_STATE: &str = "machinist.dev/driver-state";
}

pub mod finalizers {
    /// On a MachinistMachine, from before its VM is requested until the VM is proven gone.
    pub const MACHINE: &str = "infrastructure.machinist.dev/machine";
    /// On a MachinistCluster, until none of its machines is left.
    pub const CLUSTER: &str = "infrastructure.machinist.dev/cluster";
    /// On the Secret or the MachinistIdentity that machines need for their deletion.
    pub const IDENTITY: &str = "infrastructure.machinist.dev/identity";
}

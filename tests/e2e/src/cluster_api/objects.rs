//! The objects of a workload cluster, as a user writes them.

use serde_json::{Value, json};

const INFRASTRUCTURE: &str = "infrastructure.machinist.dev";
const BOOTSTRAP: &str = "bootstrap.cluster.x-k8s.io";
/// The version of Kubernetes that Machines ask for: that of the simulated kubelets.
pub const VERSION: &str = "v1.36.0";

/// A reference of Cluster API: the version follows from the contract, the namespace from the object.
pub fn reference(group: &str, kind: &str, name: &str) -> Value {
    json!({ "apiGroup": group, "kind": kind, "name": name })
}

fn metadata(namespace: &str, name: &str) -> Value {
    json!({ "name": name, "namespace": namespace })
}

/// A Cluster with a control plane that somebody else runs. Core takes its endpoint from the MachinistCluster.
pub fn cluster(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": metadata(namespace, name),
        "spec": {
            "clusterNetwork": { "pods": { "cidrBlocks": ["192.168.0.0/16"] } },
            "controlPlaneRef": reference("controlplane.machinist.dev", "ExternalControlPlane", name),
            "infrastructureRef": reference(INFRASTRUCTURE, "MachinistCluster", name),
        },
    })
}

/// The control plane of a Cluster, without a status.
pub fn external_control_plane(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "controlplane.machinist.dev/v1alpha1",
        "kind": "ExternalControlPlane",
        "metadata": metadata(namespace, name),
        "spec": { "version": VERSION },
    })
}

/// The infrastructure of a Cluster: which credentials its machines use, and the port of loopback that its API server
/// has.
pub fn machinist_cluster(namespace: &str, name: &str, identity: &Value, port: u16) -> Value {
    json!({
        "apiVersion": format!("{INFRASTRUCTURE}/v1alpha1"),
        "kind": "MachinistCluster",
        "metadata": metadata(namespace, name),
        "spec": { "identityRef": identity, "controlPlaneEndpoint": { "host": "127.0.0.1", "port": port } },
    })
}

/// A template of machines with this specification of a VM.
pub fn machine_template(namespace: &str, name: &str, provider: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("{INFRASTRUCTURE}/v1alpha1"),
        "kind": "MachinistMachineTemplate",
        "metadata": metadata(namespace, name),
        "spec": { "template": { "spec": { "provider": provider, "providerSpec": spec } } },
    })
}

/// A template of kubeadm's configuration of nodes that join.
pub fn kubeadm_template(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{BOOTSTRAP}/v1beta2"),
        "kind": "KubeadmConfigTemplate",
        "metadata": metadata(namespace, name),
        "spec": { "template": { "spec": { "joinConfiguration": { "nodeRegistration": {
            "kubeletExtraArgs": [{ "name": "cloud-provider", "value": "external" }],
        } } } } },
    })
}

/// A MachineDeployment whose machines take from the template of this name, and join by the template `join`. It rolls
/// one machine at a time and none short.
pub fn machine_deployment(
    namespace: &str,
    cluster: &str,
    name: &str,
    (replicas, template): (u32, &str),
) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": metadata(namespace, name),
        "spec": {
            "clusterName": cluster,
            "replicas": replicas,
            "rollout": { "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 },
            } },
            "template": {
                "metadata": { "labels": { "node-role.kubernetes.io/worker": "" } },
                "spec": {
                    "clusterName": cluster,
                    "version": VERSION,
                    "bootstrap": { "configRef": reference(BOOTSTRAP, "KubeadmConfigTemplate", "join") },
                    "infrastructureRef": reference(INFRASTRUCTURE, "MachinistMachineTemplate", template),
                },
            },
        },
    })
}

/// A Secret of a workload cluster.
pub fn secret(namespace: &str, cluster: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "cluster.x-k8s.io/secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": { "cluster.x-k8s.io/cluster-name": cluster },
        },
        "stringData": data,
    })
}

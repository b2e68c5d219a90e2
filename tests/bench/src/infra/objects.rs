//! The objects of a workload cluster, as Cluster API's core leaves them for the provider.

use machinist_api::infrastructure::names::{annotations, finalizers, labels};
use machinist_api::infrastructure::{API_VERSION, GROUP, cluster_api};
use memory_api::{ApiServer, encode};
use serde_json::{Value, json};

pub(super) const INFRA_MACHINES: &str = "machinistmachines";
/// The namespace that the host serves, and the one of the plain client.
pub(super) const TEAM: &str = "team";
pub(super) const PLAIN: &str = "plain-client";

const CLUSTERS: &str = "clusters.cluster.x-k8s.io";
const MACHINES: &str = "machines.cluster.x-k8s.io";
const CLUSTER: &str = "c";
const ACCOUNT: &str = "account";

fn meta(namespace: &str, name: &str) -> Value {
    json!({ "name": name, "namespace": namespace, "labels": { labels::CLUSTER_NAME: CLUSTER } })
}

fn create(api: &ApiServer, plural: &str, object: &Value) -> Value {
    let made = api.create(plural, object);
    assert!(made.is_ok(), "each name is used once: {made:?}");
    made.unwrap_or_default()
}

fn owned_by(kind: &str, owner: &Value) -> Value {
    json!([{
        "apiVersion": cluster_api::API_VERSION, "kind": kind, "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true,
    }])
}

/// A Cluster whose infrastructure is provided, with credentials.
pub(super) fn add_cluster(api: &ApiServer) {
    let data = json!({ "token": encode(b"a token") });
    create(api, "secrets", &json!({ "metadata": meta(TEAM, ACCOUNT), "data": data }));
    let reference = json!({ "apiGroup": GROUP, "kind": "MachinistCluster", "name": CLUSTER });
    let spec = json!({ "infrastructureRef": reference });
    let cluster = create(api, CLUSTERS, &json!({ "metadata": meta(TEAM, CLUSTER), "spec": spec }));
    let mut metadata = meta(TEAM, CLUSTER);
    metadata["ownerReferences"] = owned_by("Cluster", &cluster);
    let identity = json!({ "kind": "Secret", "name": ACCOUNT });
    create(api, "machinistclusters", &json!({ "metadata": metadata, "spec": { "identityRef": identity } }));
    let status = json!({ "status": { "initialization": { "infrastructureProvisioned": true } } });
    let provided = api.edit_status(CLUSTERS, &format!("{TEAM}/{CLUSTER}"), &status);
    assert!(provided.is_ok(), "it was created: {provided:?}");
}

/// A Machine with its bootstrap data and its MachinistMachine.
pub(super) fn add_machine(api: &ApiServer, namespace: &str, name: &str) {
    let data = json!({ "value": encode(b"#cloud-config") });
    let secret = format!("{name}-data");
    create(api, "secrets", &json!({ "metadata": meta(namespace, &secret), "data": data }));
    let spec = json!({
        "clusterName": CLUSTER,
        "bootstrap": { "dataSecretName": secret },
        "infrastructureRef": { "apiGroup": GROUP, "kind": "MachinistMachine", "name": name },
    });
    let machine = create(api, MACHINES, &json!({ "metadata": meta(namespace, name), "spec": spec }));
    let mut metadata = meta(namespace, name);
    metadata["ownerReferences"] = owned_by("Machine", &machine);
    metadata["annotations"] = json!({ annotations::CLONED_FROM: "workers" });
    let infra = json!({
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "spec": { "provider": "memory", "providerSpec": { "size": 1 } },
    });
    create(api, INFRA_MACHINES, &infra);
}

/// The writes of a host for one MachinistMachine: finalizer and key, the id of the VM, the status.
pub(super) fn patches(name: &str) -> [Value; 3] {
    let now = jiff::Timestamp::now();
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
            "lastTransitionTime": now,
        })
    };
    let notes = json!({
        annotations::MACHINE_KEY: name, "machinist.dev/cluster-id": "team/c", annotations::IDENTITY: "Secret/account",
    });
    [
        json!({ "metadata": { "finalizers": [finalizers::MACHINE], "annotations": notes } }),
        json!({ "spec": { "providerID": format!("memory:///zone/{name}") } }),
        json!({ "status": {
            "initialization": { "provisioned": true },
            "addresses": [{ "type": "InternalIP", "address": "10.0.0.1" }],
            "failureDomain": "zone",
            "conditions": [
                condition("Ready", "True", "InstanceRunning", "the VM runs"),
                condition("Paused", "False", "NotPaused", ""),
            ],
        } }),
    ]
}

/// Its VM was provided.
pub(super) fn is_provisioned(infra: &Value) -> bool {
    infra["status"]["initialization"]["provisioned"] == true
}

//! The objects of a workload cluster, as Cluster API and its users make them.

use std::time::Duration;

use machinist_api::infrastructure::API_VERSION;
use machinist_api::infrastructure::names::annotations;
use machinist_runtime::context::settings::ClusterApi;
use serde_json::{Value, json};

use crate::fixture::cloud::Habits;
use crate::fixture::kubelet::KubeletHabits;
use crate::fixture::stage::{Host, Stage};
use memory_api::encode;

/// The namespace of the workload cluster, which is not that of MCM's kinds.
pub(crate) const TEAM: &str = "team";
pub(crate) const MACHINES: &str = "machinistmachines";
pub(crate) const TEMPLATES: &str = "machinistmachinetemplates";
pub(crate) const CLUSTERS: &str = "machinistclusters";
pub(crate) const OWNERS: &str = "machines.cluster.x-k8s.io";
pub(crate) const OWNER_CLUSTERS: &str = "clusters.cluster.x-k8s.io";

/// The path of an object of the workload cluster.
pub(crate) fn of_team(name: &str) -> String {
    format!("{TEAM}/{name}")
}

fn meta(name: &str) -> Value {
    json!({ "name": name, "namespace": TEAM, "labels": { "cluster.x-k8s.io/cluster-name": "c" } })
}

/// A stage for Cluster API alone. Its VMs join nothing that a test has.
pub(crate) fn empty(habits: Habits) -> Stage {
    served(Stage::with(habits, KubeletHabits { never_joins: true, ..KubeletHabits::default() }))
}

/// A stage whose hosts serve Cluster API's kinds, with the credentials `account`.
pub(crate) fn served(stage: Stage) -> Stage {
    stage.settings.lock().unwrap().cluster_api = ClusterApi::EveryNamespace;
    let data = json!({ "token": encode(b"a secret token") });
    stage.api.create("secrets", &json!({ "metadata": meta("account"), "data": data })).unwrap();
    stage
}

/// Cluster `c`, whose infrastructure is provided, with its MachinistCluster.
pub(crate) fn add_cluster(stage: &Stage) {
    add_cluster_alone(stage);
    provide_cluster(stage);
}

/// As above, before core has copied that its infrastructure is provided.
pub(crate) fn add_cluster_alone(stage: &Stage) {
    let reference = json!({
        "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistCluster", "name": "c",
    });
    let cluster = json!({ "metadata": meta("c"), "spec": { "infrastructureRef": reference } });
    let cluster = stage.api.create(OWNER_CLUSTERS, &cluster).unwrap();
    let mut metadata = meta("c");
    metadata["ownerReferences"] = json!([owner("Cluster", &cluster)]);
    let identity = json!({ "kind": "Secret", "name": "account" });
    let infra = json!({ "metadata": metadata, "spec": { "identityRef": identity } });
    stage.api.create(CLUSTERS, &infra).unwrap();
}

/// Core copies that the infrastructure is provided.
pub(crate) fn provide_cluster(stage: &Stage) {
    let status = json!({ "status": { "initialization": { "infrastructureProvisioned": true } } });
    stage.api.edit_status(OWNER_CLUSTERS, &of_team("c"), &status).unwrap();
}

fn owner(kind: &str, object: &Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": kind,
        "name": object["metadata"]["name"],
        "uid": object["metadata"]["uid"],
    })
}

/// A Machine of Cluster API with its bootstrap data and its MachinistMachine.
pub(crate) fn add_machine(stage: &Stage, name: &str) {
    add_bootstrap(stage, name);
    add_machine_without_data(stage, name);
    name_bootstrap(stage, name);
}

pub(crate) fn add_bootstrap(stage: &Stage, name: &str) {
    let data = json!({ "value": encode(b"#cloud-config") });
    let secret = json!({ "metadata": meta(&format!("{name}-data")), "data": data });
    stage.api.create("secrets", &secret).unwrap();
}

/// The bootstrap provider is done.
pub(crate) fn name_bootstrap(stage: &Stage, name: &str) {
    let spec = json!({ "spec": { "bootstrap": { "dataSecretName": format!("{name}-data") } } });
    stage.api.edit(OWNERS, &of_team(name), &spec).unwrap();
}

pub(crate) fn add_machine_without_data(stage: &Stage, name: &str) {
    let reference = json!({
        "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachine", "name": name,
    });
    let spec = json!({ "clusterName": "c", "infrastructureRef": reference });
    let machine = stage.api.create(OWNERS, &json!({ "metadata": meta(name), "spec": spec })).unwrap();
    let mut metadata = meta(name);
    metadata["ownerReferences"] = json!([owner("Machine", &machine)]);
    stage.api.create(MACHINES, &infra_machine(&metadata)).unwrap();
}

/// A MachinistMachine that no Machine owns yet.
pub(crate) fn add_orphan(stage: &Stage, name: &str) {
    stage.api.create(MACHINES, &infra_machine(&meta(name))).unwrap();
}

/// Its Machine sets the owner reference.
pub(crate) fn adopt(stage: &Stage, name: &str) {
    let machine = stage.api.find(OWNERS, &of_team(name)).unwrap();
    let metadata = json!({ "metadata": { "ownerReferences": [owner("Machine", &machine)] } });
    stage.api.edit(MACHINES, &of_team(name), &metadata).unwrap();
}

fn infra_machine(metadata: &Value) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "metadata": metadata,
        "spec": { "provider": "sim", "providerSpec": { "size": 1 } },
    })
}

/// The MachinistMachine, while it is there.
pub(crate) fn find(stage: &Stage, name: &str) -> Option<Value> {
    stage.api.find(MACHINES, &of_team(name))
}

/// Status and reason of one of its conditions.
pub(crate) fn says(stage: &Stage, name: &str, kind: &str) -> (String, String) {
    condition(&find(stage, name).unwrap_or_default(), kind)
}

pub(crate) fn condition(object: &Value, kind: &str) -> (String, String) {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default();
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

/// Whether its VM is provided.
pub(crate) fn is_provisioned(stage: &Stage, name: &str) -> bool {
    find(stage, name).is_some_and(|machine| machine["status"]["initialization"]["provisioned"] == true)
}

/// The key of its VM.
pub(crate) fn key(stage: &Stage, name: &str) -> String {
    let machine = find(stage, name).unwrap();
    machine["metadata"]["annotations"][annotations::MACHINE_KEY].as_str().unwrap_or_default().to_owned()
}

/// A stage with a host and the machine `vm`, which has its VM.
pub(crate) async fn provided() -> (Stage, Host) {
    let stage = empty(Habits::default());
    let host = stage.host_without_target("host");
    add_cluster(&stage);
    add_machine(&stage, "vm");
    let limit = Duration::from_secs(60);
    stage.until("the VM is provided", limit, || is_provisioned(&stage, "vm")).await;
    (stage, host)
}

//! MachineDeployments of both APIs, with their Machines.

use memory_api::ApiServer;
use serde_json::{Value, json};

/// The namespace of machine-controller-manager's kinds.
pub(crate) const NAMESPACE: &str = "shoot";
/// The namespace of Cluster API's.
pub(crate) const TEAM: &str = "team";

pub(crate) const MCM: &str = "mcm/shoot/pool";
pub(crate) const CAPI: &str = "capi/team/md";

pub(crate) const CAPI_DEPLOYMENTS: &str = "machinedeployments.cluster.x-k8s.io";
pub(crate) const CAPI_SETS: &str = "machinesets.cluster.x-k8s.io";
pub(crate) const CAPI_MACHINES: &str = "machines.cluster.x-k8s.io";

/// A group of 1 to `max` nodes.
pub(crate) fn limits(max: i32) -> Value {
    json!({
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size": "1",
        "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size": max.to_string(),
    })
}

/// MachineDeployment `pool` of machine-controller-manager's kind, and its class.
pub(crate) fn add_pool(api: &ApiServer, replicas: i32, annotations: &Value) {
    let class = json!({
        "metadata": { "name": "small", "namespace": NAMESPACE },
        "provider": "sim",
        "providerSpec": { "size": 1 },
        "nodeTemplate": {
            "capacity": { "cpu": "2", "memory": "8Gi" },
            "instanceType": "m5.large", "region": "eu-west-1", "zone": "eu-west-1a",
        },
    });
    api.create("machineclasses", &class).unwrap();
    let pool = json!({
        "metadata": { "name": "pool", "namespace": NAMESPACE, "annotations": annotations },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "name": "pool" } },
            "strategy": { "type": "RollingUpdate", "rollingUpdate": { "maxSurge": 1, "maxUnavailable": 0 } },
            "template": {
                "metadata": { "labels": { "name": "pool" } },
                "spec": {
                    "class": { "kind": "MachineClass", "name": "small" },
                    "nodeTemplate": { "metadata": { "labels": { "pool": "a" } } },
                },
            },
        },
    });
    api.create("machinedeployments", &pool).unwrap();
}

pub(crate) fn replicas(api: &ApiServer, id: &str) -> i64 {
    let (plural, path) = match id.split_once('/').unwrap() {
        ("mcm", path) => ("machinedeployments", path),
        (_, path) => (CAPI_DEPLOYMENTS, path),
    };
    api.find(plural, path).unwrap()["spec"]["replicas"].as_i64().unwrap()
}

/// Names of the Machines of machine-controller-manager's kind that nobody deletes.
pub(crate) fn machines(api: &ApiServer) -> Vec<String> {
    names(api, "machines")
}

pub(crate) fn names(api: &ApiServer, plural: &str) -> Vec<String> {
    let of = |object: &Value| {
        let is_there = object["metadata"]["deletionTimestamp"].is_null();
        is_there.then(|| object["metadata"]["name"].as_str().unwrap().to_owned())
    };
    api.collect(plural, of)
}

/// A Machine of machine-controller-manager's kind gets a VM and its Node. The driver and the Node write the id in two
/// forms.
pub(crate) fn join(api: &ApiServer, machine: &str) {
    let path = format!("{NAMESPACE}/{machine}");
    let change = json!({
        "metadata": { "labels": { "node": format!("node-{machine}") } },
        "spec": { "providerID": format!("sim:///region/{machine}") },
    });
    api.edit("machines", &path, &change).unwrap();
    let labels = json!({ "node.gardener.cloud/machine-name": machine });
    let node = json!({
        "metadata": { "name": format!("node-{machine}"), "labels": labels },
        "spec": { "providerID": id_of(machine) },
    });
    api.create("nodes", &node).unwrap();
}

/// The id on the Node of a Machine of machine-controller-manager's kind.
pub(crate) fn id_of(machine: &str) -> String {
    format!("sim:///zone/{machine}")
}

fn of_cluster(name: &str, owner: Option<Value>) -> Value {
    let mut meta = json!({
        "name": name, "namespace": TEAM, "labels": { "cluster.x-k8s.io/cluster-name": "c" },
    });
    if let Some(owner) = owner {
        meta["ownerReferences"] = json!([owner]);
    }
    meta
}

fn owner(kind: &str, object: &Value) -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": kind, "controller": true,
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}

/// MachineDeployment `md` of Cluster API, with one MachineSet and these Machines, each with its Node.
pub(crate) fn add_md(api: &ApiServer, machines: &[&str], annotations: &Value) {
    let mut meta = of_cluster("md", None);
    meta["annotations"] = annotations.clone();
    let labels = json!({ "node.cluster.x-k8s.io/pool": "a", "other": "b" });
    let template = json!({ "metadata": { "labels": labels }, "spec": { "failureDomain": "zone-a" } });
    let spec = json!({ "clusterName": "c", "replicas": machines.len(), "template": template });
    let md = api.create(CAPI_DEPLOYMENTS, &json!({ "metadata": meta, "spec": spec })).unwrap();
    add_set(api, &md, "md-1", machines.len());
    for machine in machines {
        add_capi_machine(api, "md-1", machine);
        join_capi(api, machine);
    }
}

/// A MachineSet of Cluster API.
pub(crate) fn add_set(api: &ApiServer, md: &Value, name: &str, replicas: usize) {
    let meta = of_cluster(name, Some(owner("MachineDeployment", md)));
    api.create(CAPI_SETS, &json!({ "metadata": meta, "spec": { "replicas": replicas } })).unwrap();
}

/// A Machine of Cluster API without a VM.
pub(crate) fn add_capi_machine(api: &ApiServer, set: &str, name: &str) {
    let set = api.find(CAPI_SETS, &format!("{TEAM}/{set}")).unwrap();
    let meta = of_cluster(name, Some(owner("MachineSet", &set)));
    let reference = json!({
        "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachine", "name": name,
    });
    let spec = json!({ "clusterName": "c", "infrastructureRef": reference });
    api.create(CAPI_MACHINES, &json!({ "metadata": meta, "spec": spec })).unwrap();
}

/// A Machine of Cluster API gets a VM and its Node.
pub(crate) fn join_capi(api: &ApiServer, name: &str) {
    let path = format!("{TEAM}/{name}");
    api.edit(CAPI_MACHINES, &path, &json!({ "spec": { "providerID": capi_id_of(name) } })).unwrap();
    let status = json!({ "status": { "nodeRef": { "name": format!("node-{name}") } } });
    api.edit_status(CAPI_MACHINES, &path, &status).unwrap();
}

pub(crate) fn capi_id_of(machine: &str) -> String {
    format!("sim:///capi/{machine}")
}

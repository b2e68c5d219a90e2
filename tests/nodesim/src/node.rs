//! The objects that a kubelet writes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::fleet::StatusWrite;
use crate::user_data::UNINITIALIZED;
use crate::vm::Vm;

/// Kubelets report the version of the control plane that they were made for.
const KUBELET_VERSION: &str = "v1.36.0";
const SECONDS_PER_HEARTBEAT_LIMIT: u64 = 40;

/// The Node that registers this VM, with its whole status: registering is one request. `is_uninitialized`: with the
/// taint that Cluster API's core removes.
pub fn node(vm: &Vm, labels: &BTreeMap<String, String>, is_uninitialized: bool, now: Timestamp) -> Value {
    let mut all_labels = Map::new();
    for (key, value) in [
        ("kubernetes.io/hostname", vm.node_name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", "amd64"),
        ("topology.kubernetes.io/region", &vm.region),
        ("topology.kubernetes.io/zone", &vm.zone),
        ("node.kubernetes.io/instance-type", &vm.instance_type),
    ] {
        all_labels.insert(key.to_owned(), value.into());
    }
    all_labels.extend(labels.iter().map(|(key, value)| (key.clone(), value.as_str().into())));
    let addresses: Vec<Value> = vm
        .addresses
        .iter()
        .map(|address| json!({"type": address.kind, "address": address.address}))
        .collect();
    let taint = json!({"key": UNINITIALIZED, "effect": "NoSchedule"});
    let taints: Vec<Value> = is_uninitialized.then_some(taint).into_iter().collect();
    let healthy =
        StatusWrite::Report { is_ready: true, changed: now, joined: now, conditions: BTreeMap::new() };
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": vm.node_name,
            "labels": all_labels,
            // Without it, the attach-detach controller passes the Node over.
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        },
        "spec": {"providerID": vm.provider_id, "taints": taints},
        "status": {
            "addresses": addresses,
            "capacity": resources(vm, vm.memory_gib * 1024),
            "allocatable": resources(vm, vm.memory_gib * 1024 - 256.min(vm.memory_gib * 512)),
            "conditions": conditions(&healthy, now),
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": {
                "machineID": vm.id, "systemUUID": vm.id, "bootID": vm.boot_id,
                "kernelVersion": "6.12.0", "osImage": "Simulated Linux",
                "containerRuntimeVersion": "containerd://2.1.0",
                "kubeletVersion": KUBELET_VERSION, "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64",
            },
        },
    })
}

fn resources(vm: &Vm, memory_mib: u32) -> Value {
    let mut resources = json!({
        "cpu": vm.cpus.to_string(), "memory": format!("{memory_mib}Mi"), "pods": "110",
        "ephemeral-storage": "50Gi",
    });
    if let (true, Value::Object(named)) = (vm.gpus > 0, &mut resources) {
        named.insert("nvidia.com/gpu".to_owned(), vm.gpus.to_string().into());
    }
    resources
}

/// A strategic merge patch of a Node's status. It holds for the Node with this uid alone.
pub fn status_patch(vm: &Vm, uid: &str, write: &StatusWrite, now: Timestamp) -> Value {
    let mut status = json!({"conditions": conditions(write, now)});
    if let (StatusWrite::Report { .. }, Value::Object(fields)) = (write, &mut status) {
        fields.insert("nodeInfo".to_owned(), json!({"bootID": vm.boot_id}));
    }
    json!({"metadata": {"uid": uid}, "status": status})
}

fn conditions(write: &StatusWrite, now: Timestamp) -> Vec<Value> {
    match write {
        StatusWrite::Report { is_ready, changed, joined, conditions } => {
            let pressures = [
                ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                ("NetworkUnavailable", "RouteCreated", "the network is set up"),
            ];
            let (ready, reason, message) = if *is_ready {
                ("True", "KubeletReady", "kubelet is posting ready status")
            } else {
                ("False", "KubeletNotReady", "container runtime is down")
            };
            pressures
                .iter()
                .map(|(kind, reason, message)| condition(kind, ("False", reason, message), *joined, now))
                .chain([condition("Ready", (ready, reason, message), *changed, now)])
                .chain(conditions.iter().map(|(kind, (is_true, since))| {
                    let status = if *is_true { "True" } else { "False" };
                    condition(kind, (status, "Simulated", "set by the node simulator"), *since, now)
                }))
                .collect()
        }
        StatusWrite::Unknown { last_heartbeat } => ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]
            .iter()
            .map(|kind| {
                let unknown = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.");
                condition(kind, unknown, now, *last_heartbeat)
            })
            .collect(),
    }
}

fn condition(
    kind: &str,
    (status, reason, message): (&str, &str, &str),
    changed: Timestamp,
    heartbeat: Timestamp,
) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": seconds(changed), "lastHeartbeatTime": seconds(heartbeat),
    })
}

/// The Lease of a Node, which goes when the Node goes.
pub fn lease(node_name: &str, uid: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": node_name,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node_name, "uid": uid}],
        },
        "spec": {
            "holderIdentity": node_name,
            "leaseDurationSeconds": SECONDS_PER_HEARTBEAT_LIMIT,
            "renewTime": micros(now),
        },
    })
}

/// A merge patch that renews a Lease.
pub fn lease_renewal(now: Timestamp) -> Value {
    json!({"spec": {"renewTime": micros(now)}})
}

/// As `metav1.Time` has it.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// As `metav1.MicroTime` has it.
fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_forms_that_the_api_server_takes() {
        let time = Timestamp::new(1_700_000_000, 1_234_567).unwrap();
        assert_eq!(seconds(time), "2023-11-14T22:13:20Z");
        assert_eq!(micros(time), "2023-11-14T22:13:20.001234Z");
    }

    #[test]
    fn a_silent_node_is_unknown_since_its_time_was_up_and_seen_before() {
        let (seen, now) = (Timestamp::from_second(0).unwrap(), Timestamp::from_second(40).unwrap());
        let conditions = conditions(&StatusWrite::Unknown { last_heartbeat: seen }, now);
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
        assert_eq!(ready["status"], "Unknown");
        assert_eq!(ready["lastTransitionTime"], "1970-01-01T00:00:40Z");
        assert_eq!(ready["lastHeartbeatTime"], "1970-01-01T00:00:00Z");
    }
}

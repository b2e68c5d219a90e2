//! MachineDeployments of the labs of tests.

use machinist_api::MachineDeployment;
use serde_json::{Value, json};

use super::NAMESPACE;

/// A deployment of Machines of a class that rolls with this surge and this unavailability. Its name is the label by
/// which it selects them.
pub fn deployment(name: &str, class: &str, replicas: u32, surge: u32, unavailable: u32) -> MachineDeployment {
    let raw = raw_deployment(name, class, replicas, &rolling(&json!(surge), &json!(unavailable)));
    serde_json::from_value(raw).expect("the MachineDeployment is right")
}

/// The strategy RollingUpdate with these bounds, whatever they are.
pub fn rolling(surge: &Value, unavailable: &Value) -> Value {
    json!({ "type": "RollingUpdate", "rollingUpdate": { "maxSurge": surge, "maxUnavailable": unavailable } })
}

/// As [`deployment`], as JSON that can be made wrong.
pub fn raw_deployment(name: &str, class: &str, replicas: u32, strategy: &Value) -> Value {
    json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineDeployment",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "replicas": replicas,
            "selector": { "matchLabels": { "name": name } },
            "strategy": strategy,
            "template": {
                "metadata": { "labels": { "name": name } },
                "spec": {
                    "class": { "kind": "MachineClass", "name": class },
                    "nodeTemplate": { "metadata": { "labels": { "pool": name } } },
                },
            },
        },
    })
}

//! The template of a Node in Kubernetes' binary form.

use machinist_core::autoscaler::template::TemplateNode;
use prost::Message as _;

use crate::node_messages::{
    Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, ObjectMeta, Quantity, Taint,
};

/// Encodes a Node that is ready. All of its capacity can be allocated.
pub(crate) fn bytes(template: &TemplateNode) -> Vec<u8> {
    message(template).encode_to_vec()
}

fn message(template: &TemplateNode) -> Node {
    let quantity =
        |(resource, quantity): (&String, &String)| (resource.clone(), Quantity { string: quantity.clone() });
    let taints = template.taints.iter().map(|taint| Taint {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect.clone(),
    });
    let capacity: std::collections::BTreeMap<String, Quantity> =
        template.capacity.iter().map(quantity).collect();
    Node {
        metadata: Some(ObjectMeta { name: template.name.clone(), labels: template.labels.clone() }),
        spec: Some(NodeSpec {
            provider_id: format!("template://{}", template.name),
            taints: taints.collect(),
        }),
        status: Some(NodeStatus {
            allocatable: capacity.clone(),
            capacity,
            conditions: conditions(),
            node_info: Some(NodeSystemInfo {
                operating_system: template.operating_system().to_owned(),
                architecture: template.architecture().to_owned(),
            }),
        }),
    }
}

/// As a kubelet reports a healthy Node.
fn conditions() -> Vec<NodeCondition> {
    let condition = |kind: &str, status: &str, reason: &str| NodeCondition {
        r#type: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
    };
    vec![
        condition("Ready", "True", "KubeletReady"),
        condition("NetworkUnavailable", "False", "RouteCreated"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
    ]
}

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

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use machinist_core::autoscaler::template;

    use super::*;

    /// A Node as Kubernetes' own library encodes it.
    const ENCODED: &str = "\
        CmAKDXRlbXBsYXRlLXBvb2wSABoAIgAqADIAOABCAFobChJrdWJlcm5ldGVzLmlvL2FyY2gSBWFtZDY0WhkKEGt1YmVybmV0ZXMu\
        aW8vb3MSBWxpbnV4WgkKBHBvb2wSAWESNAoAEgAaGHRlbXBsYXRlOi8vdGVtcGxhdGUtcG9vbCAAKhIKAWsSAXYaCk5vU2NoZWR1\
        bGUahQEKCgoDY3B1EgMKATIKDwoGbWVtb3J5EgUKAzhHaRIKCgNjcHUSAwoBMhIPCgZtZW1vcnkSBQoDOEdpGgAiIQoFUmVhZHkS\
        BFRydWUaACIAKgxLdWJlbGV0UmVhZHkyADIECgIIADoeCgASABoAIgAqADIAOgBCAEoFbGludXhSBWFtZDY0";

    fn texts(pairs: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn pool() -> TemplateNode {
        TemplateNode {
            name: "template-pool".to_owned(),
            labels: texts(&[("kubernetes.io/arch", "amd64"), ("kubernetes.io/os", "linux"), ("pool", "a")]),
            taints: vec![template::Taint {
                key: "k".to_owned(),
                value: "v".to_owned(),
                effect: "NoSchedule".to_owned(),
            }],
            capacity: texts(&[("cpu", "2"), ("memory", "8Gi")]),
        }
    }

    #[test]
    fn a_node_has_the_numbers_that_kubernetes_gives_its_fields() {
        let encoded = base64::engine::general_purpose::STANDARD.decode(ENCODED).unwrap();
        let mut ours = message(&pool());
        ours.status.as_mut().unwrap().conditions.truncate(1);
        assert_eq!(Node::decode(encoded.as_slice()), Ok(ours));
    }

    #[test]
    fn bytes_are_those_of_the_message() {
        assert_eq!(Node::decode(bytes(&pool()).as_slice()), Ok(message(&pool())));
    }
}

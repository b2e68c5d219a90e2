//! Facts about the next Node of a group, and the settings of a group.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1;
use machinist_api::MachineClass;
use machinist_api::infrastructure::autoscaler::{self, annotations};
use machinist_api::infrastructure::node_groups::OwnerTemplate;
use machinist_api::infrastructure::template::MachinistMachineTemplateStatus;
use machinist_api::infrastructure::{self, MachinistMachineTemplate};
use machinist_api::machine_class::ClassNodeTemplate;
use machinist_api::template::MachineTemplate;
use machinist_core::autoscaler::template::{ClassFacts, Taint, TemplateFacts};
use machinist_core::value::id::ObjectKey;
use serde_json::Value;

use crate::cache::StoreReader;

use super::deployments::{GroupDeployment, Template};

/// `machine_templates`: those of Cluster API, with the resources that drivers say.
pub(super) fn facts(
    deployment: &GroupDeployment,
    classes: &StoreReader<MachineClass>,
    machine_templates: &StoreReader<MachinistMachineTemplate>,
) -> TemplateFacts {
    let announced = with_prefix(&deployment.annotations, annotations::CAPACITY_PREFIX);
    let namespace = deployment.id.deployment.namespace.as_str();
    match &deployment.template {
        Template::Mcm(template) => mcm(template, announced, |name| {
            classes.get(&ObjectKey::new(namespace, name))?.node_template.clone()
        }),
        Template::Capi(template) => capi(template, announced, |name| {
            machine_templates.get(&ObjectKey::new(namespace, name))?.status.clone()
        }),
    }
}

/// Settings of the autoscaler, by the part of their names after the prefix. Those in Cluster API's form win.
pub(super) fn settings(all: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let plain = |settings: BTreeMap<String, String>| {
        settings.into_iter().map(|(name, value)| (name.replace('-', "").to_lowercase(), value))
    };
    let gardener = plain(with_prefix(all, annotations::GARDENER_OPTION_PREFIX));
    gardener.chain(plain(with_prefix(all, annotations::OPTION_PREFIX))).collect()
}

fn with_prefix(all: &BTreeMap<String, String>, prefix: &str) -> BTreeMap<String, String> {
    let stripped = all.iter().filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, value)));
    stripped.map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

fn mcm(
    template: &MachineTemplate,
    announced: BTreeMap<String, String>,
    node_template: impl FnOnce(&str) -> Option<ClassNodeTemplate>,
) -> TemplateFacts {
    let class = template.spec.class.name.as_deref().and_then(node_template);
    let node = template.spec.node_template.clone().unwrap_or_default();
    TemplateFacts {
        announced,
        class: class.map(class_facts),
        labels: node.labels(),
        taints: node.taints().iter().map(taint).collect(),
        zone: None,
    }
}

fn class_facts(class: ClassNodeTemplate) -> ClassFacts {
    let all = class.capacity.into_iter().chain(class.virtual_capacity);
    ClassFacts {
        capacity: all.map(|(resource, quantity)| (resource, quantity.0)).collect(),
        instance_type: class.instance_type,
        region: class.region,
        zone: class.zone,
        architecture: class.architecture.filter(|name| !name.is_empty()),
    }
}

fn taint(taint: &v1::Taint) -> Taint {
    Taint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
    }
}

fn capi(
    template: &OwnerTemplate,
    announced: BTreeMap<String, String>,
    resources: impl FnOnce(&str) -> Option<MachinistMachineTemplateStatus>,
) -> TemplateFacts {
    let named = template.spec.infrastructure_ref.named(infrastructure::GROUP, "MachinistMachineTemplate");
    let labels = template.metadata.labels();
    let text = |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    let taints = template.spec.taints.iter().map(|taint| Taint {
        key: text(taint, "key"),
        value: text(taint, "value"),
        effect: text(taint, "effect"),
    });
    TemplateFacts {
        announced,
        class: named.and_then(resources).map(template_facts),
        labels: labels.into_iter().filter(|(name, _)| autoscaler::is_copied(name)).collect(),
        taints: taints.filter(|taint| !taint.key.is_empty()).collect(),
        zone: Some(template.spec.failure_domain.clone()).filter(|zone| !zone.is_empty()),
    }
}

fn template_facts(status: MachinistMachineTemplateStatus) -> ClassFacts {
    ClassFacts {
        capacity: status.capacity.into_iter().map(|(resource, quantity)| (resource, quantity.0)).collect(),
        architecture: status.node_info.and_then(|info| info.architecture),
        ..ClassFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn settings_of_gardener_count_where_cluster_apis_are_missing() {
        let all = texts(&[
            ("autoscaler.gardener.cloud/scale-down-unneeded-time", "1m"),
            ("autoscaler.gardener.cloud/max-node-provision-time", "2m"),
            ("cluster.x-k8s.io/autoscaling-options-scaledownunneededtime", "3m"),
            ("example.org/scaledownunneededtime", "4m"),
        ]);
        let expected = [("maxnodeprovisiontime", "2m"), ("scaledownunneededtime", "3m")];
        assert_eq!(settings(&all), texts(&expected));
    }

    #[test]
    fn a_template_of_machines_names_labels_taints_and_class() {
        let template: MachineTemplate = serde_json::from_value(json!({ "spec": {
            "class": { "kind": "MachineClass", "name": "small" },
            "nodeTemplate": {
                "metadata": { "labels": { "pool": "a" } },
                "spec": { "taints": [{ "key": "k", "effect": "NoSchedule" }] },
            },
        } }))
        .unwrap();
        let class: ClassNodeTemplate = serde_json::from_value(json!({
            "capacity": { "cpu": 2, "memory": "8Gi" }, "virtualCapacity": { "example.org/a": "1" },
            "instanceType": "m5.large", "region": "r", "zone": "z", "architecture": "",
        }))
        .unwrap();
        let facts = mcm(&template, BTreeMap::new(), |name| (name == "small").then_some(class));
        let class = facts.class.unwrap();
        assert_eq!(class.capacity, texts(&[("cpu", "2"), ("example.org/a", "1"), ("memory", "8Gi")]));
        assert_eq!((class.instance_type.as_deref(), class.architecture), (Some("m5.large"), None));
        assert_eq!((facts.labels, facts.taints.len()), (texts(&[("pool", "a")]), 1));
    }

    #[test]
    fn a_template_of_cluster_api_gives_the_labels_that_reach_nodes() {
        let template: OwnerTemplate = serde_json::from_value(json!({
            "metadata": { "labels": { "node.cluster.x-k8s.io/pool": "a", "other": "b" } },
            "spec": { "failureDomain": "z", "taints": [{ "key": "k", "value": "v", "effect": "NoExecute" }, 7] },
        }))
        .unwrap();
        let facts = capi(&template, BTreeMap::new(), |_| None);
        assert_eq!(facts.class, None);
        assert_eq!(facts.labels, texts(&[("node.cluster.x-k8s.io/pool", "a")]));
        let taint = Taint { key: "k".into(), value: "v".into(), effect: "NoExecute".into() };
        assert_eq!((facts.taints, facts.zone.as_deref()), (vec![taint], Some("z")));
    }

    #[test]
    fn the_resources_of_a_machinist_machine_template_describe_the_next_node() {
        let reference = |kind: &str| {
            let reference = json!({ "apiGroup": infrastructure::GROUP, "kind": kind, "name": "small" });
            serde_json::from_value(json!({ "spec": { "infrastructureRef": reference } })).unwrap()
        };
        let status: MachinistMachineTemplateStatus = serde_json::from_value(json!({
            "capacity": { "cpu": "2", "memory": "8Gi" }, "nodeInfo": { "architecture": "arm64" },
        }))
        .unwrap();
        let of = |kind: &str| {
            let resources = |name: &str| (name == "small").then(|| status.clone());
            capi(&reference(kind), BTreeMap::new(), resources).class
        };
        let class = of("MachinistMachineTemplate").unwrap();
        assert_eq!(class.capacity, texts(&[("cpu", "2"), ("memory", "8Gi")]));
        assert_eq!(class.architecture.as_deref(), Some("arm64"));
        assert_eq!(of("OtherMachineTemplate"), None);
    }
}

//! Objects that a set writes: new Machines, and patches of existing ones.

use std::borrow::Cow;
use std::collections::BTreeSet;

use machinist_api::template::{MachineTemplate, TemplateMetadata};
use machinist_api::{Machine, MachineSet, MachineSpec, names};
use machinist_core::machine_set::{CreateMode, SyncedPart};
use machinist_core::value::id::Name;
use serde_json::{Map, Value, json};

use crate::controllers::objects::inherited;
use crate::controllers::objects::metadata::{controller_reference, difference};

use crate::controllers::facts::machine_set::child::{configuration, node_template};

/// Returns the template for Machines: a creation time-out that was measured for the deployment wins, and no Machine
/// gets an existing VM.
///
/// Leaves out values that cannot be parsed, and reports them.
pub(crate) fn machine_template(set: &MachineSet) -> (Option<MachineTemplate>, Vec<String>) {
    let Some(template) = &set.spec.template else { return (None, Vec::new()) };
    let (mut spec, mut problems) = inherited::valid_settings(&template.spec, "spec.template.spec.");
    spec.provider_id = None;
    match inherited::effective_creation_timeout(&set.metadata) {
        Ok(None) => {}
        Ok(timeout) => spec.creation_timeout = timeout,
        Err(problem) => problems.push(problem),
    }
    (Some(MachineTemplate { metadata: template.metadata.clone(), spec }), problems)
}

/// The template with another class, where one is chosen.
pub(super) fn of_class<'a>(template: &'a MachineTemplate, class: Option<&Name>) -> Cow<'a, MachineTemplate> {
    let Some(class) = class else { return Cow::Borrowed(template) };
    let mut template = template.clone();
    template.spec.class.name = Some(class.to_string());
    Cow::Owned(template)
}

/// Returns a new Machine. It has everything that its first reconcile would otherwise write.
pub(super) fn machine(
    set: &MachineSet,
    template: &MachineTemplate,
    name: &Name,
    ordinal: u32,
    birth: CreateMode,
) -> Value {
    let metadata = template.metadata.as_ref();
    let labels = metadata.map(TemplateMetadata::labels).unwrap_or_default();
    let mut annotations = metadata.map(TemplateMetadata::annotations).unwrap_or_default();
    let mut finalizers = metadata.map(TemplateMetadata::finalizers).unwrap_or_default();
    annotations.insert(names::annotations::ORDINAL.to_owned(), ordinal.to_string());
    let ours = names::finalizers::MACHINE;
    match birth {
        CreateMode::Claimed => {
            let priority = names::annotations::PRIORITY.to_owned();
            annotations.entry(priority).or_insert_with(|| names::annotations::DEFAULT_PRIORITY.to_owned());
            if !finalizers.iter().any(|name| name == ours) {
                finalizers.push(ours.to_owned());
            }
        }
        // Whoever reads the finalizer may believe that a VM was asked for.
        CreateMode::Unclaimed => finalizers.retain(|name| name != ours),
    }
    json!({
        "apiVersion": names::API_VERSION,
        "kind": "Machine",
        "metadata": {
            "name": name.as_str(),
            "namespace": set.metadata.namespace,
            "labels": labels,
            "annotations": annotations,
            "finalizers": finalizers,
            "ownerReferences": [controller_reference("MachineSet", &set.metadata)],
        },
        "spec": template.spec,
    })
}

/// The `spec` of a merge patch that hands parts down to a Machine.
pub(super) fn sync(machine: &Machine, template: &MachineTemplate, parts: &BTreeSet<SyncedPart>) -> Value {
    let (has, wanted) = (&machine.spec, &template.spec);
    let mut spec = Map::new();
    for part in parts {
        match part {
            SyncedPart::NodeTemplate => {
                let (has, wanted) = (raw_template(has), node_template(wanted.node_template.as_ref()));
                if let Some(change) = difference(&has, &wanted) {
                    spec.insert("nodeTemplate".to_owned(), change);
                }
            }
            SyncedPart::Configuration => {
                let value =
                    |spec: &MachineSpec| serde_json::to_value(configuration(spec)).unwrap_or_default();
                if let Some(Value::Object(changes)) = difference(&value(has), &value(wanted)) {
                    spec.extend(changes);
                }
            }
            SyncedPart::ClassKind => {
                spec.insert("class".to_owned(), json!({ "kind": wanted.class.kind }));
            }
        }
    }
    Value::Object(spec)
}

/// Returns the node template of the Machine, with every field that a patch may have to remove.
fn raw_template(spec: &MachineSpec) -> Value {
    serde_json::to_value(&spec.node_template).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set() -> MachineSet {
        serde_json::from_value(json!({
            "metadata": {
                "name": "pool", "namespace": "n", "uid": "u",
                "annotations": { names::annotations::EFFECTIVE_CREATION_TIMEOUT: "7m" },
            },
            "spec": { "template": {
                "metadata": {
                    "labels": { "a": "1" }, "annotations": { "b": "2" }, "finalizers": ["x/y"],
                    "ownerReferences": "nonsense",
                },
                "spec": {
                    "class": { "kind": "MachineClass", "name": "small" },
                    "providerID": "sim:///somebody",
                    "creationTimeout": "20m",
                    "drainTimeout": "1h",
                    "nodeTemplate": { "metadata": { "labels": { "l": "1" } }, "spec": { "taints": [] } },
                },
            } },
        }))
        .unwrap()
    }

    #[test]
    fn a_machine_is_created_with_all_that_its_first_reconcile_would_write() {
        let (set, name) = (set(), Name::new("pool-1"));
        let template = machine_template(&set).0.unwrap();
        let body = machine(&set, &template, &name, 4, CreateMode::Claimed);
        let metadata = &body["metadata"];
        assert_eq!(metadata["labels"], json!({ "a": "1" }));
        assert_eq!(
            metadata["annotations"],
            json!({
                "b": "2",
                names::annotations::ORDINAL: "4",
                names::annotations::PRIORITY: names::annotations::DEFAULT_PRIORITY,
            })
        );
        assert_eq!(metadata["finalizers"], json!(["x/y", names::finalizers::MACHINE]));
        assert_eq!(metadata["ownerReferences"], json!([controller_reference("MachineSet", &set.metadata)]));
        assert_eq!(body["spec"]["creationTimeout"], "7m0s");
        assert_eq!(body["spec"].get("providerID"), None);
        let unclaimed = machine(&set, &template, &name, 4, CreateMode::Unclaimed);
        assert_eq!(unclaimed["metadata"]["finalizers"], json!(["x/y"]));
        assert_eq!(unclaimed["metadata"]["annotations"].get(names::annotations::PRIORITY), None);
    }

    #[test]
    fn an_invalid_setting_is_not_passed_on_and_the_one_below_counts() {
        let mut set = set();
        let annotations = set.metadata.annotations.as_mut().unwrap();
        annotations.insert(names::annotations::EFFECTIVE_CREATION_TIMEOUT.to_owned(), "20min".to_owned());
        let (template, problems) = machine_template(&set);
        assert_eq!(template.unwrap().spec.creation_timeout.as_deref(), Some("20m0s"));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("annotation node.machine.sapcloud.io/effective"), "{problems:?}");
    }

    #[test]
    fn a_patch_removes_settings_that_the_template_has_no_more() {
        let template = machine_template(&set()).0.unwrap();
        let machine: Machine = serde_json::from_value(json!({ "spec": {
            "class": { "kind": "AWSMachineClass", "name": "small" },
            "creationTimeout": "20m",
            "maxEvictRetries": 3,
            "nodeTemplate": { "metadata": { "labels": { "old": "1" } }, "spec": { "taints": [{ "key": "k", "effect": "NoSchedule" }] } },
        } }))
        .unwrap();
        let all =
            BTreeSet::from([SyncedPart::NodeTemplate, SyncedPart::Configuration, SyncedPart::ClassKind]);
        let patch = sync(&machine, &template, &all);
        assert_eq!(
            patch,
            json!({
                "nodeTemplate": { "metadata": { "labels": { "l": "1", "old": null } }, "spec": null },
                "creationTimeout": "7m0s", "drainTimeout": "1h0m0s", "maxEvictRetries": null,
                "class": { "kind": "MachineClass" },
            })
        );
    }
}

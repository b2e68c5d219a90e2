//! Templates: the form in which they are compared, and the patches that make one of another.

use std::collections::BTreeMap;

use machinist_api::template::{MachineTemplate, TemplateMetadata};
use machinist_api::{MachineSpec, names};
use machinist_core::machine::template::Template;
use serde_json::{Map, Value, json};

use crate::controllers::objects::inherited::{normalized, valid_settings};
use crate::controllers::objects::metadata::difference;

/// A template in the form in which it is compared.
pub fn fact(template: &MachineTemplate) -> Template {
    let metadata = template.metadata.as_ref();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let class = &template.spec.class;
    Template {
        labels: metadata.map(TemplateMetadata::labels).unwrap_or_default(),
        annotations: metadata.map(TemplateMetadata::annotations).unwrap_or_default(),
        other_metadata: other_metadata(metadata),
        class_group: text(&class.api_group),
        class_name: text(&class.name),
        class_kind: text(&class.kind),
        provider_id: text(&template.spec.provider_id),
        handed_on: texts(&settings(&normalized(&template.spec))),
    }
}

fn other_metadata(metadata: Option<&TemplateMetadata>) -> BTreeMap<String, String> {
    let mut fields = metadata.map(|metadata| metadata.0.clone()).unwrap_or_default();
    fields.remove("labels");
    fields.remove("annotations");
    texts(&fields)
}

/// Each field as one text, without those that say nothing.
fn texts(fields: &Map<String, Value>) -> BTreeMap<String, String> {
    let said = fields.iter().filter(|(_, value)| *value != "");
    said.filter_map(|(key, value)| Some((key.clone(), canonical(value)?.to_string()))).collect()
}

/// Sorts, and drops empty and null values, so that equal templates read the same.
fn canonical(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> =
                fields.iter().filter_map(|(key, value)| Some((key, canonical(value)?))).collect();
            (!fields.is_empty()).then(|| json!(fields))
        }
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(canonical).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}

/// Returns the settings that existing Machines get: all of the spec but the class and the id of a VM.
fn settings(spec: &MachineSpec) -> Map<String, Value> {
    let rest = MachineSpec { class: Default::default(), provider_id: None, ..spec.clone() };
    match serde_json::to_value(rest) {
        Ok(Value::Object(fields)) => fields,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// Returns the patch that gives one spec the settings of another: node template, time-outs and the kind of the class.
pub(crate) fn settings_patch(from: &MachineSpec, to: &MachineSpec) -> Option<Value> {
    let with_kind = |spec: &MachineSpec| {
        let mut fields = settings(spec);
        fields.insert("class".to_owned(), json!({ "kind": spec.class.kind }));
        Value::Object(fields)
    };
    difference(&with_kind(from), &with_kind(to))
}

/// Returns the patch that replaces a template by that of a set. The label of the hash is the set's alone, and invalid
/// settings are not restored.
pub(crate) fn return_patch(from: &MachineTemplate, to: &MachineTemplate) -> Option<Value> {
    let (spec, _) = valid_settings(&to.spec, "");
    let mut to = MachineTemplate { metadata: to.metadata.clone(), spec };
    if let Some(metadata) = &mut to.metadata
        && let Some(labels) = metadata.0.get_mut("labels").and_then(Value::as_object_mut)
    {
        labels.remove(names::labels::TEMPLATE_HASH);
    }
    difference(&json!(from), &json!(to))
}

/// Adds a label. An invalid value of `labels` is replaced.
pub(crate) fn with_label(template: &MachineTemplate, label: &str, value: &str) -> MachineTemplate {
    let mut template = template.clone();
    let metadata = template.metadata.get_or_insert_default();
    let labels = metadata.0.entry("labels").or_insert_with(|| json!({}));
    match labels {
        Value::Object(labels) => drop(labels.insert(label.to_owned(), json!(value))),
        other => *other = json!({ label: value }),
    }
    template
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(value: Value) -> MachineTemplate {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn equal_templates_read_the_same() {
        let one = template(json!({
            "metadata": { "labels": { "a": "1" }, "creationTimestamp": null, "finalizers": [] },
            "spec": {
                "class": { "kind": "MachineClass", "name": "small" },
                "nodeTemplate": { "metadata": { "labels": {}, "annotations": { "x": "" } }, "spec": {} },
                "drainTimeout": "",
            },
        }));
        let other = template(json!({
            "metadata": { "labels": { "a": "1" } },
            "spec": {
                "class": { "name": "small", "kind": "MachineClass" },
                "nodeTemplate": { "metadata": { "annotations": { "x": "" }, "creationTimestamp": null } },
            },
        }));
        assert_eq!(fact(&one), fact(&other));
        assert_eq!(fact(&one).handed_on["nodeTemplate"], r#"{"metadata":{"annotations":{"x":""}}}"#);
    }

    #[test]
    fn settings_are_handed_on_and_the_class_is_not() {
        let from = template(json!({ "spec": {
            "class": { "kind": "Old", "name": "small" }, "drainTimeout": "1h", "providerID": "vm-1",
            "nodeTemplate": { "metadata": { "labels": { "a": "1", "b": "1" } } },
        } }));
        let to = template(json!({ "spec": {
            "class": { "kind": "MachineClass", "name": "large" }, "maxEvictRetries": 3,
            "nodeTemplate": { "metadata": { "labels": { "a": "2" } } },
        } }));
        let patch = settings_patch(&from.spec, &to.spec).unwrap();
        let expected = json!({
            "class": { "kind": "MachineClass" }, "drainTimeout": null, "maxEvictRetries": 3,
            "nodeTemplate": { "metadata": { "labels": { "a": "2", "b": null } } },
        });
        assert_eq!(patch, expected);
    }

    #[test]
    fn a_return_brings_the_whole_template_but_the_label_of_the_hash() {
        let from = template(json!({ "spec": { "class": { "name": "large" } } }));
        let to = template(json!({
            "metadata": { "labels": { "a": "1", "machine-template-hash": "7" } },
            "spec": { "class": { "name": "small" } },
        }));
        let patch = return_patch(&from, &to).unwrap();
        assert_eq!(
            patch,
            json!({ "metadata": { "labels": { "a": "1" } }, "spec": { "class": { "name": "small" } } })
        );
    }
}

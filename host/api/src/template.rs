//! Templates: what a Machine hands to its Node, and what a set hands to its Machines.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSpec, Taint};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lenient;
use crate::machine::MachineSpec;

/// Metadata inside a template, kept as it was written: the API server checks nothing in it, and fields that this project
/// has no use for belong to others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TemplateMetadata(pub Map<String, Value>);

impl TemplateMetadata {
    /// Its labels. Values that are no text are left out.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.texts("labels")
    }

    /// Its annotations. Values that are no text are left out.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.texts("annotations")
    }

    /// Its finalizers.
    pub fn finalizers(&self) -> Vec<String> {
        let items = self.0.get("finalizers").and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    fn texts(&self, field: &str) -> BTreeMap<String, String> {
        let entries = self.0.get(field).and_then(Value::as_object);
        let texts = entries.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_str()?)));
        texts.map(|(key, value)| (key.clone(), value.to_owned())).collect()
    }
}

impl JsonSchema for TemplateMetadata {
    fn schema_name() -> Cow<'static, str> {
        "TemplateMetadata".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// Metadata and taints for a Node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeTemplate {
    /// Labels and annotations that the controller keeps on the Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the Node. Only its taints are used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<NodeSpec>,
}

impl NodeTemplate {
    /// Labels to keep on the Node.
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.metadata.as_ref().map(TemplateMetadata::labels).unwrap_or_default()
    }

    /// Annotations to keep on the Node.
    pub fn annotations(&self) -> BTreeMap<String, String> {
        self.metadata.as_ref().map(TemplateMetadata::annotations).unwrap_or_default()
    }

    /// Taints to keep on the Node.
    pub fn taints(&self) -> &[Taint] {
        self.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default()
    }
}

/// Template from which a MachineSet creates its Machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineTemplate {
    /// Labels, annotations and finalizers of the Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the Machines.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineSpec,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_is_read_where_it_is_text_and_kept_where_it_is_not() {
        let odd = json!({
            "creationTimestamp": null,
            "labels": { "a": "1", "b": 2, "c": null },
            "annotations": null,
            "finalizers": ["x", 3],
            "managedFields": [{ "manager": "kubectl" }],
        });
        let template: NodeTemplate =
            serde_json::from_value(json!({ "metadata": odd, "spec": null })).unwrap();
        let metadata = template.metadata.clone().unwrap();
        assert_eq!(template.labels(), BTreeMap::from([("a".to_owned(), "1".to_owned())]));
        assert!(template.annotations().is_empty() && template.taints().is_empty());
        assert_eq!(metadata.finalizers(), ["x"]);
        assert_eq!(serde_json::to_value(&template).unwrap(), json!({ "metadata": odd }));
    }
}

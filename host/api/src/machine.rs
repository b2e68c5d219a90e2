//! The kind `Machine`: one VM and its Node.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeAddress, NodeCondition, NodeSpec, Taint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use machinist_core::value::phase::{OperationState, OperationType, Phase};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::kind::kind;
use crate::lenient;
use crate::own_status::OwnMachineStatus;
use crate::word::Word;

/// A physical or virtual machine that is to be a Node of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Machine {
    /// Name, labels and so on.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What the machine is to be.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineSpec,
    /// What the machine is.
    pub status: Option<MachineStatus>,
}

kind!(Machine, plural: "machines", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// What a machine is to be. Durations are text such as `20m` or `1h30m`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// The class of the machine, in the same namespace.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "ClassReference::is_empty")]
    pub class: ClassReference,
    /// The cloud's id of the VM. Empty until the VM is created; written by the controller.
    #[serde(
        rename = "providerID",
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    /// Labels, annotations and taints to keep on the Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_template: Option<NodeTemplate>,
    /// How long a graceful drain may take, from the request to delete the machine on.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<String>,
    /// How long the machine may be unhealthy before it is replaced.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub health_timeout: Option<String>,
    /// How long the Node may take to join, from the creation of this object on.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub creation_timeout: Option<String>,
    /// How long an update in place may take.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub in_place_update_timeout: Option<String>,
    /// How long a preserved machine is kept.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub machine_preserve_timeout: Option<String>,
    /// If true, an unhealthy machine is never failed because of the time that it is unhealthy.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub disable_health_timeout: Option<bool>,
    /// How often the eviction of a pod is tried before the pod is deleted.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub max_evict_retries: Option<i32>,
    /// Comma-separated types of Node conditions that must be False for the machine to be healthy.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub node_conditions: Option<String>,
}

/// A reference to a class in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassReference {
    /// API group of the class. Not used.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Kind of the class: MachineClass.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the class.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

impl ClassReference {
    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a machine is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineStatus {
    /// Addresses of the VM. Filled only where there is no target cluster.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<NodeAddress>,
    /// The conditions of the Node, as they are there.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<NodeCondition>,
    /// What was done last.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "LastOperation::is_empty")]
    pub last_operation: LastOperation,
    /// Where the machine is in its life.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "CurrentStatus::is_empty")]
    pub current_status: CurrentStatus,
    /// Notes of the driver, handed back to it with each call. Opaque to all others.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub last_known_state: Option<String>,
    /// What Machinist says beyond these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machinist: Option<OwnMachineStatus>,
}

/// What was done last with a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LastOperation {
    /// What happened, for people.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the code of the driver's last error, such as ResourceExhausted.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// When this was written.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// How it goes: Processing, Failed or Successful.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<Word<OperationState>>,
    /// What is done: Create, Update, InPlaceUpdate, DrainNode, HealthCheck or Delete.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<Word<OperationType>>,
}

impl LastOperation {
    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a machine is in its life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CurrentStatus {
    /// Empty while the machine is created, then Pending, Available, Running, Terminating, Unknown, Failed,
    /// CrashLoopBackOff, InPlaceUpdating, InPlaceUpdateSuccessful or InPlaceUpdateFailed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Word<Phase>>,
    /// Whether a timeout is running. For people only.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub timeout_active: Option<bool>,
    /// When the phase changed last. The timeouts of health and of updates in place run from here.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
    /// Until when the machine is preserved. Present if and only if it is.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub preserve_expiry_time: Option<Time>,
}

impl CurrentStatus {
    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Machine {
    /// The phase; a Machine without one is new.
    pub fn phase(&self) -> Word<Phase> {
        let phase = self.status.as_ref().and_then(|status| status.current_status.phase.clone());
        phase.unwrap_or(Word::Known(Phase::New))
    }

    /// The driver's notes; empty ones are none.
    pub fn last_known_state(&self) -> Option<&str> {
        let notes = self.status.as_ref().and_then(|status| status.last_known_state.as_deref());
        notes.filter(|notes| !notes.is_empty())
    }

    /// The cloud's id of the VM; an empty one is none.
    pub fn provider_id(&self) -> Option<&str> {
        self.spec.provider_id.as_deref().filter(|id| !id.is_empty())
    }
}

/// Metadata inside a template, kept as it was written: the API server checks nothing in it, and fields that this
/// project has no use for belong to others.
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
    /// Labels and annotations to keep on the Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Only the taints are used.
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_is_read_where_it_is_text_and_kept_where_it_is_not() {
        let unusual = json!({
            "creationTimestamp": null,
            "labels": { "a": "1", "b": 2, "c": null },
            "annotations": null,
            "finalizers": ["x", 3],
            "managedFields": [{ "manager": "kubectl" }],
        });
        let template: NodeTemplate =
            serde_json::from_value(json!({ "metadata": unusual, "spec": null })).unwrap();
        let metadata = template.metadata.clone().unwrap();
        assert_eq!(template.labels(), BTreeMap::from([("a".to_owned(), "1".to_owned())]));
        assert!(template.annotations().is_empty() && template.taints().is_empty());
        assert_eq!(metadata.finalizers(), ["x"]);
        assert_eq!(serde_json::to_value(&template).unwrap(), json!({ "metadata": unusual }));
    }
}

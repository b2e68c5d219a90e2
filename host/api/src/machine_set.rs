//! The kind `MachineSet`: a number of equal Machines.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::kind;
use crate::lenient;
use crate::machine::{ClassReference, LastOperation};
use crate::own_status::OwnStatus;
use crate::template::MachineTemplate;

/// A number of equal Machines.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSet {
    /// Name, labels and so on.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineSetSpec,
    /// What there is.
    pub status: Option<MachineSetStatus>,
}

kind!(MachineSet, plural: "machinesets", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// What a set wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetSpec {
    /// How many Machines. Absent means 0.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Which Machines belong to the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
    /// Not used but as a label of a metric. The class of the Machines is in the template.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "ClassReference::is_empty")]
    pub machine_class: ClassReference,
    /// What the Machines are made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<MachineTemplate>,
    /// Stored and not applied.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// How many failed Machines are preserved without being asked for.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// What a set has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetStatus {
    /// Machines that the set owns, with those that are being deleted.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines with all labels of the template.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub fully_labeled_replicas: Option<i32>,
    /// Machines in phase Running.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines in phase Running or Available.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Failed Machines that are preserved.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub preserved_failed_replicas: Option<i32>,
    /// The generation that this status is about.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What holds for the set. The name of this field is singular for history's sake.
    #[serde(
        rename = "machineSetCondition",
        deserialize_with = "lenient::or_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<MachineSetCondition>,
    /// What was done last.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "LastOperation::is_empty")]
    pub last_operation: LastOperation,
    /// Machines whose last operation failed and that are not preserved.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub failed_machines: Vec<MachineSummary>,
    /// Machines that are preserved without being asked for.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub auto_preserve_failed_machine_count: Option<i32>,
    /// What Machinist says beyond these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machinist: Option<OwnStatus>,
}

/// One thing that holds for a set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["status", "type"]))]
pub struct MachineSetCondition {
    /// ReplicaFailure or Frozen.
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    pub type_: String,
    /// True, False or Unknown.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: String,
    /// When the status changed last.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Why, for machines.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, for people.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A Machine as its owners show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSummary {
    /// Its name.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The cloud's id of its VM.
    #[serde(
        rename = "providerID",
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    /// What was done last with it.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "LastOperation::is_empty")]
    pub last_operation: LastOperation,
    /// Name of its set.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub owner_ref: Option<String>,
}

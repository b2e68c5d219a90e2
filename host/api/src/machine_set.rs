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
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Desired state of the MachineSet.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineSetSpec,
    /// Observed state of the MachineSet.
    pub status: Option<MachineSetStatus>,
}

kind!(MachineSet, plural: "machinesets", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// Desired state of a MachineSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetSpec {
    /// Desired number of Machines. Absent means 0.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Label selector of the Machines that belong to the set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
    /// Used only as a label of a metric. The class of the Machines is in the template.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "ClassReference::is_empty")]
    pub machine_class: ClassReference,
    /// Template of the Machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<MachineTemplate>,
    /// Stored and not used.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Number of failed Machines to preserve without a request.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// Observed state of a MachineSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSetStatus {
    /// Machines that the set owns, including those that are being deleted.
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
    /// Generation of the object that this status describes.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions of the set. The field's name is singular for compatibility.
    #[serde(
        rename = "machineSetCondition",
        deserialize_with = "lenient::or_empty",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub conditions: Vec<MachineSetCondition>,
    /// Last operation of the controller.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "LastOperation::is_empty")]
    pub last_operation: LastOperation,
    /// Machines whose last operation failed and that are not preserved.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub failed_machines: Vec<MachineSummary>,
    /// Failed Machines that are preserved without a request.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub auto_preserve_failed_machine_count: Option<i32>,
    /// Status that Machinist adds to the fields of machine-controller-manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machinist: Option<OwnStatus>,
}

/// A condition of a MachineSet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["status", "type"]))]
pub struct MachineSetCondition {
    /// Type of the condition: ReplicaFailure or Frozen.
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    pub type_: String,
    /// Status of the condition: True, False or Unknown.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: String,
    /// Time of the last change of `status`.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Cause as one CamelCase word, for programs.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Cause as a sentence, for people.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A Machine in the status of its owners.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSummary {
    /// Name of the Machine.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The cloud's ID of the VM.
    #[serde(
        rename = "providerID",
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    pub provider_id: Option<String>,
    /// Last operation of the controller on the Machine.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "LastOperation::is_empty")]
    pub last_operation: LastOperation,
    /// Name of the Machine's MachineSet.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub owner_ref: Option<String>,
}

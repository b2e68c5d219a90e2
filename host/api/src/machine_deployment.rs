//! The kind `MachineDeployment`: a MachineSet that can be rolled to another template.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::kind;
use crate::lenient;
use crate::machine_set::MachineSummary;
use crate::own_status::OwnStatus;
use crate::template::MachineTemplate;
use crate::value::IntOrString;
use crate::word::{Word, vocabulary};

/// A number of equal Machines that are replaced when their template changes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeployment {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Desired state of the MachineDeployment.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineDeploymentSpec,
    /// Observed state of the MachineDeployment.
    pub status: Option<MachineDeploymentStatus>,
}

kind!(MachineDeployment, plural: "machinedeployments", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// Desired state of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["template"]))]
pub struct MachineDeploymentSpec {
    /// Desired number of Machines. Absent means 0.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Label selector of the Machines that belong to the deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
    /// Template of the Machines.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: MachineTemplate,
    /// Strategy for replacing Machines of an older template.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Strategy::is_empty")]
    pub strategy: Strategy,
    /// Stored and not used.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// Number of old MachineSets to keep. Absent means all.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// If true, the rollout is paused.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Request to roll back to an earlier template. The controller removes it afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<RollbackTo>,
    /// Time in seconds without progress after which a rollout is reported as failed to progress. Absent means no limit.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i32>,
    /// Number of failed Machines to preserve without a request.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// Target of a rollback.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RollbackTo {
    /// Revision to roll back to. Absent or 0 means the one before the current.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}

vocabulary! {
    /// Strategy for replacing Machines of an older template.
    StrategyType {
        /// All old Machines are deleted before the first new one is created.
        Recreate = "Recreate",
        /// Step by step.
        RollingUpdate = "RollingUpdate",
        /// The software on the VMs is updated; the VMs stay.
        InPlaceUpdate = "InPlaceUpdate",
    }
}

vocabulary! {
    /// Selection of the Machines to update in place.
    OrchestrationType {
        /// The controller.
        Auto = "Auto",
        /// The user, by a label on the Nodes.
        Manual = "Manual",
    }
}

/// Strategy for replacing Machines of an older template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    /// Type of the strategy: Recreate, RollingUpdate or InPlaceUpdate.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<Word<StrategyType>>,
    /// Limits for type RollingUpdate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    /// Limits for type InPlaceUpdate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update: Option<InPlaceUpdate>,
}

impl Strategy {
    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Limits of a rolling update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// Desired Machines that may be unavailable: a number, or a percentage that is rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// Machines above the desired number that may exist: a number, or a percentage that is rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

/// Limits of an in-place update.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InPlaceUpdate {
    /// Desired Machines that may be unavailable: a number, or a percentage that is rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// Machines above the desired number that may exist: a number, or a percentage that is rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Auto: the controller selects the Machines. Manual: the user selects them by a label on the Nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orchestration_type: Option<Word<OrchestrationType>>,
}

/// Observed state of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeploymentStatus {
    /// Generation of the object that this status describes.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Machines of all MachineSets of the deployment.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Machines of the current template.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub updated_replicas: Option<i32>,
    /// Machines in phase Running.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Machines in phase Running or Available.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,
    /// Failed Machines that are preserved.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub preserved_failed_replicas: Option<i32>,
    /// Desired Machines that are not available.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
    /// Conditions of the deployment.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineDeploymentCondition>,
    /// Number of times that the name of a new MachineSet was already taken.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub collision_count: Option<i32>,
    /// Machines whose last operation failed and that are not preserved.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub failed_machines: Vec<MachineSummary>,
    /// Status that Machinist adds to the fields of machine-controller-manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machinist: Option<OwnStatus>,
}

/// A condition of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["status", "type"]))]
pub struct MachineDeploymentCondition {
    /// Type of the condition: Available, Progressing, ReplicaFailure or Frozen.
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    pub type_: String,
    /// Status of the condition: True, False or Unknown.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: String,
    /// Time of the last change of the condition.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
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

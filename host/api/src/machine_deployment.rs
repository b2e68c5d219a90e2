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

/// A number of equal Machines that can be rolled to another template.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeployment {
    /// Name, labels and so on.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachineDeploymentSpec,
    /// What there is.
    pub status: Option<MachineDeploymentStatus>,
}

kind!(MachineDeployment, plural: "machinedeployments", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// What a deployment wants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["template"]))]
pub struct MachineDeploymentSpec {
    /// How many Machines. Absent means 0.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Which Machines belong to the deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub selector: Option<LabelSelector>,
    /// What the Machines are made from.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: MachineTemplate,
    /// How Machines of another template are replaced.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Strategy::is_empty")]
    pub strategy: Strategy,
    /// Stored and not applied.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub min_ready_seconds: Option<i32>,
    /// How many old sets are kept. Absent means all.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub revision_history_limit: Option<i32>,
    /// True holds a rollout where it is.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// Present: return to an earlier template. Removed when that is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<RollbackTo>,
    /// How long a rollout may make no progress before it is reported. Absent means for ever.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i32>,
    /// How many failed Machines are preserved without being asked for.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub auto_preserve_failed_machine_max: Option<i32>,
}

/// Which template to return to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RollbackTo {
    /// Its revision. Absent or 0 means the one before.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
}

vocabulary! {
    /// How Machines of another template are replaced.
    StrategyType {
        /// All old ones are deleted before the first other one is created.
        Recreate = "Recreate",
        /// Step by step.
        RollingUpdate = "RollingUpdate",
        /// The VMs stay, what runs on them is updated.
        InPlaceUpdate = "InPlaceUpdate",
    }
}

vocabulary! {
    /// Who chooses the Machines to be updated in place.
    OrchestrationType {
        /// The controller.
        Auto = "Auto",
        /// The user, by a label on the Nodes.
        Manual = "Manual",
    }
}

/// How Machines of another template are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    /// Recreate, RollingUpdate or InPlaceUpdate.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<Word<StrategyType>>,
    /// For type RollingUpdate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
    /// For type InPlaceUpdate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_update: Option<InPlaceUpdate>,
}

impl Strategy {
    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The bounds of a rolling update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// How many of the wanted Machines may be missing: a number, or a percentage that is rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many Machines there may be above the wanted number: a number, or a percentage that is rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
}

/// The bounds of an update in place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InPlaceUpdate {
    /// How many of the wanted Machines may be missing: a number, or a percentage that is rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// How many Machines there may be above the wanted number: a number, or a percentage that is rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrString>,
    /// Auto: the controller chooses the Machines. Manual: the user does, by a label on the Nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orchestration_type: Option<Word<OrchestrationType>>,
}

/// What a deployment has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineDeploymentStatus {
    /// The generation that this status is about.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Machines of all sets.
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
    /// Machines that the sets want and that are not available.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub unavailable_replicas: Option<i32>,
    /// What holds for the deployment.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<MachineDeploymentCondition>,
    /// How often the name of a set was already taken.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub collision_count: Option<i32>,
    /// Machines whose last operation failed and that are not preserved.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub failed_machines: Vec<MachineSummary>,
    /// What Machinist says beyond these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machinist: Option<OwnStatus>,
}

/// One thing that holds for a deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["status", "type"]))]
pub struct MachineDeploymentCondition {
    /// Available, Progressing, ReplicaFailure or Frozen.
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    pub type_: String,
    /// True, False or Unknown.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: String,
    /// When anything of this changed last.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,
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

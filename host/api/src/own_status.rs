//! `status.machinist`: what Machinist says beyond the fields that machine-controller-manager has.
//!
//! It is additive and optional. Under that project's own CRDs the API server prunes it, so nothing that safety needs
//! may live here alone, and its absence after a write is no reason to write again.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient;

/// Status that Machinist adds to a class, a set or a deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnStatus {
    /// Conditions of the object, with the reason for which the controller waits.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Generation of the object that the conditions describe.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// Status that Machinist adds to a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnMachineStatus {
    /// Conditions of the Machine, with the reason for which the controller waits.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Generation of the Machine that the conditions describe.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Failures in a row of the current step when this status was written. Each attempt is written while the pauses
    /// between attempts grow or take minutes.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,
    /// Time of the next attempt at the step, if nothing changes before. Absent while attempts follow at short, equal
    /// pauses, which are not written.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<Time>,
    /// Failure domain of the VM, such as its zone, as the driver reports it.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// State of the VM in the driver's last report.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Option::is_none")]
    pub vm: Option<VmStatus>,
    /// Progress of the Node's drain that no other object shows.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainStatus>,
}

/// A VM as its driver reports it. For information only: no decision depends on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VmStatus {
    /// State of the VM: Pending, Running, Stopping, Stopped or Unknown.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Further conditions of the VM that the cloud reports.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<VmCondition>,
}

/// A condition of a VM that the cloud reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VmCondition {
    /// Type of the condition, as the driver names it.
    #[serde(rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// Status of the condition: True, False or Unknown.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Cause as one CamelCase word, for programs.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Cause as a sentence, for people.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// State of a drain that the next reconciles need.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DrainStatus {
    /// Time at which the progress was last reported.
    #[serde(rename = "toldAt", deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<Time>,
    /// Volumes of pods that were asked to terminate.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<AwaitedVolume>,
}

/// A volume that must detach from the Node, and then attach to another one before the next pod with a volume is
/// evicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AwaitedVolume {
    /// Name of the PersistentVolume.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// IDs of the volume, as clouds and kubelets name it.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// Pod that used the volume, as namespace/name.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// Time at which the pod was asked to terminate.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Grace period of the pod in seconds.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<i64>,
    /// Time at which the volume was first seen detached from the Node.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub detached: Option<Time>,
}

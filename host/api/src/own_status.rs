//! `status.machinist`: what Machinist says beyond the fields that machine-controller-manager has.
//!
//! It is additive and optional. Under that project's own CRDs the API server prunes it, so nothing that safety needs
//! may live here alone, and its absence after a write is no reason to write again.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lenient;

/// What Machinist says about a class, a set or a deployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnStatus {
    /// What holds for this object, what is awaited and why.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The generation of the object that the conditions are about.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What Machinist says about a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnMachineStatus {
    /// What holds for this Machine, what is awaited and why.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The generation of the Machine that the conditions are about.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many times in a row the current step had failed when this status was written: while pauses between attempts
    /// grow, or are minutes long, each attempt is written.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,
    /// When the step is tried again, if nothing changes before. Absent while attempts are made at short, equal pauses,
    /// which are not written.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<Time>,
    /// The zone or the like in which the VM runs, as the driver reports it.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub failure_domain: Option<String>,
    /// The last report of the driver about the VM.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Option::is_none")]
    pub vm: Option<VmStatus>,
    /// How far a drain of the Node is, as far as no other object tells.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Option::is_none")]
    pub drain: Option<DrainStatus>,
}

/// A VM, as its driver tells of it. Nobody relies on it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VmStatus {
    /// Its state: Pending, Running, Stopping, Stopped or Unknown.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Further conditions that the cloud reports.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<VmCondition>,
}

/// Something that the cloud says of a VM.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct VmCondition {
    /// In the driver's words.
    #[serde(rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// True, False or Unknown.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// For machines.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For people.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What the next passes of a drain must know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DrainStatus {
    /// When its progress was told last.
    #[serde(rename = "toldAt", deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<Time>,
    /// Volumes of pods that were told to end.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<AwaitedVolume>,
}

/// A volume that is to leave the Node, and then to appear elsewhere before the next pod goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AwaitedVolume {
    /// The PersistentVolume.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What clouds and kubelets call it.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// The pod that used it, as namespace/name.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    /// When that pod was told to end.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// That pod's grace period in seconds.
    #[serde(deserialize_with = "lenient::int64", skip_serializing_if = "Option::is_none")]
    pub grace_seconds: Option<i64>,
    /// When it was first seen to have left the Node.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub detached: Option<Time>,
}

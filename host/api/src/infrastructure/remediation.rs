//! The kinds `MachinistRemediation` and `MachinistRemediationTemplate`: an unhealthy machine is rebooted before its
//! owner replaces it.
//!
//! A MachineHealthCheck of Cluster API names the template in `spec.remediation.templateRef`. For each unhealthy Machine
//! it makes a remediation of the Machine's name, and deletes it once the Machine is healthy again.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kind::kind;
use crate::lenient;
use crate::template::TemplateMetadata;

/// Reboots that a strategy without a limit asks for.
pub const DEFAULT_RETRY_LIMIT: i32 = 1;
/// Seconds that each reboot has to help, where a strategy says nothing.
pub const DEFAULT_TIMEOUT_SECONDS: i32 = 300;
/// The condition of a remediation.
pub const REMEDIATED: &str = "Remediated";

/// Remediation of an unhealthy machine: its VM is rebooted, and if that does not help, its owner replaces it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistRemediation {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// What is tried before the machine is replaced.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistRemediationSpec,
    /// What was tried.
    pub status: Option<MachinistRemediationStatus>,
}

kind!(MachinistRemediation, of: crate::infrastructure, plural: "machinistremediations", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// What is tried before the machine is replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistRemediationSpec {
    /// Strategy of the remediation. Absent: one reboot, with five minutes to help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RemediationStrategy>,
}

/// Strategy of a remediation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RemediationStrategy {
    /// Type of the strategy. Reboot is the only one.
    #[serde(rename = "type", deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Reboot"], "default" = "Reboot"))]
    pub kind: Option<String>,
    /// How many reboots are tried. 0: the owner replaces the machine at once.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "maximum" = 10, "default" = DEFAULT_RETRY_LIMIT))]
    pub retry_limit: Option<i32>,
    /// Seconds that each reboot has to make the machine healthy.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 1, "maximum" = 86_400, "default" = DEFAULT_TIMEOUT_SECONDS))]
    pub timeout_seconds: Option<i32>,
}

/// What was tried.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistRemediationStatus {
    /// How many reboots were requested.
    #[serde(deserialize_with = "lenient::int32", skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<i32>,
    /// When the last reboot was requested.
    #[serde(deserialize_with = "lenient::time", skip_serializing_if = "Option::is_none")]
    pub last_remediated: Option<Time>,
    /// Conditions of the remediation: Remediated.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Template from which a MachineHealthCheck makes remediations.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistRemediationTemplate {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The remediations to make.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistRemediationTemplateSpec,
}

kind!(MachinistRemediationTemplate, of: crate::infrastructure, plural: "machinistremediationtemplates", fields: [
    "metadata" => metadata, "spec" => spec,
]);

/// The remediations to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["template"]))]
pub struct MachinistRemediationTemplateSpec {
    /// Metadata and spec of the remediations.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: MachinistRemediationTemplateResource,
}

/// Metadata and spec of the remediations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["spec"]))]
pub struct MachinistRemediationTemplateResource {
    /// Labels and annotations of the remediations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the remediations.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistRemediationSpec,
}

impl MachinistRemediation {
    /// Returns how many reboots are tried.
    pub fn retry_limit(&self) -> u32 {
        let limit = self.spec.strategy.as_ref().and_then(|strategy| strategy.retry_limit);
        u32::try_from(limit.unwrap_or(DEFAULT_RETRY_LIMIT)).unwrap_or(0)
    }

    /// Returns the seconds that each reboot has to help. At least one.
    pub fn timeout_seconds(&self) -> i64 {
        let seconds = self.spec.strategy.as_ref().and_then(|strategy| strategy.timeout_seconds);
        i64::from(seconds.unwrap_or(DEFAULT_TIMEOUT_SECONDS).max(1))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_strategy_has_defaults_and_what_makes_no_sense_is_moved_to_what_does() {
        let read = |strategy: serde_json::Value| -> (u32, i64) {
            let object = json!({ "metadata": {}, "spec": { "strategy": strategy } });
            let remediation: MachinistRemediation = serde_json::from_value(object).unwrap();
            (remediation.retry_limit(), remediation.timeout_seconds())
        };
        assert_eq!(read(json!(null)), (1, 300));
        assert_eq!(read(json!({})), (1, 300));
        assert_eq!(read(json!({ "type": "Reboot", "retryLimit": 3, "timeoutSeconds": 60 })), (3, 60));
        assert_eq!(read(json!({ "retryLimit": -1, "timeoutSeconds": 0 })), (0, 1));
    }
}

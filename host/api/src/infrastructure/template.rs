//! The kind `MachinistMachineTemplate`, from which MachineSets, control planes and ClusterClasses make machines.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::infrastructure::machine::MachinistMachineSpec;
use crate::kind::kind;
use crate::lenient;
use crate::machine_class::quantities;
use crate::template::TemplateMetadata;

/// Template from which machines are made. Its spec does not change: a rollout goes to a template of another name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistMachineTemplate {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The machines to make.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistMachineTemplateSpec,
    /// Resources and platform of a Node of these machines.
    pub status: Option<MachinistMachineTemplateStatus>,
}

kind!(MachinistMachineTemplate, of: crate::infrastructure, plural: "machinistmachinetemplates", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// The machines to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["template"]))]
pub struct MachinistMachineTemplateSpec {
    /// Metadata and spec of the machines.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: MachinistMachineTemplateResource,
}

/// Metadata and spec of the machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["spec"]))]
pub struct MachinistMachineTemplateResource {
    /// Labels and annotations of the machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the machines.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistMachineSpec,
}

/// Resources and platform of a Node of the machines. Cluster-autoscaler reads it to scale up from zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistMachineTemplateStatus {
    /// Resources of a Node.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "quantities")]
    pub capacity: BTreeMap<String, Quantity>,
    /// Architecture and operating system of a Node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_info: Option<TemplateNodeInfo>,
}

/// Architecture and operating system of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("minProperties" = 1))]
pub struct TemplateNodeInfo {
    /// Architecture of the processor.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["amd64", "arm64", "s390x", "ppc64le"]))]
    pub architecture: Option<String>,
    /// Operating system.
    #[serde(deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    pub operating_system: Option<String>,
}

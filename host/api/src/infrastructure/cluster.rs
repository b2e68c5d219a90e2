//! The kinds `MachinistCluster` and `MachinistClusterTemplate`: the common settings of a cluster's machines.
//!
//! Machinist makes neither networks nor load balancers. The endpoint of the control plane comes from the user or from
//! the control plane's provider.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::infrastructure::identity::IdentityReference;
use crate::infrastructure::machine::Initialization;
use crate::kind::kind;
use crate::lenient;
use crate::template::TemplateMetadata;

/// Settings that the machines of a cluster share.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistCluster {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// Settings that the machines of the cluster share.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistClusterSpec,
    /// Observed state of the cluster's infrastructure.
    pub status: Option<MachinistClusterStatus>,
}

kind!(MachinistCluster, of: crate::infrastructure, plural: "machinistclusters", fields: [
    "metadata" => metadata, "spec" => spec, "status" => status if Option::is_some,
]);

/// Common settings of the machines of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistClusterSpec {
    /// Endpoint of the API server. Absent: the Cluster, or the provider of its control plane, has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_plane_endpoint: Option<ControlPlaneEndpoint>,
    /// Credentials of the cloud for machines that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity_ref: Option<IdentityReference>,
    /// Failure domains that machines of the cluster may ask for.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "maxItems" = 100,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub failure_domains: Vec<FailureDomain>,
    /// Mark of the VMs of the cluster. Absent: namespace and name of the Cluster, so that it is equal after a move.
    #[serde(
        rename = "clusterID",
        deserialize_with = "lenient::text",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("minLength" = 1, "maxLength" = 128))]
    pub cluster_id: Option<String>,
}

/// Endpoint of an API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["host", "port"]))]
pub struct ControlPlaneEndpoint {
    /// Host of the API server.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(extend("minLength" = 1, "maxLength" = 512))]
    pub host: String,
    /// Port of the API server.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub port: i32,
}

/// A failure domain, such as a zone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["name"]))]
pub struct FailureDomain {
    /// Name of the failure domain.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(extend("minLength" = 1, "maxLength" = 100))]
    pub name: String,
    /// Whether control planes are spread over it.
    #[serde(deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    pub control_plane: Option<bool>,
    /// More about it, for people.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// Observed state of a cluster's infrastructure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistClusterStatus {
    /// Whether the infrastructure was provided. Once true, it stays so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initialization: Option<Initialization>,
    /// Failure domains of the cluster.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend(
        "maxItems" = 100,
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub failure_domains: Vec<FailureDomain>,
    /// Conditions of the infrastructure: Ready and Paused.
    #[serde(deserialize_with = "lenient::or_empty", skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

/// Template from which a ClusterClass makes clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MachinistClusterTemplate {
    /// Name, namespace, labels, annotations and other metadata of the object.
    #[serde(deserialize_with = "lenient::or_empty")]
    #[schemars(skip)]
    pub metadata: ObjectMeta,
    /// The clusters to make.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistClusterTemplateSpec,
}

kind!(MachinistClusterTemplate, of: crate::infrastructure, plural: "machinistclustertemplates", fields: [
    "metadata" => metadata, "spec" => spec,
]);

/// The clusters to make.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["template"]))]
pub struct MachinistClusterTemplateSpec {
    /// Metadata and spec of the clusters.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: MachinistClusterTemplateResource,
}

/// Metadata and spec of the clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["spec"]))]
pub struct MachinistClusterTemplateResource {
    /// Labels and annotations of the clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// Spec of the clusters.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: MachinistClusterSpec,
}

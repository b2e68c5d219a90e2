//! The kinds of Cluster API that an infrastructure provider reads, with the fields that it reads.
//!
//! They are Cluster API's own, in its version v1beta2: nothing here is ever written.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use crate::infrastructure::names::labels;
use crate::kind::kind;
use crate::lenient;

/// API group of these kinds.
pub const GROUP: &str = "cluster.x-k8s.io";
/// Version of these kinds.
pub const VERSION: &str = "v1beta2";
/// Group and version of these kinds.
pub const API_VERSION: &str = "cluster.x-k8s.io/v1beta2";

/// The kind `Machine` of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerMachine {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerMachineSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: OwnerMachineStatus,
}

kind!(OwnerMachine, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "Machine", plural: "machines",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerMachineSpec {
    /// Name of its Cluster.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub cluster_name: String,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub bootstrap: Bootstrap,
    /// The object that is its VM.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub infrastructure_ref: ContractReference,
    /// The failure domain that the VM must be in; empty: any.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub failure_domain: String,
    /// The id of its VM, which its Node has as well; empty: there is none yet.
    #[serde(rename = "providerID", deserialize_with = "lenient::or_empty")]
    pub provider_id: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerMachineStatus {
    /// Its Node, once it has joined.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub node_ref: NodeReference,
    /// Its conditions about health and remediation, and no others.
    #[serde(deserialize_with = "health_conditions")]
    pub conditions: Vec<HealthCondition>,
}

/// A condition of a Machine about health or remediation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HealthCondition {
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    pub kind: String,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: String,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub reason: String,
}

/// The condition of a Machine by which a MachineHealthCheck says whether it is healthy.
pub const HEALTH_CHECK_SUCCEEDED: &str = "HealthCheckSucceeded";
/// The condition of a Machine that is False while its owner has to replace it.
pub const OWNER_REMEDIATED: &str = "OwnerRemediated";

/// A Machine has a dozen conditions more, which the caches need not keep.
fn health_conditions<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<HealthCondition>, D::Error> {
    let mut all: Vec<HealthCondition> = lenient::or_empty(deserializer)?;
    all.retain(|condition| [HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED].contains(&condition.kind.as_str()));
    Ok(all)
}

/// A reference to a Node of the workload cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeReference {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub name: String,
}

/// The bootstrap data of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// Name of the Secret with the data; empty: there is none yet.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub data_secret_name: String,
}

/// A reference to an object of the same namespace, in whatever version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContractReference {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub api_group: String,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub kind: String,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub name: String,
}

/// The kind `Cluster` of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerCluster {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerClusterSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: OwnerClusterStatus,
}

kind!(OwnerCluster, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "Cluster", plural: "clusters",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerClusterSpec {
    /// Nothing may be done to its objects.
    #[serde(deserialize_with = "lenient::boolean")]
    pub paused: Option<bool>,
    /// The object that is its infrastructure.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub infrastructure_ref: ContractReference,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerClusterStatus {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub initialization: ClusterInitialization,
}

/// The first provision of a Cluster's parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterInitialization {
    /// Its infrastructure was provided. A Cluster without a reference to any counts as provided.
    #[serde(deserialize_with = "lenient::boolean")]
    pub infrastructure_provisioned: Option<bool>,
}

impl OwnerMachine {
    /// Returns its condition about health or remediation of this type.
    pub fn health(&self, kind: &str) -> Option<&HealthCondition> {
        self.status.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Returns the name of its Cluster.
    pub fn cluster(&self) -> Option<&str> {
        let label = self.metadata.labels.as_ref().and_then(|all| all.get(labels::CLUSTER_NAME));
        [Some(self.spec.cluster_name.as_str()), label.map(String::as_str)]
            .into_iter()
            .flatten()
            .find(|name| !name.is_empty())
    }
}

impl OwnerCluster {
    pub fn is_paused(&self) -> bool {
        self.spec.paused == Some(true)
    }

    /// Returns whether its infrastructure was provided.
    pub fn has_infrastructure(&self) -> bool {
        self.status.initialization.infrastructure_provisioned == Some(true)
    }
}

impl ContractReference {
    /// Returns the name of the object, if it is of this group and kind.
    pub fn named(&self, group: &str, kind: &str) -> Option<&str> {
        (self.api_group == group && self.kind == kind && !self.name.is_empty()).then_some(self.name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_of_the_contract_are_read_and_all_others_left_alone() {
        let machine: OwnerMachine = serde_json::from_value(json!({
            "metadata": { "name": "m", "namespace": "n", "labels": { "cluster.x-k8s.io/cluster-name": "old" } },
            "spec": {
                "clusterName": "c",
                "bootstrap": { "dataSecretName": "m-bootstrap", "configRef": { "kind": "KubeadmConfig" } },
                "infrastructureRef": {
                    "apiGroup": "infrastructure.machinist.dev", "kind": "MachinistMachine", "name": "m",
                },
                "failureDomain": "a",
                "providerID": "sim:///a/vm-1",
                "version": "v1.36.0",
            },
            "status": {
                "phase": "Pending",
                "nodeRef": { "name": "n" },
                "conditions": [
                    { "type": "Available", "status": "False" },
                    { "type": "HealthCheckSucceeded", "status": "False", "reason": "NodeDeleted" },
                ],
            },
        }))
        .unwrap();
        assert_eq!(machine.status.conditions.len(), 1, "the others are not kept");
        let health = machine.health(HEALTH_CHECK_SUCCEEDED).unwrap();
        assert_eq!((health.status.as_str(), health.reason.as_str()), ("False", "NodeDeleted"));
        assert_eq!(machine.cluster(), Some("c"));
        assert_eq!(machine.spec.bootstrap.data_secret_name, "m-bootstrap");
        let reference = &machine.spec.infrastructure_ref;
        assert_eq!(reference.named("infrastructure.machinist.dev", "MachinistMachine"), Some("m"));
        assert_eq!(reference.named("infrastructure.cluster.x-k8s.io", "MachinistMachine"), None);
        assert_eq!(machine.spec.failure_domain, "a");
        assert_eq!(
            (machine.spec.provider_id.as_str(), machine.status.node_ref.name.as_str()),
            ("sim:///a/vm-1", "n")
        );

        let cluster: OwnerCluster = serde_json::from_value(json!({
            "metadata": { "name": "c" },
            "spec": { "paused": true, "controlPlaneRef": { "name": "cp" } },
            "status": { "initialization": { "infrastructureProvisioned": true }, "phase": "Provisioned" },
        }))
        .unwrap();
        assert!(cluster.is_paused() && cluster.has_infrastructure());
    }

    #[test]
    fn an_object_without_anything_is_read() {
        let machine: OwnerMachine = serde_json::from_value(json!({ "spec": null })).unwrap();
        assert_eq!((machine.cluster(), machine.spec.bootstrap.data_secret_name.as_str()), (None, ""));
        let cluster: OwnerCluster = serde_json::from_value(json!({ "status": null })).unwrap();
        assert!(!cluster.is_paused() && !cluster.has_infrastructure());
    }
}

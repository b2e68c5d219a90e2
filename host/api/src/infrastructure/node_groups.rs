//! The kinds of Cluster API that are node groups, with the fields that are read.
//!
//! They are Cluster API's own, in its version v1beta2. The host writes only replicas and annotations of a
//! MachineDeployment, where cluster-autoscaler asks for it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::infrastructure::cluster_api::ContractReference;
use crate::infrastructure::names::labels;
use crate::kind::kind;
use crate::lenient;
use crate::machine::TemplateMetadata;

/// The kind `MachineDeployment` of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerDeployment {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerDeploymentSpec,
}

kind!(OwnerDeployment, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "MachineDeployment", plural: "machinedeployments",
    fields: ["metadata" => metadata, "spec" => spec]);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerDeploymentSpec {
    /// Name of its Cluster.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub cluster_name: String,
    #[serde(deserialize_with = "lenient::int32")]
    pub replicas: Option<i32>,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: OwnerTemplate,
}

/// The template of the Machines of a MachineDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerTemplate {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: TemplateMetadata,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerTemplateSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerTemplateSpec {
    /// The failure domain of its VMs; empty: any.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub failure_domain: String,
    /// The template of its VMs.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub infrastructure_ref: ContractReference,
    /// Taints that Cluster API gives to the Nodes, as they are written.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub taints: Vec<Value>,
}

/// The kind `MachineSet` of Cluster API.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerSet {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerSetSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: OwnerSetStatus,
}

kind!(OwnerSet, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "MachineSet", plural: "machinesets",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerSetSpec {
    #[serde(deserialize_with = "lenient::int32")]
    pub replicas: Option<i32>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerSetStatus {
    /// How many Machines it has.
    #[serde(deserialize_with = "lenient::int32")]
    pub replicas: Option<i32>,
}

impl OwnerDeployment {
    /// Returns the name of its Cluster.
    pub fn cluster(&self) -> Option<&str> {
        let label = self.metadata.labels.as_ref().and_then(|all| all.get(labels::CLUSTER_NAME));
        [Some(self.spec.cluster_name.as_str()), label.map(String::as_str)]
            .into_iter()
            .flatten()
            .find(|name| !name.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_fields_that_count_are_read_and_all_others_left_alone() {
        let deployment: OwnerDeployment = serde_json::from_value(json!({
            "metadata": { "name": "md", "labels": { "cluster.x-k8s.io/cluster-name": "old" } },
            "spec": {
                "clusterName": "c", "replicas": 3, "selector": {},
                "template": {
                    "metadata": { "labels": { "node-role.kubernetes.io/worker": "" } },
                    "spec": {
                        "failureDomain": "a", "version": "v1.36.0",
                        "taints": [{ "key": "k", "effect": "NoSchedule", "propagation": "Always" }],
                    },
                },
            },
            "status": { "replicas": 2 },
        }))
        .unwrap();
        assert_eq!((deployment.cluster(), deployment.spec.replicas), (Some("c"), Some(3)));
        let template = &deployment.spec.template;
        assert_eq!(template.metadata.labels().len(), 1);
        assert_eq!((template.spec.failure_domain.as_str(), template.spec.taints.len()), ("a", 1));
        let set: OwnerSet =
            serde_json::from_value(json!({ "spec": { "replicas": 1 }, "status": { "replicas": 2 } }))
                .unwrap();
        assert_eq!((set.spec.replicas, set.status.replicas), (Some(1), Some(2)));
    }

    #[test]
    fn an_object_without_anything_is_read() {
        let deployment: OwnerDeployment =
            serde_json::from_value(json!({ "spec": { "template": null } })).unwrap();
        assert_eq!((deployment.cluster(), deployment.spec.replicas), (None, None));
        let set: OwnerSet = serde_json::from_value(json!({ "status": null })).unwrap();
        assert_eq!(set, OwnerSet::default());
    }
}

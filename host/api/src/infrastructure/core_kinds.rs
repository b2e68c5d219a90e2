//! The kinds of Cluster API's core with the state that it reports of them, for commands that show them to people.
//!
//! They are Cluster API's own, in its version v1beta2: nothing here is ever written. The host itself reads fewer fields
//! of them, and has them in [`cluster_api`](super::cluster_api) and [`node_groups`](super::node_groups).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use serde::{Deserialize, Serialize};

use crate::infrastructure::cluster_api::{
    ContractReference, NodeReference, OwnerClusterSpec, OwnerClusterStatus, OwnerMachineSpec,
};
use crate::kind::kind;
use crate::lenient;

/// Names on objects of Cluster API's core that people look at.
pub mod annotations {
    /// On a MachineDeployment and its MachineSets: the number of its template.
    pub const REVISION: &str = "machinedeployment.clusters.x-k8s.io/revision";
    /// On a Machine: its MachineSet deletes it first when it gets smaller.
    pub const DELETE_MACHINE: &str = "cluster.x-k8s.io/delete-machine";
    /// On a Machine, the beginning of a name: it is not drained before others take the annotation off.
    pub const PRE_DRAIN_HOOK: &str = "pre-drain.delete.hook.machine.cluster.x-k8s.io";
    /// On a Machine, the beginning of a name: its VM is not deleted before others take the annotation off.
    pub const PRE_TERMINATE_HOOK: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io";
}

/// The kind `Cluster` with its state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreCluster {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerClusterSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: CoreClusterStatus,
}

kind!(CoreCluster, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "Cluster", plural: "clusters",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreClusterStatus {
    /// Pending, Provisioning, Provisioned, Deleting, Failed or Unknown.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub phase: String,
    /// The part that the host reads, too.
    #[serde(flatten)]
    pub contract: OwnerClusterStatus,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub conditions: Vec<Condition>,
}

/// The kind `MachineDeployment` with its state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreDeployment {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: CoreDeploymentSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: CoreDeploymentStatus,
}

kind!(CoreDeployment, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "MachineDeployment", plural: "machinedeployments",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreDeploymentSpec {
    /// Name of its Cluster.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub cluster_name: String,
    #[serde(deserialize_with = "lenient::int32")]
    pub replicas: Option<i32>,
    #[serde(deserialize_with = "lenient::boolean")]
    pub paused: Option<bool>,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub rollout: Rollout,
}

/// How a MachineDeployment goes over to another template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollout {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub strategy: RolloutStrategy,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RolloutStrategy {
    /// The word RollingUpdate or OnDelete; empty without a choice.
    #[serde(rename = "type", deserialize_with = "lenient::or_empty")]
    pub kind: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreDeploymentStatus {
    /// The generation that core has looked at.
    #[serde(deserialize_with = "lenient::int64")]
    pub observed_generation: Option<i64>,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub conditions: Vec<Condition>,
}

/// The kind `MachineSet` with its state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreSet {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: CoreSetSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: CoreSetStatus,
}

kind!(CoreSet, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "MachineSet", plural: "machinesets",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreSetSpec {
    /// Name of its Cluster.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub cluster_name: String,
    #[serde(deserialize_with = "lenient::int32")]
    pub replicas: Option<i32>,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub template: CoreTemplate,
}

/// The template of the Machines of a MachineSet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreTemplate {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: CoreTemplateSpec,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreTemplateSpec {
    /// The template of their infrastructure.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub infrastructure_ref: ContractReference,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreSetStatus {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub conditions: Vec<Condition>,
}

/// The kind `Machine` with its state.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreMachine {
    #[serde(deserialize_with = "lenient::or_empty")]
    pub metadata: ObjectMeta,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub spec: OwnerMachineSpec,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub status: CoreMachineStatus,
}

kind!(CoreMachine, of: crate::infrastructure::cluster_api, scope: NamespaceResourceScope, named: "Machine", plural: "machines",
    fields: ["metadata" => metadata, "spec" => spec, "status" => status]);

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreMachineStatus {
    /// Pending, Provisioning, Provisioned, Running, Updating, Deleting, Failed or Unknown.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub phase: String,
    /// Since when it has been in its phase.
    #[serde(deserialize_with = "lenient::time")]
    pub last_updated: Option<Time>,
    /// Its Node, once it has joined.
    #[serde(deserialize_with = "lenient::or_empty")]
    pub node_ref: NodeReference,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub deletion: CoreDeletion,
    #[serde(deserialize_with = "lenient::or_empty")]
    pub conditions: Vec<Condition>,
}

/// How far core is with the deletion of a Machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CoreDeletion {
    /// When the drain of its Node began.
    #[serde(deserialize_with = "lenient::time")]
    pub node_drain_start_time: Option<Time>,
    /// When the wait for the Node's volumes began.
    #[serde(deserialize_with = "lenient::time")]
    pub wait_for_node_volume_detach_start_time: Option<Time>,
}

impl CoreMachine {
    /// Returns the names of the annotations by which others hold a step of its deletion. `hook`: the beginning of such
    /// a name.
    pub fn hooks(&self, hook: &str) -> Vec<&str> {
        let names = self.metadata.annotations.iter().flatten().map(|(name, _)| name.as_str());
        names
            .filter(|name| {
                name.strip_prefix(hook).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_state_that_core_reports_is_read() {
        let machine: CoreMachine = serde_json::from_value(json!({
            "metadata": { "name": "m", "annotations": {
                "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup": "",
                "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp": "",
            } },
            "spec": { "clusterName": "c", "providerID": "sim:///a" },
            "status": {
                "phase": "Deleting", "lastUpdated": "2026-01-01T00:00:00Z", "nodeRef": { "name": "n" },
                "deletion": { "nodeDrainStartTime": "2026-01-01T00:01:00Z" },
                "conditions": [{
                    "type": "Deleting", "status": "True", "reason": "DrainingNode", "message": "one pod",
                    "lastTransitionTime": "2026-01-01T00:01:00Z",
                }],
            },
        }))
        .unwrap();
        assert_eq!(
            machine.hooks(annotations::PRE_DRAIN_HOOK),
            ["pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"]
        );
        assert_eq!(machine.hooks(annotations::PRE_TERMINATE_HOOK).len(), 1);
        let status = &machine.status;
        assert!(status.last_updated.is_some() && status.deletion.node_drain_start_time.is_some());
        assert_eq!((status.phase.as_str(), status.conditions.len()), ("Deleting", 1));

        let cluster: CoreCluster = serde_json::from_value(json!({
            "spec": { "paused": true, "infrastructureRef": { "name": "c" } },
            "status": { "phase": "Provisioned", "initialization": { "infrastructureProvisioned": true } },
        }))
        .unwrap();
        assert_eq!(cluster.spec.paused, Some(true));
        assert_eq!(cluster.status.contract.initialization.infrastructure_provisioned, Some(true));
    }

    #[test]
    fn an_object_without_anything_is_read() {
        let nothing = json!({ "spec": null, "status": null });
        assert_eq!(serde_json::from_value::<CoreCluster>(nothing.clone()).unwrap(), CoreCluster::default());
        assert_eq!(
            serde_json::from_value::<CoreDeployment>(nothing.clone()).unwrap(),
            CoreDeployment::default()
        );
        assert_eq!(serde_json::from_value::<CoreSet>(nothing.clone()).unwrap(), CoreSet::default());
        assert_eq!(serde_json::from_value::<CoreMachine>(nothing).unwrap(), CoreMachine::default());
        let empty: CoreMachine =
            serde_json::from_value(json!({ "status": { "deletion": null, "conditions": null } })).unwrap();
        assert_eq!(empty, CoreMachine::default());
    }
}

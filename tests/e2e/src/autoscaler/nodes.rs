//! Its writes to Nodes: taints before a scale-down, and cordons after it.

use anyhow::{Context, Result};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Taint};
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use machinist_api::names;

use super::{Autoscaler, NodeGroup};

/// With effect PreferNoSchedule: the Node is not needed.
pub(super) const CANDIDATE: &str = "DeletionCandidateOfClusterAutoscaler";
/// With effect NoSchedule: the Node is about to go.
pub(super) const TO_BE_DELETED: &str = "ToBeDeletedByClusterAutoscaler";

impl Autoscaler {
    /// Cordons, again in each turn, the Nodes of the Machines that are to go.
    pub(super) async fn refresh(&self, group: &NodeGroup) -> Result<()> {
        let deployment = self.deployments().get(&group.name).await?;
        let listed =
            deployment.annotations().get(names::annotations::TRIGGER_DELETION).cloned().unwrap_or_default();
        let to_delete: Vec<&str> =
            listed.split(',').map(|entry| entry.split_once('~').map_or(entry, |(name, _)| name)).collect();
        for machine in self.machines_of(group).await? {
            if to_delete.contains(&machine.name_any().as_str())
                && let Some(node) = machine.labels().get(names::labels::NODE)
            {
                self.cordon(node).await;
            }
        }
        Ok(())
    }

    /// As far as that is possible.
    pub(super) async fn cordon(&self, node: &str) {
        let change = |node: &mut Node| node.spec.get_or_insert_default().unschedulable = Some(true);
        self.change_node(node, change).await.ok();
    }

    pub(super) async fn taint(&self, node: &str, key: &str, effect: &str) -> Result<()> {
        let taint = Taint {
            key: key.to_owned(),
            effect: effect.to_owned(),
            value: Some(Timestamp::now().as_second().to_string()),
            time_added: None,
        };
        self.change_node(node, |node| {
            let taints = node.spec.get_or_insert_default().taints.get_or_insert_default();
            if taints.iter().all(|one| one.key != taint.key) {
                taints.push(taint.clone());
            }
        })
        .await
    }

    pub(super) async fn untaint(&self, node: &str, key: &str) -> Result<()> {
        self.change_node(node, |node| {
            if let Some(taints) = node.spec.as_mut().and_then(|spec| spec.taints.as_mut()) {
                taints.retain(|one| one.key != key);
            }
        })
        .await
    }

    /// The whole Node as it was read.
    async fn change_node(&self, name: &str, change: impl Fn(&mut Node)) -> Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        super::write::retried(async || {
            let mut node = nodes.get(name).await?;
            change(&mut node);
            nodes
                .replace(name, &PostParams::default(), &node)
                .await
                .with_context(|| format!("failed to update Node {name}"))?;
            Ok(())
        })
        .await
    }
}

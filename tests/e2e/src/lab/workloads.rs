//! Pods, budgets and volumes of a lab with workloads.

use std::collections::BTreeMap;

use anyhow::Result;
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;

use super::Lab;
use super::objects::create;
use crate::cloud::Cloud;
use crate::manifests::workloads::WORKLOADS;
use crate::wait::{eventually, or_show};

impl<C: Cloud> Lab<C> {
    /// Applies objects of any kind.
    pub async fn apply(&self, objects: &[Value]) -> Result<()> {
        let text: Vec<String> = objects.iter().map(Value::to_string).collect();
        self.plane.apply(&text.join("\n---\n")).await?;
        Ok(())
    }

    pub async fn create_pod(&self, pod: &Pod) -> Result<Pod> {
        create(&self.pods(), pod).await
    }

    pub fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), WORKLOADS)
    }

    pub fn attachments(&self) -> Api<VolumeAttachment> {
        Api::all(self.client.clone())
    }

    pub fn node_objects(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    /// Names of the pods of an app that are bound to this Node, in order, whether they are to end or not.
    pub async fn pods_on(&self, node: &str, app: &str) -> Result<Vec<String>> {
        let params =
            ListParams::default().labels(&format!("app={app}")).fields(&format!("spec.nodeName={node}"));
        let pods = self.pods().list(&params).await?.items;
        let mut names: Vec<String> = pods.into_iter().filter_map(|pod| pod.metadata.name).collect();
        names.sort();
        Ok(names)
    }

    /// Waits until so many pods of an app run on a Node and none of them is to end.
    /// The error shows where its pods are.
    pub async fn pods_run_on(&self, node: &str, app: &str, count: usize) -> Result<()> {
        let params = ListParams::default().labels(&format!("app={app}"));
        let what = format!("{count} pods of {app} run on {node}");
        let waited = eventually(&what, async || {
            let pods = self.pods().list(&params).await?.items;
            let there = pods.iter().filter(|pod| node_of(pod) == Some(node) && runs(pod)).count();
            Ok((there == count).then_some(()))
        });
        match waited.await {
            Ok(()) => Ok(()),
            Err(error) => {
                let pods = self.pods().list(&params).await?.items;
                let lines = pods
                    .iter()
                    .map(|pod| format!("{:?} on {:?}: {:?}", pod.metadata.name, node_of(pod), pod.status));
                Err(error.context(lines.collect::<Vec<_>>().join("\n")))
            }
        }
    }

    /// Volumes by Node, from VolumeAttachments that say that they are attached.
    pub async fn attached(&self) -> Result<BTreeMap<String, Vec<String>>> {
        let mut by_node: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for one in self.attachments().list(&ListParams::default()).await?.items {
            if one.status.is_some_and(|status| status.attached) {
                let volume = one.spec.source.persistent_volume_name.unwrap_or_default();
                by_node.entry(one.spec.node_name).or_default().push(volume);
            }
        }
        by_node.values_mut().for_each(|volumes| volumes.sort());
        Ok(by_node)
    }

    /// Waits until an own condition of this type says this much on a Machine.
    /// The error shows the Machine's conditions.
    pub async fn machine_condition(&self, name: &str, kind: &str, part: &str) -> Result<Condition> {
        let what = format!("condition {kind} of Machine {name} says {part:?}");
        let ask = async || {
            let machine = self.machines().get(name).await?;
            let own = machine.status.and_then(|status| status.machinist).unwrap_or_default();
            anyhow::Ok(own.conditions)
        };
        let waited = eventually(&what, async || {
            let mut conditions = ask().await?.into_iter();
            Ok(conditions.find(|one| one.type_ == kind && one.message.contains(part)))
        });
        or_show(waited, async || format!("its conditions are {:#?}", ask().await)).await
    }
}

fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

fn runs(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Running") && pod.metadata.deletion_timestamp.is_none()
}

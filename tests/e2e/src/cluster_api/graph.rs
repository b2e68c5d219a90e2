//! All objects of a workload cluster, and what holds them together: owner references, finalizers, versions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Result, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::workload::Workload;
use crate::wait::within;

/// Where `clusterctl describe` and `clusterctl move` look, and the Secrets of all of them.
const KINDS: [(&str, &str, &str); 12] = [
    (OURS, "v1alpha1", "MachinistMachine"),
    (OURS, "v1alpha1", "MachinistMachineTemplate"),
    (OURS, "v1alpha1", "MachinistCluster"),
    (OURS, "v1alpha1", "MachinistClusterTemplate"),
    ("cluster.x-k8s.io", "v1beta2", "Cluster"),
    ("cluster.x-k8s.io", "v1beta2", "ClusterClass"),
    ("cluster.x-k8s.io", "v1beta2", "MachineDeployment"),
    ("cluster.x-k8s.io", "v1beta2", "MachineSet"),
    ("cluster.x-k8s.io", "v1beta2", "Machine"),
    ("bootstrap.cluster.x-k8s.io", "v1beta2", "KubeadmConfigTemplate"),
    ("bootstrap.cluster.x-k8s.io", "v1beta2", "KubeadmConfig"),
    ("", "v1", "Secret"),
];
const OURS: &str = "infrastructure.machinist.dev";

/// How long nothing may change before a cluster counts as still.
const STILL: Duration = Duration::from_secs(15);
/// The last retry after a rollout comes within minutes.
const UNTIL_STILL: Duration = Duration::from_secs(300);

/// The metadata of the objects of a workload cluster at one moment, by kind and name.
#[derive(Clone, Debug)]
pub struct Graph(BTreeMap<String, ObjectMeta>);

impl Graph {
    /// Reads all objects of the workload cluster.
    pub async fn read(workload: &Workload) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (group, version, kind) in KINDS {
            for object in workload.all(group, version, kind).list(&ListParams::default()).await? {
                all.insert(format!("{kind} {}", object.name_any()), object.metadata);
            }
        }
        Ok(Self(all))
    }

    /// Those whose key the predicate takes: kind and name.
    #[must_use]
    pub fn only(mut self, is_meant: impl Fn(&str) -> bool) -> Self {
        self.0.retain(|key, _| is_meant(key));
        self
    }

    /// Those of the provider's own kinds.
    #[must_use]
    pub fn ours(self) -> Self {
        self.only(|key| key.starts_with("Machinist"))
    }

    /// The owners of each object.
    pub fn owners(&self) -> BTreeMap<String, BTreeSet<String>> {
        let text = |owner: &OwnerReference| {
            let OwnerReference { api_version, kind, name, uid, controller, .. } = owner;
            format!("{api_version} {kind} {name} {uid} controller={}", controller.unwrap_or_default())
        };
        let owners = |meta: &ObjectMeta| meta.owner_references.iter().flatten().map(text).collect();
        self.0.iter().map(|(key, meta)| (key.clone(), owners(meta))).collect()
    }

    /// The finalizers of each object.
    pub fn finalizers(&self) -> BTreeMap<String, BTreeSet<String>> {
        let finalizers = |meta: &ObjectMeta| meta.finalizers.iter().flatten().cloned().collect();
        self.0.iter().map(|(key, meta)| (key.clone(), finalizers(meta))).collect()
    }

    /// The version of each object.
    pub fn versions(&self) -> BTreeMap<String, String> {
        let version = |meta: &ObjectMeta| meta.resource_version.clone().unwrap_or_default();
        self.0.iter().map(|(key, meta)| (key.clone(), version(meta))).collect()
    }

    /// Removes the owner references of these objects.
    pub async fn strip_owners(&self, workload: &Workload) -> Result<()> {
        self.patch(workload, |_| json!({ "ownerReferences": null })).await
    }

    /// Lets the owner references of these objects name another version of Cluster API's group.
    pub async fn set_owner_version(&self, workload: &Workload, version: &str) -> Result<()> {
        self.patch(workload, |meta| {
            let mut owners = meta.owner_references.clone().unwrap_or_default();
            for owner in &mut owners {
                if let Some((group, _)) = owner.api_version.clone().split_once('/') {
                    owner.api_version = format!("{group}/{version}");
                }
            }
            json!({ "ownerReferences": owners })
        })
        .await
    }

    /// Removes the finalizers of these objects.
    pub async fn strip_finalizers(&self, workload: &Workload) -> Result<()> {
        self.patch(workload, |_| json!({ "finalizers": null })).await
    }

    async fn patch(&self, workload: &Workload, metadata: impl Fn(&ObjectMeta) -> Value) -> Result<()> {
        for (key, meta) in &self.0 {
            let kind = KINDS.iter().find(|(_, _, kind)| key.split(' ').next() == Some(kind));
            let Some((group, version, kind)) = kind else { continue };
            let objects: Api<DynamicObject> = workload.all(group, version, kind);
            let patch = Patch::Merge(json!({ "metadata": metadata(meta) }));
            let name = meta.name.as_deref().unwrap_or_default();
            objects.patch(name, &PatchParams::default(), &patch).await?;
        }
        Ok(())
    }
}

/// Waits until nothing is written any more, and then watches for `rest` that nothing is written: a version that
/// changes at rest is a write that repeats for ever.
pub async fn rests(workload: &Workload, rest: Duration) -> Result<()> {
    let mut last = (Graph::read(workload).await?.versions(), Instant::now());
    within(UNTIL_STILL, "nothing is written any more", async || {
        let now = Graph::read(workload).await?.versions();
        if now != last.0 {
            last = (now, Instant::now());
        }
        Ok((last.1.elapsed() > STILL).then_some(()))
    })
    .await?;
    let (at_rest, since) = last;
    while since.elapsed() < rest {
        let now = Graph::read(workload).await?.versions();
        let differences: Vec<_> =
            now.iter().filter(|(key, version)| at_rest.get(*key) != Some(version)).collect();
        ensure!(now == at_rest, "written at rest, after {:?}: {differences:?}", since.elapsed());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok(())
}

//! The pods of a Node as they are. A drain reads a fraction of their fields, so that a thousand lists at a time stay
//! small.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kube::api::ListParams;
use kube::core::Request;
use kube::{Client, Resource};
use machinist_core::drain::{
    BudgetFact, PodFact, PodListing, PodOwner, PodPhase, PodRef, PodTermination, PvcFact, ReadConsistency,
};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::{NodeName, ObjectKey, Uid};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::caches::DrainCaches;
use super::volumes::Volumes;
use super::{VolumeDriver, budgets};
use crate::client::errors::within_deadline;

/// Pods a page. A Node has some dozens, a few have hundreds.
const PODS_PER_PAGE: u32 = 250;

/// Pages that are read of one Node: no Node runs so many pods, so that more is a server that repeats itself.
const MAX_PAGES: usize = 100;

pub(super) async fn list_pods(
    caches: &DrainCaches,
    client: &Client,
    driver: &VolumeDriver<'_>,
    (node, read): (&NodeName, ReadConsistency),
    now: Timestamp,
) -> Result<PodListing, ActError> {
    let raw = list(client, node, read).await?;
    let mut volumes = match read {
        ReadConsistency::Cached | ReadConsistency::Latest => {
            Volumes::new(caches, client, driver).resolve(node, &raw).await?
        }
        ReadConsistency::WithoutVolumes => BTreeMap::new(),
    };
    let pods: Vec<PodFact> = raw
        .into_iter()
        .map(|pod| {
            let claims = volumes.remove(pod.metadata.uid.as_str()).unwrap_or_default();
            let budgets = budgets::of(caches, &pod.metadata, now);
            pod.fact(claims, budgets)
        })
        .collect();
    caches.blocked.record(node, &pods);
    Ok(PodListing { read, pods })
}

async fn list(client: &Client, node: &NodeName, read: ReadConsistency) -> Result<Vec<RawPod>, ActError> {
    let pages = Request::new(Pod::url_path(&(), None));
    let mut params = ListParams::default().fields(&format!("spec.nodeName={node}")).limit(PODS_PER_PAGE);
    if read != ReadConsistency::Latest {
        params = params.match_any();
    }
    let mut pods = Vec::new();
    for _ in 0..MAX_PAGES {
        let request =
            pages.list(&params).map_err(|error| ActError::Invalid { message: error.to_string() })?;
        let page: RawPods = within_deadline(client.request(request)).await?;
        pods.extend(page.items);
        let Some(token) = page.metadata.token.filter(|token| !token.is_empty()) else { return Ok(pods) };
        // A page that continues another is of that one's version.
        params.version_match = None;
        params.resource_version = None;
        params.continue_token = Some(token);
    }
    Err(ActError::Invalid { message: format!("the list of pods does not end after {MAX_PAGES} pages") })
}

/// Kubernetes' default for a pod.
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// One page of pods.
#[derive(Debug, Deserialize)]
pub(super) struct RawPods {
    #[serde(default)]
    pub(super) metadata: RawListMeta,
    #[serde(default)]
    pub(super) items: Vec<RawPod>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct RawListMeta {
    #[serde(rename = "continue")]
    pub(super) token: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RawPod {
    pub(super) metadata: RawMeta,
    #[serde(default)]
    pub(super) spec: RawSpec,
    #[serde(default)]
    status: RawStatus,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawMeta {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) uid: String,
    #[serde(default)]
    pub(super) labels: Option<BTreeMap<String, String>>,
    annotations: Option<RawAnnotations>,
    owner_references: Option<Vec<OwnerReference>>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct RawAnnotations {
    #[serde(rename = "kubernetes.io/config.mirror")]
    mirror: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawSpec {
    termination_grace_period_seconds: Option<i64>,
    priority: Option<i32>,
    volumes: Option<Vec<RawVolume>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawVolume {
    name: String,
    persistent_volume_claim: Option<RawClaimSource>,
    ephemeral: Option<IgnoredAny>,
    empty_dir: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawClaimSource {
    claim_name: String,
}

#[derive(Debug, Default, Deserialize)]
struct RawStatus {
    phase: Option<String>,
    conditions: Option<Vec<RawCondition>>,
}

#[derive(Debug, Deserialize)]
struct RawCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
}

impl RawPod {
    /// Returns the names of its PersistentVolumeClaims: named ones, and those of ephemeral volumes.
    pub(super) fn claims(&self) -> Vec<String> {
        let volumes = self.spec.volumes.iter().flatten();
        volumes
            .filter_map(|volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
                (Some(source), _) => Some(source.claim_name.clone()),
                (None, Some(_)) => Some(format!("{}-{}", self.metadata.name, volume.name)),
                (None, None) => None,
            })
            .collect()
    }

    /// The pod as decisions see it.
    pub(super) fn fact(self, claims: Vec<PvcFact>, budgets: Vec<BudgetFact>) -> PodFact {
        let meta = &self.metadata;
        let seconds = |seconds: i64| SignedDuration::from_secs(seconds.max(0));
        let grace = seconds(self.spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE_SECONDS));
        PodFact {
            pod: PodRef { key: ObjectKey::new(&meta.namespace, &meta.name), uid: Uid::new(&meta.uid) },
            owner: meta.owner(),
            phase: match self.status.phase.as_deref() {
                Some("Pending") => PodPhase::Pending,
                Some("Succeeded" | "Failed") => PodPhase::Finished,
                Some(_) | None => PodPhase::Running,
            },
            is_ready: self
                .status
                .conditions
                .iter()
                .flatten()
                .any(|condition| condition.kind == "Ready" && condition.status == "True"),
            ending: meta.deletion_timestamp.as_ref().map(|deadline| PodTermination {
                deadline: deadline.0,
                grace: meta.deletion_grace_period_seconds.map_or(grace, seconds),
            }),
            grace,
            priority: self.spec.priority.unwrap_or(0),
            has_local_storage: self.spec.volumes.iter().flatten().any(|volume| volume.empty_dir.is_some()),
            claims,
            budgets,
        }
    }
}

impl RawMeta {
    fn owner(&self) -> PodOwner {
        if self.annotations.as_ref().is_some_and(|annotations| annotations.mirror.is_some()) {
            return PodOwner::Mirror;
        }
        let controller = self.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        match controller {
            Some(owner) if owner.kind == "DaemonSet" => PodOwner::DaemonSet,
            Some(_) => PodOwner::Controller,
            None => PodOwner::Nobody,
        }
    }
}

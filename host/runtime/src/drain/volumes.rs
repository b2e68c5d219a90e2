//! From a pod's PersistentVolumeClaims to volumes, and to the cloud's ids of these.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::{Api, Client};
use machinist_core::drain::{PvcFact, VolumeName};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::{Name, NodeName};
use tracing::debug;

use crate::client::errors::within_deadline;

use super::VolumeDriver;
use super::caches::DrainCaches;
use super::list_pods::RawPod;

/// PersistentVolumeClaims read at the same time for one Node.
const CONCURRENT_LOOKUPS: usize = 8;

/// Nodes whose volumes are remembered: more than are drained at a time. Those of aborted drains are forgotten first.
const NODES_REMEMBERED: usize = 4_000;

/// A pod, by uid, and a PersistentVolumeClaim of it: its volume stays the same for the life of the pod.
type PodClaim = (String, String);

/// Known volumes of Nodes that are drained.
#[derive(Default)]
pub(super) struct VolumeCache {
    nodes: Mutex<BTreeMap<NodeName, BTreeMap<PodClaim, PvcFact>>>,
}

impl VolumeCache {
    fn of(&self, node: &NodeName) -> BTreeMap<PodClaim, PvcFact> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner).get(node).cloned().unwrap_or_default()
    }

    /// Only pods that are still there are worth remembering.
    fn keep(&self, node: &NodeName, known: BTreeMap<PodClaim, PvcFact>) {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        if known.is_empty() {
            nodes.remove(node);
            return;
        }
        if nodes.len() >= NODES_REMEMBERED && !nodes.contains_key(node) {
            nodes.pop_first();
        }
        nodes.insert(node.clone(), known);
    }
}

/// Finds the volumes for one list of pods.
pub(super) struct Volumes<'a> {
    caches: &'a DrainCaches,
    client: &'a Client,
    driver: &'a VolumeDriver<'a>,
}

/// A PersistentVolumeClaim and its volume.
struct BoundClaim {
    claim: PodClaim,
    volume: Option<VolumeName>,
    source: Option<PersistentVolume>,
}

impl<'a> Volumes<'a> {
    pub(super) fn new(caches: &'a DrainCaches, client: &'a Client, driver: &'a VolumeDriver<'a>) -> Self {
        Self { caches, client, driver }
    }

    /// The claims of each pod, by the pod's uid.
    ///
    /// Fails if the API server does not answer for a claim: a volume that is not known to be in use would count as
    /// unused.
    pub(super) async fn resolve(
        &self,
        node: &NodeName,
        pods: &[RawPod],
    ) -> Result<BTreeMap<String, Vec<PvcFact>>, ActError> {
        let mut known = self.caches.volumes.of(node);
        let uses: BTreeMap<PodClaim, &str> = pods
            .iter()
            .flat_map(|pod| {
                let of_pod = |claim| ((pod.metadata.uid.clone(), claim), pod.metadata.namespace.as_str());
                pod.claims().into_iter().map(of_pod)
            })
            .collect();
        known.retain(|claim, _| uses.contains_key(claim));
        let unknown: Vec<(PodClaim, String)> = uses
            .iter()
            .filter(|(claim, _)| !known.contains_key(*claim))
            .map(|(claim, namespace)| (claim.clone(), (*namespace).to_owned()))
            .collect();
        let found: Vec<BoundClaim> = stream::iter(unknown)
            .map(|(claim, namespace)| self.find(claim, namespace))
            .buffered(CONCURRENT_LOOKUPS)
            .try_collect()
            .await?;
        let (named, is_complete) = self.name(found).await;
        let mut all = known.clone();
        for (claim, fact) in named {
            let is_final = fact.volume.is_some() && (is_complete || !fact.ids.is_empty());
            if is_final {
                known.insert(claim.clone(), fact.clone());
            }
            all.insert(claim, fact);
        }
        self.caches.volumes.keep(node, known);
        let mut of_pods: BTreeMap<String, Vec<PvcFact>> = BTreeMap::new();
        for ((uid, _), fact) in all {
            of_pods.entry(uid).or_default().push(fact);
        }
        Ok(of_pods)
    }

    /// Finds the volume of a claim. A missing or unbound claim has no volume yet.
    async fn find(&self, claim: PodClaim, namespace: String) -> Result<BoundClaim, ActError> {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &namespace);
        let object = within_deadline(claims.get_opt(&claim.1)).await?;
        let bound = object.and_then(|object| object.spec?.volume_name).filter(|name| !name.is_empty());
        let Some(name) = bound else { return Ok(BoundClaim { claim, volume: None, source: None }) };
        let volumes: Api<PersistentVolume> = Api::all(self.client.clone());
        let source = within_deadline(volumes.get_opt(&name)).await?;
        Ok(BoundClaim { claim, volume: Some(VolumeName::new(name)), source })
    }

    /// Gets the cloud's ids of the volumes from the driver. Returns true if it has answered: a volume without an id is
    /// then not its own.
    ///
    /// A driver that cannot be asked is no reason not to drain: the handle that a volume's spec tells is known anyway.
    async fn name(&self, found: Vec<BoundClaim>) -> (Vec<(PodClaim, PvcFact)>, bool) {
        let specs: Vec<String> = found
            .iter()
            .filter_map(|found| serde_json::to_string(found.source.as_ref()?.spec.as_ref()?).ok())
            .collect();
        let (ids, is_complete) = self.ask(specs).await;
        let mut ids = ids.into_iter();
        let named = found
            .into_iter()
            .map(|found| {
                let spec = found.source.and_then(|volume| volume.spec);
                let mut names = BTreeSet::new();
                if let Some(spec) = &spec {
                    names.extend(ids.next().flatten());
                    names.extend(spec.csi.as_ref().map(|csi| csi.volume_handle.clone()));
                }
                names.retain(|name| !name.is_empty());
                let claim = Name::new(&found.claim.1);
                (found.claim, PvcFact { claim, volume: found.volume, ids: names })
            })
            .collect();
        (named, is_complete)
    }

    async fn ask(&self, specs: Vec<String>) -> (Vec<Option<String>>, bool) {
        let (provider, pin) = (self.driver.provider, self.driver.pin);
        let can_tell = match self.driver.drivers.facts(provider, pin) {
            Ok(facts) => facts.capabilities.volume_ids,
            Err(_) => return (Vec::new(), false),
        };
        if !can_tell || specs.is_empty() {
            return (Vec::new(), true);
        }
        match self.driver.drivers.get_volume_ids(provider.clone(), pin, specs).await {
            Ok(ids) => (ids, true),
            Err(error) => {
                debug!(provider = %provider, error = %error, "the driver does not name volumes");
                (Vec::new(), false)
            }
        }
    }
}

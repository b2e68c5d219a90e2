//! `clusterctl move`: pause, copy, mark the originals and delete them, unpause the copies.

use std::time::Duration;

use machinist_api::infrastructure::names::annotations;
use memory_api::ApiServer;
use serde_json::{Value, json};

use super::ClusterApi;
use super::objects::{
    CLUSTERS, INFRA_MACHINES, KINDS, MACHINES, NAMESPACES, all_of, is_deleting, is_provisioned, name_of,
    owner_kind,
};
use super::workload::{WorkloadCluster, WorkloadState};
use crate::names::Site;
use crate::rng::Rng;

/// Between two requests, and mostly much less.
const PAUSE: Duration = Duration::from_secs(4);

/// Between two parts: somebody may have to look at it first.
const LONG_PAUSE: Duration = Duration::from_mins(4);

/// The names of a workload cluster that moves.
#[derive(Clone)]
struct Moved {
    name: String,
    namespace: String,
    from: Site,
}

impl ClusterApi {
    /// Moves a workload cluster to the other management cluster, unless `clusterctl` refuses.
    pub(super) async fn move_cluster(self, number: usize, mut rng: Rng) {
        let Some(moved) = self.begin_move(number) else { return };
        let (from, to) = (self.api(moved.from).clone(), self.api(moved.from.other()).clone());
        self.note("clusterctl moves Cluster", &moved.name);
        pause(&moved, &from, true);
        rest(&mut rng).await;
        let uids = self.copy(number, &moved, &to, &mut rng).await;
        rest(&mut rng).await;
        delete_originals(&moved, &from, &mut rng).await;
        debug_assert!(!uids.is_empty(), "a Cluster is among them");
        if let Some(workload) = self.lock().get_mut(number) {
            workload.site = moved.from.other();
            workload.state = WorkloadState::Applied;
        }
        rest(&mut rng).await;
        pause(&moved, &to, false);
        self.note("clusterctl has moved Cluster", &moved.name);
    }

    /// Refuses unless everything is provisioned, and nothing is on its way out.
    fn begin_move(&self, number: usize) -> Option<Moved> {
        let mut workloads = self.lock();
        let workload = workloads.get_mut(number)?;
        let api = self.api(workload.site);
        let may_move = workload.state == WorkloadState::Applied && is_movable(workload, api);
        may_move.then(|| {
            workload.state = WorkloadState::Moves;
            Moved { name: workload.name.clone(), namespace: workload.namespace.clone(), from: workload.site }
        })
    }

    /// Makes all objects in the target: with new uids, without a status, their owners' references corrected.
    async fn copy(&self, number: usize, moved: &Moved, to: &ApiServer, rng: &mut Rng) -> Vec<(Value, Value)> {
        let from = self.api(moved.from).clone();
        let _ = to.create(NAMESPACES, &json!({ "metadata": { "name": moved.namespace } }));
        if let Some(workload) = self.lock().get(number) {
            workload.apply_identity(to);
        }
        let mut uids: Vec<(Value, Value)> = Vec::new();
        for plural in KINDS {
            for original in all_of(&from, plural, &moved.namespace) {
                if let Ok(copy) = to.create(plural, &copy_of(&original, &uids)) {
                    uids.push((original["metadata"]["uid"].clone(), copy["metadata"]["uid"].clone()));
                }
                step(rng).await;
            }
        }
        uids
    }
}

fn is_movable(workload: &WorkloadCluster, api: &ApiServer) -> bool {
    let path = workload.path(&workload.name);
    let Some(cluster) = api.find(CLUSTERS, &path) else { return false };
    let (machines, infras) =
        (all_of(api, MACHINES, &workload.namespace), all_of(api, INFRA_MACHINES, &workload.namespace));
    let is_up = |infra: &Value| {
        is_provisioned(infra) && owner_kind(infra) == "Machine" && !name_of(infra).ends_with("-copy")
    };
    cluster["spec"]["paused"] != true
        && cluster["status"]["initialization"]["infrastructureProvisioned"] == true
        && !is_deleting(&cluster)
        && workload.pending.is_empty()
        && machines.iter().all(|machine| !is_deleting(machine) && machine["spec"]["providerID"].is_string())
        && infras.iter().all(|infra| !is_deleting(infra) && is_up(infra))
        && machines.len() == infras.len()
}

fn copy_of(original: &Value, uids: &[(Value, Value)]) -> Value {
    let mut copy = original.clone();
    if let Some(metadata) = copy["metadata"].as_object_mut() {
        for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"] {
            metadata.remove(field);
        }
        metadata.remove("deletionGracePeriodSeconds");
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some((_, new)) = uids.iter().find(|(old, _)| *old == owner["uid"]) {
                owner["uid"] = new.clone();
            }
        }
    }
    if let Some(copy) = copy.as_object_mut() {
        copy.remove("status");
    }
    copy
}

/// Dependents first. A finalizer of ours holds an original until `clusterctl` takes it off.
async fn delete_originals(moved: &Moved, from: &ApiServer, rng: &mut Rng) {
    for plural in KINDS.iter().rev() {
        for original in all_of(from, plural, &moved.namespace) {
            let path = format!("{}/{}", moved.namespace, name_of(&original));
            let marked = json!({ "metadata": { "annotations": { annotations::DELETE_FOR_MOVE: "" } } });
            let _ = from.edit(plural, &path, &marked);
            step(rng).await;
            let _ = from.delete(plural, &path);
            step(rng).await;
            let _ = from.edit(plural, &path, &json!({ "metadata": { "finalizers": null } }));
        }
    }
}

fn pause(moved: &Moved, api: &ApiServer, is_paused: bool) {
    let spec = json!({ "spec": { "paused": is_paused.then_some(true) } });
    let _ = api.edit(CLUSTERS, &format!("{}/{}", moved.namespace, moved.name), &spec);
}

async fn step(rng: &mut Rng) {
    let longest = if rng.happens(0.2) { PAUSE } else { Duration::from_millis(50) };
    tokio::time::sleep(rng.between(Duration::from_millis(1), longest)).await;
}

async fn rest(rng: &mut Rng) {
    let longest = if rng.happens(0.2) { LONG_PAUSE } else { PAUSE };
    tokio::time::sleep(rng.between(Duration::from_millis(10), longest)).await;
}

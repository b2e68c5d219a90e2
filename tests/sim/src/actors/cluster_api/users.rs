//! Users and platform teams: they delete, pause, scale, roll, move, and take credentials away.

use std::time::Duration;

use machinist_api::infrastructure::names::annotations;
use memory_api::ApiServer;
use serde_json::{Value, json};

use super::super::Actors;
use super::ClusterApi;
use super::objects::{CLUSTERS, INFRA_MACHINES, MACHINES, all_of, is_deleting, key_of, name_of};
use super::workload::{Identity, WorkloadCluster, WorkloadState};
use crate::names::id_of;
use crate::plan::{INFRA_ACTIONS, InfraAction};
use crate::rng::Rng;

/// A pause, and other things that somebody ends again, last so long.
const LASTS: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(12));

/// Where a workload cluster moves meanwhile, the end waits so long again.
const LATER: Duration = Duration::from_secs(20);

/// Something that is ended after a while.
#[derive(Clone, Debug)]
enum Undo {
    PauseCluster,
    PauseMachine(String),
    Identity,
    Copy(String),
}

impl Actors {
    /// Acts on workload clusters until it is dropped. Without any, it does nothing.
    pub(in super::super) async fn infra_users(&self) {
        let Some(cluster_api) = &self.cluster_api else { return };
        let mut rng = Rng::new(self.plan.seed, "infra users");
        loop {
            tokio::time::sleep(rng.pause(cluster_api.plan.actions)).await;
            let favourite = cluster_api.plan.favourite.filter(|_| rng.happens(0.5));
            let number = rng.below(cluster_api.plan.clusters);
            if let Some(action) = favourite.or_else(|| rng.weighed(&INFRA_ACTIONS)) {
                cluster_api.act(number, action, &mut rng);
            }
        }
    }
}

impl ClusterApi {
    fn act(&self, number: usize, action: InfraAction, rng: &mut Rng) {
        if action == InfraAction::Move {
            let rng = Rng::new(self.seed, &format!("move {}", rng.below(1_000_000)));
            tokio::spawn(self.clone().move_cluster(number, rng));
            return;
        }
        let undo = {
            let mut workloads = self.lock();
            let Some(workload) =
                workloads.get_mut(number).filter(|workload| workload.state == WorkloadState::Applied)
            else {
                return;
            };
            let api = self.api(workload.site).clone();
            self.act_on(workload, &api, action, rng)
        };
        if let Some(undo) = undo {
            let (this, after) = (self.clone(), rng.between(LASTS.0, LASTS.1));
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                while !this.undo(number, &undo) {
                    tokio::time::sleep(LATER).await;
                }
            });
        }
    }

    fn act_on(
        &self,
        workload: &mut WorkloadCluster,
        api: &ApiServer,
        action: InfraAction,
        rng: &mut Rng,
    ) -> Option<Undo> {
        let infras = all_of(api, INFRA_MACHINES, &workload.namespace);
        let infra = rng.pick(&infras).cloned();
        let name = infra.as_ref().map(name_of).unwrap_or_default().to_owned();
        match action {
            InfraAction::DeleteMachine => {
                self.note("user deletes Machine", &name);
                let _ = api.delete(MACHINES, &workload.path(&name));
            }
            InfraAction::DeleteInfraMachine => {
                self.note("user deletes MachinistMachine", &name);
                let _ = api.delete(INFRA_MACHINES, &workload.path(&name));
            }
            InfraAction::PauseCluster => {
                self.note("user pauses Cluster", &workload.name);
                pause(workload, api, true);
                return Some(Undo::PauseCluster);
            }
            InfraAction::PauseMachine => {
                self.note("user pauses MachinistMachine", &name);
                let paused = json!({ "metadata": { "annotations": { annotations::PAUSED: "" } } });
                let _ = api.edit(INFRA_MACHINES, &workload.path(&name), &paused);
                return Some(Undo::PauseMachine(name));
            }
            InfraAction::Scale => {
                workload.wanted = rng.below(4);
                self.note("user scales", &format!("{} to {}", workload.name, workload.wanted));
            }
            InfraAction::Roll => {
                workload.template += 1;
                self.note("user rolls to", &workload.template_name());
            }
            InfraAction::KillVm => {
                let id = infra.as_ref().and_then(|infra| infra["spec"]["providerID"].as_str());
                let id = id_of(id.unwrap_or_default());
                self.note("dies by itself:", id);
                self.cloud.kill(id);
            }
            InfraAction::Relabel => workload.pool += 1,
            InfraAction::BreakIdentity => {
                self.note("user takes the credentials from", &workload.name);
                workload.break_identity(api);
                return Some(Undo::Identity);
            }
            InfraAction::CopyMachine => return self.copy_machine(api, &infra?),
            InfraAction::DeleteCluster => {
                self.note("user deletes Cluster", &workload.name);
                // Core goes on only when somebody unpauses it.
                let is_paused = rng.happens(0.3);
                if is_paused {
                    pause(workload, api, true);
                }
                let _ = api.delete(CLUSTERS, &workload.path(&workload.name));
                workload.state = WorkloadState::Goes;
                return is_paused.then_some(Undo::PauseCluster);
            }
            // A namespace takes its Secrets along before the VMs that need them, and nobody can make them again in it.
            InfraAction::DeleteNamespace if workload.identity != Identity::Secret => {
                self.note("user deletes the namespace of", &workload.name);
                workload.state = WorkloadState::GoesWithNamespace;
            }
            InfraAction::DeleteNamespace | InfraAction::Move => {}
        }
        None
    }

    /// Applies the manifest of a MachinistMachine under another name, as after a restore.
    fn copy_machine(&self, api: &ApiServer, infra: &Value) -> Option<Undo> {
        if is_deleting(infra) || name_of(infra).ends_with("-copy") {
            return None;
        }
        let mut copy = infra.clone();
        let name = format!("{}-copy", name_of(infra));
        let metadata = copy["metadata"].as_object_mut()?;
        metadata.retain(|field, _| !matches!(field.as_str(), "uid" | "resourceVersion" | "generation"));
        metadata.insert("name".to_owned(), json!(name));
        copy.as_object_mut()?.remove("status");
        self.note("user applies once more as", &name);
        api.create(INFRA_MACHINES, &copy).ok()?;
        Some(Undo::Copy(name))
    }

    /// False while its workload cluster moves.
    fn undo(&self, number: usize, undo: &Undo) -> bool {
        let workloads = self.lock();
        let Some(workload) = workloads.get(number) else { return true };
        if workload.state == WorkloadState::Moves {
            return false;
        }
        let api = self.api(workload.site);
        match undo {
            Undo::PauseCluster => {
                self.note("user unpauses Cluster", &workload.name);
                pause(workload, api, false);
            }
            Undo::PauseMachine(name) => {
                self.note("user unpauses MachinistMachine", name);
                unpause_machine(workload, api, name);
            }
            Undo::Identity => workload.apply_identity(api),
            Undo::Copy(name) => remove_copy(workload, api, name),
        }
        true
    }

    /// Ends everything that users have begun.
    pub(crate) fn calm(&self) {
        for workload in self.lock().iter() {
            if workload.state == WorkloadState::Moves {
                continue;
            }
            let api = self.api(workload.site);
            pause(workload, api, false);
            if workload.state != WorkloadState::Unmade {
                workload.apply_identity(api);
            }
            for infra in all_of(api, INFRA_MACHINES, &workload.namespace) {
                unpause_machine(workload, api, name_of(&infra));
            }
        }
    }
}

fn pause(workload: &WorkloadCluster, api: &ApiServer, is_paused: bool) {
    let spec = json!({ "spec": { "paused": is_paused.then_some(true) } });
    let _ = api.edit(CLUSTERS, &workload.path(&workload.name), &spec);
}

fn unpause_machine(workload: &WorkloadCluster, api: &ApiServer, name: &str) {
    let unpaused = json!({ "metadata": { "annotations": { annotations::PAUSED: null } } });
    let _ = api.edit(INFRA_MACHINES, &workload.path(name), &unpaused);
}

/// As the message of contested objects says: the finalizer first, so that no VM goes with it. A copy that was applied
/// before the original had a key has a VM of its own.
fn remove_copy(workload: &WorkloadCluster, api: &ApiServer, name: &str) {
    let infras = all_of(api, INFRA_MACHINES, &workload.namespace);
    let Some(copy) = infras.iter().find(|infra| name_of(infra) == name) else { return };
    let is_contested = infras.iter().any(|other| name_of(other) != name && key_of(other) == key_of(copy));
    if is_contested {
        let _ =
            api.edit(INFRA_MACHINES, &workload.path(name), &json!({ "metadata": { "finalizers": null } }));
    }
    let _ = api.delete(INFRA_MACHINES, &workload.path(name));
}

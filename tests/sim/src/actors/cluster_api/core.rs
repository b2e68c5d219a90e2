//! Core, one reconcile of a workload cluster at a time: its Cluster, MachineSet and Machine controllers, its health
//! check; and the namespace controller and the garbage collector beside it.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::infrastructure::names::labels;
use memory_api::ApiServer;
use serde_json::{Value, json};

use super::ClusterApi;
use super::objects::{
    CLUSTERS, INFRA_CLUSTERS, INFRA_MACHINES, KINDS, MACHINES, NAMESPACES, SECRETS, all_of, bootstrap_name,
    is_deleting, is_provisioned, name_of, owned_by, owner_kind, ready,
};
use super::workload::{WorkloadCluster, WorkloadState};

/// A Machine whose infrastructure is not ready for so long is replaced, once it was provisioned.
const UNHEALTHY_FOR: SignedDuration = SignedDuration::from_mins(5);

/// A Machine that gets no VM for so long is replaced.
const STARTS_WITHIN: SignedDuration = SignedDuration::from_mins(40);

/// A controller does its next step in this share of its rounds, so that each step has its own time.
const SHARE: f64 = 0.6;

impl ClusterApi {
    /// One reconcile of everything that concerns a workload cluster.
    pub(super) fn tick(&self, workload: &mut WorkloadCluster) {
        let (api, now) = (self.api(workload.site).clone(), self.clock.now());
        match workload.state {
            WorkloadState::Unmade => return self.apply_when_due(workload, &api, now),
            WorkloadState::GoesWithNamespace => delete_all(workload, &api),
            WorkloadState::Applied | WorkloadState::Moves | WorkloadState::Goes => {}
        }
        let Some(cluster) = api.find(CLUSTERS, &workload.path(&workload.name)) else {
            return self.collect(workload, &api, now);
        };
        // Core touches nothing of a paused Cluster.
        if cluster["spec"]["paused"] == true || workload.state == WorkloadState::Moves {
            return;
        }
        let machines = all_of(&api, MACHINES, &workload.namespace);
        cluster_controller(workload, &api, &cluster, &machines);
        if !is_deleting(&cluster) && !workload.is_going() {
            self.machine_set(workload, &api, &machines);
        }
        let has_infrastructure = cluster["status"]["initialization"]["infrastructureProvisioned"] == true;
        for machine in &machines {
            if is_deleting(machine) {
                delete_machine(workload, &api, machine, now);
            } else if workload.rng.happens(SHARE) {
                let infra = api.find(INFRA_MACHINES, &workload.path(name_of(machine)));
                machine_controller(workload, &api, machine, infra.as_ref(), has_infrastructure);
                self.health_check(workload, &api, machine, infra.as_ref(), now);
            }
        }
    }

    fn apply_when_due(&self, workload: &mut WorkloadCluster, api: &ApiServer, now: Timestamp) {
        if workload.again_at.is_none_or(|at| at <= now) {
            self.note("user applies Cluster", &workload.name);
            workload.apply(api);
            workload.state = WorkloadState::Applied;
        }
    }

    /// The Cluster is gone: the rest of its objects goes, and a user applies it again later.
    fn collect(&self, workload: &mut WorkloadCluster, api: &ApiServer, now: Timestamp) {
        if !workload.is_going() {
            return;
        }
        delete_all(workload, api);
        let is_empty = KINDS.iter().all(|plural| all_of(api, plural, &workload.namespace).is_empty());
        if is_empty {
            if workload.state == WorkloadState::GoesWithNamespace {
                let _ = api.delete(NAMESPACES, &workload.namespace);
            }
            self.note("Cluster is gone:", &workload.name);
            let after = workload.rng.between(Duration::from_secs(5), Duration::from_mins(5));
            workload.again_at = now.checked_add(after).ok();
            workload.state = WorkloadState::Unmade;
            workload.pending.clear();
        }
    }

    /// Makes a MachinistMachine and then its Machine, and lets the oldest ones go.
    fn machine_set(&self, workload: &mut WorkloadCluster, api: &ApiServer, machines: &[Value]) {
        let infras = all_of(api, INFRA_MACHINES, &workload.namespace);
        let living: Vec<&Value> = machines.iter().filter(|machine| !is_deleting(machine)).collect();
        for infra in &infras {
            let name = name_of(infra);
            let is_left = owner_kind(infra) == "MachineSet"
                && !workload.pending.iter().any(|pending| pending == name)
                && !machines.iter().any(|machine| name_of(machine) == name);
            // Its process has died between the two writes.
            if is_left && !is_deleting(infra) && workload.rng.happens(0.1) {
                let _ = api.delete(INFRA_MACHINES, &workload.path(name));
            }
        }
        if let Some(name) = workload.pending.first().cloned() {
            if workload.rng.happens(SHARE) {
                let _ = api.create(MACHINES, &workload.machine(&name));
                workload.pending.remove(0);
            }
            return;
        }
        let template = workload.template_name();
        let is_new = |machine: &&&Value| {
            let infra = infras.iter().find(|infra| name_of(infra) == name_of(machine));
            infra.is_none_or(|infra| {
                infra["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] == template.as_str()
            })
        };
        let is_up = |machine: &&&Value| {
            let infra = infras.iter().find(|infra| name_of(infra) == name_of(machine));
            infra.is_some_and(is_provisioned)
        };
        let new = living.iter().filter(is_new).count();
        let old = living.iter().find(|machine| !is_new(machine));
        let surge = usize::from(old.is_some());
        if new < workload.wanted && living.len() < workload.wanted + surge {
            workload.made += 1;
            let name = format!("{}-{}", workload.name, workload.made);
            let _ = api.create(INFRA_MACHINES, &workload.infra_machine(&name));
            if workload.rng.happens(0.9) {
                workload.pending.push(name);
            }
            return;
        }
        let up = living.iter().filter(is_new).filter(is_up).count();
        let goes = match old {
            Some(old) if living.len() > workload.wanted || up >= workload.wanted => Some(old),
            _ => living.first().filter(|_| living.len() > workload.wanted),
        };
        if let Some(goes) = goes {
            self.note("MachineSet deletes Machine", name_of(goes));
            let _ = api.delete(MACHINES, &workload.path(name_of(goes)));
        }
    }

    /// Replaces a Machine whose VM is lost, by status and time alone.
    fn health_check(
        &self,
        workload: &mut WorkloadCluster,
        api: &ApiServer,
        machine: &Value,
        infra: Option<&Value>,
        now: Timestamp,
    ) {
        let name = name_of(machine).to_owned();
        let is_late = |since: &Value, limit: SignedDuration| {
            let since: Option<Timestamp> = since.as_str().and_then(|since| since.parse().ok());
            since.is_some_and(|since| now.duration_since(since) > limit)
        };
        let is_sick = match infra {
            Some(infra) if is_provisioned(infra) => {
                let (status, since) = ready(infra);
                status == "False" && is_late(&json!(since), UNHEALTHY_FOR)
            }
            Some(_) => is_late(&machine["metadata"]["creationTimestamp"], STARTS_WITHIN),
            None => {
                let since = *workload.unhealthy.entry(name.clone()).or_insert(now);
                now.duration_since(since) > UNHEALTHY_FOR
            }
        };
        if infra.is_some() {
            workload.unhealthy.remove(&name);
        }
        if is_sick {
            self.note("health check deletes Machine", &name);
            let _ = api.delete(MACHINES, &workload.path(&name));
        }
    }
}

/// The namespace controller: it asks for the deletion of everything.
fn delete_all(workload: &WorkloadCluster, api: &ApiServer) {
    for plural in KINDS {
        for object in all_of(api, plural, &workload.namespace) {
            if !is_deleting(&object) {
                let _ = api.delete(plural, &workload.path(name_of(&object)));
            }
        }
    }
}

fn cluster_controller(workload: &mut WorkloadCluster, api: &ApiServer, cluster: &Value, machines: &[Value]) {
    let path = workload.path(&workload.name);
    let infra = api.find(INFRA_CLUSTERS, &path);
    if is_deleting(cluster) {
        for machine in machines.iter().filter(|machine| !is_deleting(machine)) {
            let _ = api.delete(MACHINES, &workload.path(name_of(machine)));
        }
        // MachinistMachines that have no Machine go with the MachineSet that owns them.
        for infra in all_of(api, INFRA_MACHINES, &workload.namespace) {
            let is_unowned = !machines.iter().any(|machine| name_of(machine) == name_of(&infra));
            if is_unowned && !is_deleting(&infra) {
                let _ = api.delete(INFRA_MACHINES, &workload.path(name_of(&infra)));
            }
        }
        let left = all_of(api, INFRA_MACHINES, &workload.namespace);
        match infra {
            _ if !machines.is_empty() || !left.is_empty() => {}
            Some(infra) if !is_deleting(&infra) => drop(api.delete(INFRA_CLUSTERS, &path)),
            Some(_) => {}
            None => drop(api.edit(CLUSTERS, &path, &json!({ "metadata": { "finalizers": null } }))),
        }
        return;
    }
    let Some(infra) = infra else { return };
    if owner_kind(&infra).is_empty() && workload.rng.happens(SHARE) {
        let meta = json!({ "ownerReferences": owned_by("Cluster", cluster) });
        let _ = api.edit(INFRA_CLUSTERS, &path, &json!({ "metadata": meta }));
    }
    let is_copied = cluster["status"]["initialization"]["infrastructureProvisioned"] == true;
    if is_provisioned(&infra) && !is_copied && workload.rng.happens(SHARE) {
        let status = json!({ "initialization": { "infrastructureProvisioned": true } });
        let _ = api.edit_status(CLUSTERS, &path, &json!({ "status": status }));
    }
}

fn machine_controller(
    workload: &mut WorkloadCluster,
    api: &ApiServer,
    machine: &Value,
    infra: Option<&Value>,
    has_infrastructure: bool,
) {
    let Some(infra) = infra else { return };
    let path = workload.path(name_of(machine));
    if owner_kind(infra) != "Machine" {
        let meta = json!({
            "ownerReferences": owned_by("Machine", machine), "labels": { labels::CLUSTER_NAME: workload.name },
        });
        let _ = api.edit(INFRA_MACHINES, &path, &json!({ "metadata": meta }));
        return;
    }
    let pool = json!(workload.pool.to_string());
    if infra["metadata"]["labels"]["pool"] != pool && !is_deleting(infra) {
        let _ = api.edit(INFRA_MACHINES, &path, &json!({ "metadata": { "labels": { "pool": pool } } }));
    }
    if has_infrastructure {
        workload.bootstrap(api, machine);
    }
    let id = &infra["spec"]["providerID"];
    if is_provisioned(infra) && id.is_string() {
        if machine["spec"]["providerID"] != *id {
            let _ = api.edit(MACHINES, &path, &json!({ "spec": { "providerID": id } }));
            let status = json!({ "initialization": { "infrastructureProvisioned": true } });
            let _ = api.edit_status(MACHINES, &path, &json!({ "status": status }));
        }
        workload.bootstrap_used(api, name_of(machine));
    }
}

/// Drains, deletes the MachinistMachine, waits until it is gone, and lets the rest go.
fn delete_machine(workload: &mut WorkloadCluster, api: &ApiServer, machine: &Value, now: Timestamp) {
    let name = name_of(machine).to_owned();
    let drain = workload.rng.between(Duration::ZERO, Duration::from_mins(1));
    let until =
        *workload.drained.entry(name.clone()).or_insert_with(|| now.checked_add(drain).unwrap_or(now));
    if now < until {
        return;
    }
    let path = workload.path(&name);
    match api.find(INFRA_MACHINES, &path) {
        Some(infra) if !is_deleting(&infra) => drop(api.delete(INFRA_MACHINES, &path)),
        Some(_) => {}
        None => {
            let _ = api.delete(SECRETS, &workload.path(&bootstrap_name(&name)));
            let _ = api.edit(MACHINES, &path, &json!({ "metadata": { "finalizers": null } }));
            workload.forget(&name);
        }
    }
}

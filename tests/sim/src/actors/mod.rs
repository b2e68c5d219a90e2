//! The adversaries of the hosts: users, operators and the weather, at random from the seed.
//!
//! | module | what it does |
//! | --- | --- |
//! | `owners` | the actions of users and of the autoscaler on sets and deployments |
//! | `wishes` | users who block deletions, preserve Machines, or write invalid ones |
//! | `names` | Nodes that were left behind, with the names of VMs that have not joined yet |
//! | `weather` | zones that are cut off, listings that lie, policies that come and go |
//! | `cluster_api` | Cluster API around the hosts: its core, bootstrap provider, users and moves |

mod cluster_api;
mod names;
mod owners;
mod weather;
mod wishes;

use std::time::Duration;

use machinist_core::driver::error::Code;
use memory_api::ApiServer;
use serde_json::{Value, json};

use crate::check::Watchman;
use crate::cloud::SimCloud;
use crate::cluster::Cluster;
use crate::cluster::fleet::Fleet;
use crate::cluster::hosts::Hosts;
use crate::cluster::policies::Policies;
use crate::faults::Faults;
use crate::names::{NAMESPACE, Site, ZONES, to_target};
use crate::plan::{ACTIONS, Action, Owners, Plan};
use crate::rng::Rng;
pub(crate) use cluster_api::ClusterApi;

/// Everything that can be disturbed.
#[derive(Clone)]
pub(crate) struct Actors {
    pub(crate) plan: Plan,
    pub(crate) api: ApiServer,
    pub(crate) cloud: SimCloud,
    pub(crate) cluster: Cluster,
    pub(crate) hosts: Hosts,
    /// Workload clusters, where the run has some, and the other management cluster.
    pub(crate) cluster_api: Option<ClusterApi>,
    pub(crate) faults: Faults,
    pub(crate) fleet: Fleet,
    pub(crate) policies: Policies,
    pub(crate) watchman: Watchman,
    pub(crate) clock: machinist_runtime::context::clock::Clock,
}

/// Watches of which one breaks at a time, where hosts serve Cluster API.
const INFRA_KINDS: [Option<&str>; 4] = [
    Some("machinistmachines"),
    Some("clusters.cluster.x-k8s.io"),
    Some("machines.cluster.x-k8s.io"),
    Some("machinistclusters"),
];

impl Actors {
    /// Acts until it is dropped.
    pub(crate) async fn act(self) {
        let hourly = self.plan.hourly;
        tokio::join!(
            self.users(),
            self.infra_users(),
            self.pool_users(),
            self.often("watches", hourly.watch_drops, |actors, rng| async move { actors.drop_watches(rng) }),
            self.often("compactions", hourly.compactions, |actors, mut rng| async move {
                actors.faults.count("compaction");
                actors.some_hosts(&mut rng).api.compact();
            }),
            self.often("crashes", hourly.crashes, |actors, rng| async move { actors.doom(rng) }),
            self.often("partitions", hourly.partitions, |actors, rng| async move {
                actors.partition(rng).await;
            }),
            self.often("outages", hourly.outages, |actors, rng| async move { actors.outage(rng).await }),
            self.often("thefts", hourly.lease_thefts, |actors, rng| async move { actors.steal_lease(rng) }),
            self.often("clocks", hourly.clock_jumps, |actors, rng| async move { actors.jump(rng) }),
            self.often("cloud", hourly.cloud_outages, |actors, rng| async move {
                actors.cloud_outage(rng).await;
            }),
            self.often("zones", hourly.zone_outages, |actors, rng| async move {
                actors.zone_outage(rng).await;
            }),
            self.often("lies", hourly.lies, |actors, rng| async move { actors.lie(rng).await }),
            self.often("moves", hourly.moves, |actors, rng| async move {
                actors.move_away(rng).await;
            }),
            self.often("tokens", hourly.kept_tokens, |actors, rng| async move {
                actors.keep_tokens(rng).await;
            }),
            self.often("policies", hourly.policy_swaps, |actors, rng| async move {
                actors.swap_policy(rng);
            }),
        );
    }

    /// As kube-controller-manager does, some time after each change. For ever.
    pub(crate) async fn collect_garbage(self) {
        if self.plan.owners == Owners::Nobody {
            return;
        }
        let mut rng = Rng::new(self.plan.seed, "garbage");
        loop {
            tokio::time::sleep(rng.between(Duration::from_millis(500), Duration::from_secs(20))).await;
            self.api.collect_garbage();
        }
    }

    async fn often<F: Future<Output = ()>>(&self, name: &str, per_hour: f64, act: impl Fn(Self, Rng) -> F) {
        let mut rng = Rng::new(self.plan.seed, name);
        for round in 0_u32.. {
            tokio::time::sleep(rng.pause(per_hour)).await;
            act(self.clone(), Rng::new(self.plan.seed, &format!("{name} {round}"))).await;
        }
    }

    async fn users(&self) {
        let mut rng = Rng::new(self.plan.seed, "users");
        loop {
            tokio::time::sleep(rng.pause(self.plan.hourly.actions)).await;
            let favourite = self.plan.favourite.filter(|_| rng.happens(0.5));
            if let Some(action) = favourite.or_else(|| rng.weighed(&ACTIONS)) {
                // Nodes of deployments are updated in place by these.
                if matches!(action, Action::UpdateInPlace) && self.plan.owners == Owners::Deployments {
                    continue;
                }
                let is_left_out = action.concerns_many() && rng.happens(1.0 - self.plan.hourly.shared);
                if !is_left_out {
                    self.do_action(action, &mut rng);
                }
            }
        }
    }

    fn do_action(&self, action: Action, rng: &mut Rng) {
        match action {
            Action::DeleteMachine | Action::ForceDelete | Action::EditMachine => {
                self.on_machine(action, rng);
            }
            Action::EditClass | Action::BreakClass => self.on_class(action, rng),
            Action::BreakSecret => self.break_secret(rng),
            Action::MakeOrphan => {
                self.watchman.note(("somebody makes a VM of no Machine", ""));
                self.cloud.make_orphan(rng.below(1_000_000));
            }
            Action::TakeName => self.take_name(rng),
            Action::MakeSecondVm => self.make_second_vm(rng),
            Action::DeleteNode | Action::Cordon => self.on_node(action, rng),
            Action::HoldDeletion => self.hold_deletion(rng),
            Action::Preserve => self.preserve(rng),
            Action::UpdateInPlace => self.update_in_place(rng),
            Action::Spoil => self.spoil(rng),
            Action::KillKubelet | Action::FlawNode | Action::RebootVm | Action::KillVm => {
                self.on_vm(action, rng);
            }
        }
    }

    /// A VM beside that of a Machine, with the same marks: by hand, or by another program.
    fn make_second_vm(&self, rng: &mut Rng) {
        let Some(vm) = self.cluster.any_joined(rng) else { return };
        let is_meant = |uid: &str, id: &str| {
            let facts = self.watchman.facts();
            let machine = facts.machines.get(uid);
            machine.is_some_and(|machine| machine.provider_id == id && machine.deleting_since.is_none())
        };
        if let Some(second) = self.cloud.make_second(&vm, rng.below(1_000_000), is_meant) {
            self.watchman
                .note(("somebody makes a VM beside that of a Machine:", &format!("{second} and {vm}")));
        }
    }

    fn on_machine(&self, action: Action, rng: &mut Rng) {
        let Some(name) = self.fleet.any(rng) else { return };
        let name = name.as_str();
        let path = format!("{NAMESPACE}/{name}");
        match action {
            Action::ForceDelete => {
                self.watchman.note(("user forces the deletion of", name));
                let _ = self.api.edit(
                    "machines",
                    &path,
                    &json!({ "metadata": { "labels": { "force-deletion": "True" } } }),
                );
                let _ = self.api.delete("machines", &path);
            }
            Action::EditMachine => {
                self.watchman.note(("user edits", name));
                let value = rng.below(1_000).to_string();
                let patch = match rng.below(3) {
                    0 => json!({ "metadata": { "labels": { "pool": value } } }),
                    1 => {
                        json!({ "spec": { "nodeTemplate": { "metadata": { "labels": { "pool": value } } } } })
                    }
                    _ => json!({ "spec": { "nodeTemplate": { "spec": { "taints": [
                        { "key": "pool", "value": value, "effect": "NoSchedule" },
                    ] } } } }),
                };
                let _ = self.api.edit("machines", &path, &patch);
            }
            _ => {
                self.watchman.note(("user deletes", name));
                let _ = self.api.delete("machines", &path);
            }
        }
    }

    fn on_class(&self, action: Action, rng: &mut Rng) {
        let zone = rng.pick(&ZONES).copied().unwrap_or_default();
        let path = format!("{NAMESPACE}/{zone}");
        if matches!(action, Action::EditClass) {
            self.watchman.note(("user edits class", zone));
            let kind = rng.pick(&["sim.small", "sim.medium"]).copied().unwrap_or_default();
            let _ = self.api.edit("machineclasses", &path, &json!({ "providerSpec": { "type": kind } }));
            return;
        }
        self.watchman.note(("user breaks class", zone));
        let patch = match rng.below(3) {
            0 => json!({ "provider": "nobody" }),
            1 => json!({ "secretRef": { "name": "nothing" } }),
            _ => json!({ "providerSpec": { "type": "sim.none" } }),
        };
        let _ = self.api.edit("machineclasses", &path, &patch);
        self.fleet.repair_later(rng.between(Duration::from_secs(20), Duration::from_mins(20)));
    }

    fn break_secret(&self, rng: &mut Rng) {
        self.watchman.note(("user breaks Secret", "account"));
        let _ = self.api.edit(
            "secrets",
            &format!("{NAMESPACE}/account"),
            &json!({ "data": { "userData": null } }),
        );
        self.fleet.repair_later(rng.between(Duration::from_secs(20), Duration::from_mins(10)));
    }

    fn on_node(&self, action: Action, rng: &mut Rng) {
        let vm = self.cluster.any_joined(rng);
        let Some(node) = vm.and_then(|vm| self.cluster.node_of(&vm)) else { return };
        if matches!(action, Action::Cordon) {
            let is_cordoned = rng.happens(0.5);
            self.watchman.note(("user cordons or uncordons", &node));
            let patch =
                json!({ "spec": { "unschedulable": if is_cordoned { json!(true) } else { Value::Null } } });
            let _ = self.api.edit("nodes", &node, &patch);
            return;
        }
        self.watchman.note(("user deletes Node", &node));
        let _ = self.api.delete("nodes", &node);
    }

    fn on_vm(&self, action: Action, rng: &mut Rng) {
        let Some(vm) = self.cluster.any_joined(rng) else { return };
        let vm = vm.as_str();
        match action {
            Action::RebootVm => {
                self.watchman.note(("somebody reboots", vm));
                self.cloud.reboot(vm);
            }
            Action::KillVm => {
                self.watchman.note(("dies by itself:", vm));
                self.cloud.kill(vm);
            }
            Action::FlawNode => {
                let flaw = rng.pick(&["Ready", "DiskPressure"]).copied();
                self.cluster.set_flaw(vm, flaw);
                self.watchman.note(("something is wrong with", vm));
                let (cluster, vm) = (self.cluster.clone(), vm.to_owned());
                let after = rng.between(Duration::from_secs(10), Duration::from_mins(15));
                tokio::spawn(async move {
                    tokio::time::sleep(after).await;
                    cluster.set_flaw(&vm, None);
                });
            }
            _ => {
                self.watchman.note(("somebody kills the kubelet of", vm));
                self.cluster.stop_kubelet(vm);
                if rng.happens(0.8) {
                    let after = rng.between(Duration::from_secs(10), Duration::from_mins(20));
                    self.cluster.repair_kubelet(vm, after);
                }
            }
        }
    }

    /// Of either management cluster.
    fn any_host(&self, rng: &mut Rng) -> Option<String> {
        rng.pick(&self.all_hosts()).cloned()
    }

    fn all_hosts(&self) -> Vec<String> {
        let away = self.cluster_api.iter().flat_map(|cluster_api| cluster_api.away.names());
        self.hosts.names().into_iter().chain(away).collect()
    }

    /// The hosts of the same management cluster as this one, with its API server.
    fn hosts_like(&self, host: &str) -> &Hosts {
        match (Site::of(host), &self.cluster_api) {
            (Site::Away, Some(cluster_api)) => &cluster_api.away,
            (Site::Home | Site::Away, _) => &self.hosts,
        }
    }

    /// The hosts of one management cluster, by chance where there are two.
    fn some_hosts(&self, rng: &mut Rng) -> &Hosts {
        match &self.cluster_api {
            Some(cluster_api) if rng.happens(0.4) => &cluster_api.away,
            Some(_) | None => &self.hosts,
        }
    }

    fn drop_watches(&self, mut rng: Rng) {
        if let Some(host) = self.any_host(&mut rng) {
            self.faults.count("watch drop");
            let kind = rng.pick(&[None, Some("machines"), Some("nodes"), Some("secrets")]).copied().flatten();
            let kind = if self.cluster_api.is_some() && rng.happens(0.5) {
                rng.pick(&INFRA_KINDS).copied().flatten()
            } else {
                kind
            };
            let api = &self.hosts_like(&host).api;
            api.drop_watches(&host, kind);
            api.drop_watches(&to_target(&host), kind);
        }
    }

    fn doom(&self, mut rng: Rng) {
        if let Some(host) = self.any_host(&mut rng) {
            // By what it does next: soon where much happens.
            self.faults.doom(&host, rng.below(30), rng.happens(0.5));
        }
    }

    async fn partition(&self, mut rng: Rng) {
        let Some(host) = self.any_host(&mut rng) else { return };
        self.faults.count("partition");
        self.watchman.note(("is cut off:", &host));
        // From everything: then it soon leads no more. Or from the cluster of the Nodes alone: then its gate must
        // close.
        let ways = match Site::of(&host) {
            Site::Home if rng.happens(0.5) => vec![host.clone(), to_target(&host)],
            Site::Home => vec![to_target(&host)],
            // It has no cluster of Nodes.
            Site::Away => vec![host.clone()],
        };
        for way in &ways {
            self.cut(way, true);
        }
        tokio::time::sleep(rng.between(Duration::from_secs(1), Duration::from_mins(15))).await;
        for way in &ways {
            self.cut(way, false);
        }
    }

    /// An API server is gone for everyone, and that of Nodes comes back with some of which nobody has heard.
    async fn outage(&self, mut rng: Rng) {
        let lasts = rng.between(Duration::from_secs(5), Duration::from_mins(15));
        self.faults.count("outage");
        let hosts = self.some_hosts(&mut rng);
        self.watchman.note(("the API server is gone for", &format!("{} s", lasts.as_secs())));
        if hosts.site() == Site::Home {
            self.cluster.go_dark(lasts);
        }
        // The one of the Nodes alone, or both.
        let has_control = rng.happens(0.3);
        let end = tokio::time::Instant::now() + lasts;
        let mut cut = Vec::new();
        // Processes that start meanwhile reach it as little.
        while tokio::time::Instant::now() < end {
            for host in hosts.names() {
                let ways = match hosts.site() {
                    Site::Home => [Some(to_target(&host)), Some(host).filter(|_| !has_control)],
                    Site::Away => [Some(host), None],
                };
                for way in ways.into_iter().flatten() {
                    if !cut.contains(&way) {
                        self.cut(&way, true);
                        cut.push(way);
                    }
                }
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        for host in cut {
            self.cut(&host, false);
        }
        self.watchman.note(("the API server is back", ""));
    }

    fn cut(&self, host: &str, is_cut: bool) {
        self.faults.cut_off(host, is_cut);
        if is_cut {
            self.hosts_like(host).api.drop_watches(host, None);
            self.watchman.facts().cut_off.insert(host.to_owned(), self.clock.now());
        } else {
            let mut facts = self.watchman.facts();
            facts.cut_off.remove(host);
            facts.back.insert(host.to_owned(), self.clock.now());
        }
    }

    fn steal_lease(&self, mut rng: Rng) {
        self.faults.count("lease theft");
        self.watchman.note(("somebody takes the Lease", ""));
        let patch = json!({ "spec": { "holderIdentity": "somebody", "renewTime": format!("{:.6}", self.clock.now()) } });
        let api = &self.some_hosts(&mut rng).api;
        let _ = api.edit("leases", &format!("{NAMESPACE}/machine-controller"), &patch);
    }

    fn jump(&self, mut rng: Rng) {
        if let Some(host) = self.any_host(&mut rng) {
            self.faults.count("clock jump");
            let by = i64::try_from(rng.below(600_000)).unwrap_or_default() - 300_000;
            self.watchman.note(("clock is set:", &format!("{host} by {by} ms")));
            self.hosts_like(&host).shift_clock(&host, by);
        }
    }

    async fn cloud_outage(&self, mut rng: Rng) {
        self.faults.count("cloud outage");
        let codes = [Code::Unavailable, Code::ResourceExhausted, Code::Unauthenticated, Code::Internal];
        self.faults.cloud_answers(rng.pick(&codes).copied());
        tokio::time::sleep(rng.between(Duration::from_secs(10), Duration::from_mins(10))).await;
        self.faults.cloud_answers(None);
    }
}

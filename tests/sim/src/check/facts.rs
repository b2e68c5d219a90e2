//! The state of the simulated clusters, learned from each change at the moment when it happens.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use memory_api::wire::Call;
use memory_api::{Change, USER};
use serde_json::Value;

use super::doubt::Creates;
use super::infra::InfraFacts;
use super::machine::MachineFact;
use super::node::NodeFact;
use super::owners::OwnerFacts;
use super::taken::{self, NamesTaken};
use super::workload::Workload;
use crate::names::{LEASE_TIMES, Site, TARGET, to_target};

/// How long a host may not yet know that somebody took a Lease from it against the rules: until its claim has run out.
const THEFT_GRACE: SignedDuration = LEASE_TIMES.renew_deadline;

/// A Node as it is in truth, whatever its object says.
#[derive(Clone, Debug)]
pub(crate) struct NodeTruth {
    /// Its VM runs, its kubelet works, nothing is wrong with it, and it has its object: since when.
    pub(crate) fit_since: Option<Timestamp>,
    pub(crate) provider_id: String,
}

/// A Lease as the API server has it.
#[derive(Clone, Debug, Default)]
struct LeaseFact {
    holder: String,
    /// The loser to somebody who did not wait, and until when the loser may not know it.
    robbed: Option<(String, Timestamp)>,
}

/// One host asks a driver for the same about the same Machine so often at most within this time.
const ASKED_AT_MOST: usize = 20;
const ASKED_WITHIN: SignedDuration = SignedDuration::from_secs(20);

#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) machines: BTreeMap<String, MachineFact>,
    /// Uid by name of the Node.
    pub(crate) by_node: BTreeMap<String, String>,
    /// Budgets by namespace and name.
    pub(crate) budgets: BTreeMap<(String, String), Value>,
    /// By name of the Node.
    pub(crate) nodes: BTreeMap<String, NodeTruth>,
    /// Nodes as their objects are, by name.
    pub(super) node_objects: BTreeMap<String, NodeFact>,
    /// Names of Nodes that are those of VMs elsewhere.
    pub(crate) left_nodes: BTreeSet<String>,
    /// Machines that were failed since the names of their Nodes are taken.
    pub(super) names_taken: NamesTaken,
    pub(super) workload: Workload,
    /// The results of the hosts' creates.
    pub(super) creates: Creates,
    pub(super) owners: OwnerFacts,
    /// Whether a policy of the run may decide anything.
    pub(crate) has_judges: bool,
    /// Uids of Machines whose VM was ordered away, and when that was first done.
    pub(super) ordered_away: BTreeMap<String, Timestamp>,
    /// Those of which a host did so that could not reach the cluster of their Nodes.
    pub(super) ordered_blindly: BTreeSet<String>,
    leases: BTreeMap<(Site, String), LeaseFact>,
    /// MachinistMachines of both management clusters.
    pub(crate) infra: InfraFacts,
    /// When a Lease was last given to another holder.
    led_since: Option<Timestamp>,
    /// Hosts that have started and not ended.
    pub(crate) running: BTreeSet<String>,
    /// When the faults have ended.
    pub(super) calm_since: Option<Timestamp>,
    /// Hosts that cannot reach the API server, and since when.
    pub(crate) cut_off: BTreeMap<String, Timestamp>,
    /// Ways that were cut off, and since when they are not.
    pub(crate) back: BTreeMap<String, Timestamp>,
    /// Clocks of hosts that have ever been ahead, and by how much at most.
    pub(crate) ahead: BTreeMap<String, SignedDuration>,
    /// The most by which the clock of any host has ever been behind.
    pub(crate) behind: SignedDuration,
    /// When a host has asked a driver for what about which Machine, of late.
    asked: BTreeMap<(String, String, String), VecDeque<Timestamp>>,
    /// When VMs were listed.
    pub(super) listings: Vec<Timestamp>,
    /// How often hosts wrote anything but Leases, and what they wrote last.
    pub(crate) writes: (u64, String),
    /// When deletions of Machines and sets were asked for in the last seconds, by host and what it asked.
    deletions: BTreeMap<(String, String), Vec<Timestamp>>,
}

/// So many of the same deletion within [`REPEATS_WITHIN`] are no accident: retries are further and further apart, and a
/// few passes for other reasons come between them.
const REPEATS: usize = 40;
const REPEATS_WITHIN: SignedDuration = SignedDuration::from_secs(10);

impl Facts {
    /// Takes over what a change says.
    pub(super) fn learn(&mut self, site: Site, change: &Change<'_>, now: Timestamp) {
        self.infra.learn(site, change, now);
        match change.plural {
            "leases" => self.lease(site, change, now),
            _ if site == Site::Away => {}
            "machines" => self.machine(change, now),
            "machinesets" | "machinedeployments" => self.owners.learn(change, now),
            "pods" => self.workload.pod(change, now),
            "volumeattachments" => self.workload.attachment(change, now),
            "poddisruptionbudgets" => {
                let any = change.new.or(change.old);
                let key =
                    (text(any, "/metadata/namespace").to_owned(), text(any, "/metadata/name").to_owned());
                match change.new {
                    Some(budget) => drop(self.budgets.insert(key, budget.clone())),
                    None => drop(self.budgets.remove(&key)),
                }
            }
            "nodes" => self.node(change, now),
            _ => {}
        }
    }

    /// A host sends a request.
    pub(super) fn count(&mut self, call: &Call, now: Timestamp) -> Option<String> {
        if call.verb == "CALL" && call.what == "list" {
            self.listings.push(now);
        }
        if call.verb == "DELETE" && call.what == "volumeattachments" {
            self.workload.attachment_tried(&call.name);
        }
        // The claim of the cluster's mark is renewed as a Lease is.
        let is_renewal = call.what == "leases" || call.name.starts_with("machinist-cluster-mark-");
        let is_write = matches!(call.verb, "POST" | "PUT" | "PATCH" | "DELETE") && !is_renewal;
        if is_write {
            self.writes = (self.writes.0 + 1, format!("{} {} {}", call.verb, call.what, call.name));
        }
        let is_counted = call.verb == "CALL" && matches!(call.what.as_str(), "delete" | "get-status");
        if is_counted { self.asks_too_often(call, now) } else { None }
    }

    /// Retries, users and Nodes that change may make a host ask again, but not without end.
    fn asks_too_often(&mut self, call: &Call, now: Timestamp) -> Option<String> {
        let key = (call.actor.clone(), call.what.clone(), call.name.clone());
        let times = self.asked.entry(key).or_default();
        times.push_back(now);
        while times.front().is_some_and(|at| now.duration_since(*at) > ASKED_WITHIN) {
            times.pop_front();
        }
        let count = times.len();
        (count > ASKED_AT_MOST).then(|| {
            format!(
                "{} asks {} of Machine {} {count} times within {ASKED_WITHIN:#}",
                call.actor, call.what, call.name
            )
        })
    }

    /// A host asks for a deletion that it has just asked for time and again.
    pub(super) fn repeated(&mut self, call: &Call, now: Timestamp) -> Option<String> {
        if call.verb != "DELETE" || !matches!(call.what.as_str(), "machines" | "machinesets") {
            return None;
        }
        let asked =
            self.deletions.entry((call.actor.clone(), format!("{} {}", call.what, call.name))).or_default();
        asked.retain(|at| now.duration_since(*at) < REPEATS_WITHIN);
        asked.push(now);
        (asked.len() > REPEATS).then(|| {
            let (count, what, name) = (asked.len(), &call.what, &call.name);
            format!(
                "{} asks {count} times within {REPEATS_WITHIN:#} for the deletion of {what} {name}",
                call.actor
            )
        })
    }

    fn machine(&mut self, change: &Change<'_>, now: Timestamp) {
        let uid = text(change.new.or(change.old), "/metadata/uid").to_owned();
        self.creates.learn(&uid, change.new);
        let Some(machine) = change.new else {
            self.ordered_away.remove(&uid);
            self.ordered_blindly.remove(&uid);
            if let Some(gone) = self.machines.remove(&uid) {
                let has_node = self.has_node(&gone);
                self.owners.learn_machine(change.actor, Some(&gone), (None, has_node), now);
                self.by_node.remove(&gone.node);
            }
            return;
        };
        let before = self.machines.get(&uid);
        let fact = MachineFact::learn(machine, before, change.actor, now);
        if taken::is_given_up(change) {
            self.names_taken.learn(self.owners.family(&fact.set), &uid, change.actor, now);
        }
        let has_node = before.is_some_and(|before| self.has_node(before));
        self.owners.learn_machine(change.actor, before, (Some(&fact), has_node), now);
        if !fact.node.is_empty() {
            self.by_node.insert(fact.node.clone(), uid.clone());
        }
        self.machines.insert(uid, fact);
    }

    fn node(&mut self, change: &Change<'_>, now: Timestamp) {
        let name = text(change.new.or(change.old), "/metadata/name");
        let Some(node) = change.new else {
            self.node_objects.remove(name);
            self.left_nodes.remove(name);
            if let Some(node) = self.nodes.get_mut(name) {
                node.fit_since = None;
            }
            return;
        };
        let fact = NodeFact::learn(node, self.node_objects.get(name), now);
        self.node_objects.insert(name.to_owned(), fact);
    }

    fn has_node(&self, machine: &MachineFact) -> bool {
        self.node_objects.get(&machine.node).is_some_and(|node| !node.is_deleting)
    }

    /// The Machine's Node, if its object is there and is of the Machine's VM.
    pub(super) fn node_of(&self, machine: &MachineFact) -> Option<&NodeFact> {
        self.node_objects.get(&machine.node).filter(|node| node.provider_id == machine.provider_id)
    }

    /// Whether this host may not see what is there, since it is cut off or was until a moment ago.
    pub(super) fn is_blind(&self, actor: &str, now: Timestamp) -> bool {
        let host = actor.strip_suffix(TARGET).unwrap_or(actor);
        [host.to_owned(), to_target(host)].iter().any(|way| {
            let is_fresh = |back: &Timestamp| now.duration_since(*back) <= super::rules::PROPAGATION;
            self.cut_off.contains_key(way) || self.back.get(way).is_some_and(is_fresh)
        })
    }

    /// All ways are open.
    pub(crate) fn calm(&mut self, now: Timestamp) {
        let ways = std::mem::take(&mut self.cut_off);
        self.back.extend(ways.into_keys().map(|way| (way, now)));
        self.calm_since = Some(now);
    }

    /// By how much the clock of this host may have been ahead.
    pub(super) fn ahead(&self, actor: &str) -> SignedDuration {
        let actor = actor.strip_suffix(TARGET).unwrap_or(actor);
        self.ahead.get(actor).copied().unwrap_or_default()
    }

    /// By how much too long a time may look that one host has written down and another one reads.
    pub(super) fn skew(&self) -> SignedDuration {
        self.ahead.values().max().copied().unwrap_or_default() + self.behind
    }

    fn lease(&mut self, site: Site, change: &Change<'_>, now: Timestamp) {
        let name = text(change.new.or(change.old), "/metadata/name").to_owned();
        let holder = text(change.new, "/spec/holderIdentity").to_owned();
        let lease = self.leases.entry((site, name)).or_default();
        if change.actor == USER && lease.holder != holder {
            let until = now.checked_add(THEFT_GRACE).unwrap_or(now);
            lease.robbed = Some((std::mem::take(&mut lease.holder), until));
        }
        if lease.holder != holder && site == Site::Home {
            self.led_since = Some(now);
        }
        lease.holder = holder;
    }

    /// The faults have ended.
    pub(crate) fn is_calm(&self) -> bool {
        self.calm_since.is_some()
    }

    /// The host that runs and holds all Leases, and since when it does.
    pub(super) fn leader(&self) -> Option<(&str, Timestamp)> {
        let holder = self.leases_of(Site::Home).next()?.holder.as_str();
        let holds_all = self.leases_of(Site::Home).count() >= 2
            && self.leases_of(Site::Home).all(|lease| lease.holder == holder);
        (holds_all && self.running.contains(holder)).then_some((holder, self.led_since?))
    }

    /// When the last of this host's ways that were cut off was open again.
    pub(super) fn back_since(&self, host: &str) -> Option<Timestamp> {
        [host.to_owned(), to_target(host)].iter().filter_map(|way| self.back.get(way)).max().copied()
    }

    /// Whether this host holds all Leases, or may not yet know that it does not.
    pub(super) fn leads(&self, actor: &str, now: Timestamp) -> bool {
        let actor = actor.strip_suffix(TARGET).unwrap_or(actor);
        let may = |lease: &LeaseFact| {
            let is_unaware = lease.robbed.as_ref().is_some_and(|(who, until)| who == actor && now <= *until);
            lease.holder == actor || is_unaware
        };
        let site = Site::of(actor);
        self.leases_of(site).count() >= 2 && self.leases_of(site).all(may)
    }

    fn leases_of(&self, site: Site) -> impl Iterator<Item = &LeaseFact> {
        self.leases.iter().filter(move |((of, _), _)| *of == site).map(|(_, lease)| lease)
    }
}

/// The text at this place, a path of plain names; empty when there is none.
pub(super) fn text<'a>(object: Option<&'a Value>, pointer: &str) -> &'a str {
    let mut parts = pointer.split('/').skip(1);
    object
        .and_then(|object| parts.try_fold(object, |part, name| part.get(name)))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

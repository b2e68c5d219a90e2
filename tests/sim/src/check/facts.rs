//! What the world is like, learned from each change at the moment when it happens.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use machinist_api::names;
use memory_api::wire::Call;
use memory_api::{Change, USER};
use serde_json::Value;

use crate::hosts::TARGET;

/// How long a host may not yet know that somebody took a Lease from it against the rules: until its claim has run out.
const THEFT_GRACE: SignedDuration = crate::hosts::LEASE_TIMES.renew_deadline;

/// A Machine as the API server has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MachineFact {
    pub(crate) name: String,
    pub(crate) deleting_since: Option<Timestamp>,
    pub(crate) is_forced: bool,
    pub(crate) node: String,
    pub(crate) provider_id: String,
}

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
    /// Who lost it to somebody who did not wait, and until when that may be unknown there.
    robbed: Option<(String, Timestamp)>,
}

/// The world.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// By uid.
    pub(crate) machines: BTreeMap<String, MachineFact>,
    /// Uid by name of the Node.
    pub(crate) by_node: BTreeMap<String, String>,
    /// Budgets by namespace and name.
    pub(crate) budgets: BTreeMap<(String, String), Value>,
    /// By name of the Node.
    pub(crate) nodes: BTreeMap<String, NodeTruth>,
    leases: BTreeMap<String, LeaseFact>,
    /// Hosts that cannot reach the API server, and since when.
    pub(crate) cut_off: BTreeMap<String, Timestamp>,
    /// Clocks of hosts that have ever been ahead, and by how much at most.
    pub(crate) ahead: BTreeMap<String, SignedDuration>,
    /// When VMs were listed.
    pub(super) listings: Vec<Timestamp>,
    /// How often hosts wrote anything but Leases, and what they wrote last.
    pub(crate) writes: (u64, String),
}

impl Facts {
    /// Takes over what a change says.
    pub(super) fn learn(&mut self, change: &Change<'_>, now: Timestamp) {
        match change.plural {
            "machines" => self.machine(change),
            "leases" => self.lease(change, now),
            "poddisruptionbudgets" => {
                let any = change.new.or(change.old);
                let key =
                    (text(any, "/metadata/namespace").to_owned(), text(any, "/metadata/name").to_owned());
                match change.new {
                    Some(budget) => drop(self.budgets.insert(key, budget.clone())),
                    None => drop(self.budgets.remove(&key)),
                }
            }
            "nodes" if change.new.is_none() => {
                let name = text(change.old, "/metadata/name");
                if let Some(node) = self.nodes.get_mut(name) {
                    node.fit_since = None;
                }
            }
            _ => {}
        }
    }

    /// A host sends a request.
    pub(super) fn count(&mut self, call: &Call, now: Timestamp) {
        if call.verb == "CALL" && call.what == "list" {
            self.listings.push(now);
        }
        let is_write = matches!(call.verb, "POST" | "PUT" | "PATCH" | "DELETE") && call.what != "leases";
        if is_write {
            self.writes = (self.writes.0 + 1, format!("{} {} {}", call.verb, call.what, call.name));
        }
    }

    fn machine(&mut self, change: &Change<'_>) {
        let Some(machine) = change.new else {
            if let Some(gone) = self.machines.remove(text(change.old, "/metadata/uid")) {
                self.by_node.remove(&gone.node);
            }
            return;
        };
        let fact = MachineFact {
            name: text(change.new, "/metadata/name").to_owned(),
            deleting_since: text(change.new, "/metadata/deletionTimestamp").parse().ok(),
            is_forced: machine["metadata"]["labels"]["force-deletion"] == "True",
            node: machine["metadata"]["labels"][names::labels::NODE].as_str().unwrap_or_default().to_owned(),
            provider_id: text(change.new, "/spec/providerID").to_owned(),
        };
        let uid = text(change.new, "/metadata/uid").to_owned();
        if !fact.node.is_empty() {
            self.by_node.insert(fact.node.clone(), uid.clone());
        }
        self.machines.insert(uid, fact);
    }

    fn lease(&mut self, change: &Change<'_>, now: Timestamp) {
        let name = text(change.new.or(change.old), "/metadata/name").to_owned();
        let holder = text(change.new, "/spec/holderIdentity").to_owned();
        let lease = self.leases.entry(name).or_default();
        if change.actor == USER && lease.holder != holder {
            let until = now.checked_add(THEFT_GRACE).unwrap_or(now);
            lease.robbed = Some((std::mem::take(&mut lease.holder), until));
        }
        lease.holder = holder;
    }

    /// Whether this host holds all Leases, or may not yet know that it does not.
    pub(super) fn leads(&self, actor: &str, now: Timestamp) -> bool {
        let actor = actor.strip_suffix(TARGET).unwrap_or(actor);
        let may = |lease: &LeaseFact| {
            let is_unaware = lease.robbed.as_ref().is_some_and(|(who, until)| who == actor && now <= *until);
            lease.holder == actor || is_unaware
        };
        self.leases.len() >= 2 && self.leases.values().all(may)
    }
}

/// The text at this place; empty when there is none.
pub(super) fn text<'a>(object: Option<&'a Value>, pointer: &str) -> &'a str {
    object.and_then(|object| object.pointer(pointer)).and_then(Value::as_str).unwrap_or_default()
}

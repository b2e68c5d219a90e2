//! The pods of all Nodes: what their kubelets do with them, and when.
//!
//! A kubelet starts the containers of a pod once the pod's volumes are attached to its Node, and writes that it runs.
//! When the pod is deleted, the containers get their grace period, the volumes are unmounted and reported as no longer
//! in use, and the pod is removed. A kubelet that is dead or silent does none of this, and its pods stay.
//!
//! | module | what it does |
//! | --- | --- |
//! | `fact` | the fields of a pod that a kubelet reads |
//! | `action` | the actions of kubelets on pods, and their results |
//! | `slot` | the timetable of due actions |
//! | `write` | the writes of a kubelet about its pods |

mod action;
mod fact;
mod slot;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use crate::config::PodTiming;
use crate::fleet::after;
use crate::volumes::Catalogue;
use slot::Slot;

pub use action::{PodAction, PodDone, PodStats, Subject};
pub use fact::{Conduct, EXITS_AFTER_MS, FINISHES_AFTER_MS, HANGS, PodFact, PodKey, PodPhase, READY};
pub use write::{finished_patch, in_use_patch, removal, running_patch};

/// How soon a kubelet that was found dead or silent is looked at again.
const KUBELET_CHECK: Duration = Duration::from_millis(250);
/// How soon a request that failed is repeated.
const RETRY: Duration = Duration::from_millis(500);

/// All pods that are bound to Nodes.
#[derive(Debug)]
pub struct Pods {
    timing: PodTiming,
    pods: BTreeMap<PodKey, PodEntry>,
    nodes: BTreeMap<String, NodeEntry>,
    catalogue: Catalogue,
    due: BTreeSet<(Timestamp, Subject)>,
    stats: PodStats,
}

#[derive(Debug)]
struct PodEntry {
    fact: PodFact,
    /// When this pod was seen first.
    seen: Timestamp,
    /// When its containers were started.
    started: Option<Timestamp>,
    /// When its end was asked for, and with which grace period.
    ending: Option<(Timestamp, Duration)>,
    /// Its volumes are unmounted.
    is_unmounted: bool,
    /// It was removed; what is still seen of it waits for finalizers.
    is_removed: bool,
    slot: Slot,
}

#[derive(Debug, Default)]
struct NodeEntry {
    pods: BTreeSet<PodKey>,
    attached: BTreeSet<String>,
    /// The volumes last reported as in use.
    reported_in_use: BTreeSet<String>,
    /// Its kubelet was found dead or silent. It is looked at again for the Node, and not for each of its pods.
    is_down: bool,
    slot: Slot,
}

impl Pods {
    pub fn new(timing: PodTiming) -> Self {
        Self {
            timing,
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            catalogue: Catalogue::default(),
            due: BTreeSet::new(),
            stats: PodStats::default(),
        }
    }

    /// Takes note of a pod as it is.
    pub fn hear(&mut self, fact: PodFact, now: Timestamp) {
        let key = fact.key.clone();
        if self.pods.get(&key).is_some_and(|entry| entry.fact.uid != fact.uid) {
            self.forget(&key, now);
        }
        let entry = self.pods.entry(key.clone()).or_insert_with(|| PodEntry {
            fact: fact.clone(),
            seen: now,
            started: None,
            ending: None,
            is_unmounted: false,
            is_removed: false,
            slot: Slot::default(),
        });
        if let Some(grace) = fact.deletion_grace {
            let (since, _) = entry.ending.unwrap_or((now, grace));
            entry.ending = Some((since, grace));
        }
        if entry.started.is_none() && fact.phase != PodPhase::Pending {
            entry.started = Some(now);
        }
        entry.fact = fact;
        let node = entry.fact.node.clone();
        self.nodes.entry(node.clone()).or_default().pods.insert(key.clone());
        self.schedule_pod(&key, now);
        self.schedule_node(&node, now);
    }

    /// Takes note that a pod is gone.
    pub fn forget(&mut self, key: &PodKey, now: Timestamp) {
        let Some(entry) = self.pods.remove(key) else { return };
        if let Some(at) = entry.slot.due {
            self.due.remove(&(at, Subject::Pod(key.clone())));
        }
        if let Some(node) = self.nodes.get_mut(&entry.fact.node) {
            node.pods.remove(key);
        }
        self.schedule_node(&entry.fact.node, now);
    }

    /// Takes note that these pods exist and no others.
    pub fn keep_only(&mut self, keys: &BTreeSet<PodKey>, now: Timestamp) {
        let gone: Vec<PodKey> = self.pods.keys().filter(|key| !keys.contains(key)).cloned().collect();
        for key in gone {
            self.forget(&key, now);
        }
    }

    /// Takes note of the volumes that are attached to a Node, and of those that it tells as in use.
    pub fn hear_node(
        &mut self,
        name: &str,
        attached: BTreeSet<String>,
        reported_in_use: BTreeSet<String>,
        now: Timestamp,
    ) {
        let node = self.nodes.entry(name.to_owned()).or_default();
        if node.attached == attached && node.reported_in_use == reported_in_use {
            return;
        }
        node.attached = attached;
        if !node.slot.is_busy {
            node.reported_in_use = reported_in_use;
        }
        self.schedule_pods_of(name, now);
    }

    /// Takes note that a Node is gone. Its pods stay.
    pub fn forget_node(&mut self, name: &str, now: Timestamp) {
        self.hear_node(name, BTreeSet::new(), BTreeSet::new(), now);
    }

    /// Changes what is known of claims and volumes.
    pub fn catalogue(&mut self, now: Timestamp, change: impl FnOnce(&mut Catalogue)) {
        change(&mut self.catalogue);
        let with_claims = self.pods.iter().filter(|(_, entry)| !entry.fact.claims.is_empty());
        let nodes: BTreeSet<String> = with_claims.map(|(_, entry)| entry.fact.node.clone()).collect();
        for node in nodes {
            self.schedule_pods_of(&node, now);
        }
    }

    /// The actions that are due, at most so many. Each is to be answered by [`Pods::finish`]. `is_up` says whether the
    /// kubelet of a Node works.
    pub fn take_due(
        &mut self,
        now: Timestamp,
        limit: usize,
        is_up: impl Fn(&str) -> bool,
    ) -> Vec<(Subject, PodAction)> {
        let mut actions = Vec::new();
        while actions.len() < limit {
            let Some((at, subject)) = self.due.first().cloned() else { break };
            if at > now {
                break;
            }
            self.due.pop_first();
            match &subject {
                Subject::Pod(key) => actions.extend(self.begin_pod(key, now, &is_up)),
                Subject::Node(name) => actions.extend(self.begin_node(name, now, &is_up)),
            }
        }
        actions
    }

    /// When something is due next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes note of what came of an action.
    pub fn finish(&mut self, subject: &Subject, action: &PodAction, done: PodDone, now: Timestamp) {
        // Counted first: a watch may show the outcome before the answer comes.
        match (action, done) {
            (_, PodDone::Failed) => self.stats.failures += 1,
            (PodAction::Run(_), PodDone::Done) => self.stats.started += 1,
            (PodAction::Remove { .. }, PodDone::Done) => self.stats.removed += 1,
            (PodAction::Finish(_) | PodAction::TellInUse { .. }, PodDone::Done) => {}
        }
        let not_before = match done {
            PodDone::Done => None,
            PodDone::Failed => Some(after(now, RETRY)),
        };
        match subject {
            Subject::Pod(key) => {
                let Some(entry) = self.pods.get_mut(key) else { return };
                entry.slot.is_busy = false;
                entry.slot.not_before = not_before;
                match (action, done) {
                    (PodAction::Run(fact), PodDone::Done) if fact.uid == entry.fact.uid => {
                        entry.started = Some(now);
                    }
                    (PodAction::Finish(fact), PodDone::Done) if fact.uid == entry.fact.uid => {
                        entry.fact.phase = PodPhase::Finished;
                    }
                    (PodAction::Remove { uid, .. }, PodDone::Done) if *uid == entry.fact.uid => {
                        entry.is_removed = true;
                    }
                    (PodAction::Run(_) | PodAction::Finish(_), _)
                    | (PodAction::Remove { .. } | PodAction::TellInUse { .. }, _) => {}
                }
                let node = entry.fact.node.clone();
                self.schedule_pod(key, now);
                self.schedule_node(&node, now);
            }
            Subject::Node(name) => {
                if let Some(node) = self.nodes.get_mut(name) {
                    node.slot.is_busy = false;
                    node.slot.not_before = not_before;
                    if let (PodAction::TellInUse { volumes, .. }, PodDone::Done) = (action, done) {
                        node.reported_in_use = volumes.clone();
                    }
                }
                self.schedule_pods_of(name, now);
            }
        }
    }

    pub fn stats(&self) -> PodStats {
        let count = |of: fn(&PodEntry) -> bool| self.pods.values().filter(|entry| of(entry)).count() as u64;
        PodStats {
            bound: self.pods.len() as u64,
            running: count(|entry| entry.started.is_some() && entry.fact.phase != PodPhase::Finished),
            terminating: count(|entry| entry.ending.is_some()),
            ..self.stats
        }
    }

    fn begin_pod(
        &mut self,
        key: &PodKey,
        now: Timestamp,
        is_up: impl Fn(&str) -> bool,
    ) -> Option<(Subject, PodAction)> {
        let entry = self.pods.get_mut(key)?;
        entry.slot.due = None;
        if !is_up(&entry.fact.node) {
            let name = entry.fact.node.clone();
            self.found_down(&name, now);
            return None;
        }
        entry.slot.not_before = None;
        if entry.end_at(&self.timing).is_some_and(|at| at <= now) && !entry.is_unmounted {
            entry.is_unmounted = true;
            let node = entry.fact.node.clone();
            self.schedule_node(&node, now);
        }
        let action = match self.wish(self.pods.get(key)?) {
            Some((at, action)) if at <= now => action,
            Some(_) | None => {
                self.schedule_pod(key, now);
                return None;
            }
        };
        self.pods.get_mut(key)?.slot.is_busy = true;
        Some((Subject::Pod(key.clone()), action))
    }

    fn found_down(&mut self, name: &str, now: Timestamp) {
        if let Some(node) = self.nodes.get_mut(name) {
            // Without pods there is nothing to stop: the next pod finds out that the kubelet is down.
            node.is_down = !node.pods.is_empty();
            node.slot.not_before = Some(after(now, KUBELET_CHECK));
        }
        self.schedule_node(name, now);
    }

    fn begin_node(
        &mut self,
        name: &str,
        now: Timestamp,
        is_up: impl Fn(&str) -> bool,
    ) -> Option<(Subject, PodAction)> {
        self.nodes.get_mut(name)?.slot.due = None;
        if !is_up(name) {
            self.found_down(name, now);
            return None;
        }
        if std::mem::take(&mut self.nodes.get_mut(name)?.is_down) {
            self.schedule_only_pods_of(name, now);
        }
        let volumes = self.in_use(name);
        let node = self.nodes.get_mut(name)?;
        if volumes == node.reported_in_use {
            return None;
        }
        node.slot.not_before = None;
        node.slot.is_busy = true;
        Some((Subject::Node(name.to_owned()), PodAction::TellInUse { node: name.to_owned(), volumes }))
    }

    /// Returns the next action of a pod's kubelet, and its time; `None` while it waits for something else than time.
    fn wish(&self, entry: &PodEntry) -> Option<(Timestamp, PodAction)> {
        if entry.is_removed {
            return None;
        }
        if entry.ending.is_some() {
            let at = entry.end_at(&self.timing)?;
            if entry.is_unmounted && !self.volumes_are_reported_free(entry) {
                return None;
            }
            return Some((
                at,
                PodAction::Remove { key: entry.fact.key.clone(), uid: entry.fact.uid.clone() },
            ));
        }
        match (entry.fact.phase, entry.started) {
            (PodPhase::Finished, _) => None,
            (PodPhase::Pending, None) => self
                .volumes_are_attached(entry)
                .then(|| (after(entry.seen, self.timing.start), PodAction::Run(entry.fact.clone()))),
            (PodPhase::Pending | PodPhase::Running, Some(started)) => {
                let finishes = entry.fact.conduct.finishes_after?;
                Some((after(started, finishes), PodAction::Finish(entry.fact.clone())))
            }
            (PodPhase::Running, None) => None,
        }
    }

    fn volumes_are_attached(&self, entry: &PodEntry) -> bool {
        let attached = self.nodes.get(&entry.fact.node).map(|node| &node.attached);
        entry.fact.claims.iter().all(|claim| {
            let name = self.catalogue.volume_of(&entry.fact.key.namespace, claim);
            name.is_some_and(|name| attached.is_some_and(|attached| attached.contains(name)))
        })
    }

    fn volumes_are_reported_free(&self, entry: &PodEntry) -> bool {
        let Some(node) = self.nodes.get(&entry.fact.node) else { return true };
        let used = self.in_use(&entry.fact.node);
        let own = entry.fact.claims.iter();
        own.filter_map(|claim| self.catalogue.volume_of(&entry.fact.key.namespace, claim))
            .all(|name| used.contains(name) || !node.reported_in_use.contains(name))
    }

    /// The volumes that the pods of a Node use, or are about to.
    fn in_use(&self, node: &str) -> BTreeSet<String> {
        let keys = self.nodes.get(node).into_iter().flat_map(|node| &node.pods);
        let users = keys
            .filter_map(|key| self.pods.get(key))
            .filter(|entry| !entry.is_unmounted && entry.fact.phase != PodPhase::Finished);
        users
            .flat_map(|entry| {
                let namespace = &entry.fact.key.namespace;
                entry.fact.claims.iter().filter_map(|claim| self.catalogue.volume_of(namespace, claim))
            })
            .map(str::to_owned)
            .collect()
    }

    fn schedule_pods_of(&mut self, node: &str, now: Timestamp) {
        self.schedule_only_pods_of(node, now);
        self.schedule_node(node, now);
    }

    fn schedule_only_pods_of(&mut self, node: &str, now: Timestamp) {
        let keys: Vec<PodKey> =
            self.nodes.get(node).map(|node| node.pods.iter().cloned().collect()).unwrap_or_default();
        for key in keys {
            self.schedule_pod(&key, now);
        }
    }

    fn schedule_pod(&mut self, key: &PodKey, now: Timestamp) {
        let Some(entry) = self.pods.get(key) else { return };
        let is_down = self.nodes.get(&entry.fact.node).is_some_and(|node| node.is_down);
        let may_act = !entry.slot.is_busy && !is_down;
        let wanted = self.wish(entry).map(|(at, _)| at).filter(|_| may_act);
        let Some(entry) = self.pods.get_mut(key) else { return };
        entry.slot.schedule(&mut self.due, wanted, now, || Subject::Pod(key.clone()));
    }

    fn schedule_node(&mut self, name: &str, now: Timestamp) {
        let Some(node) = self.nodes.get(name) else { return };
        // Most Nodes have no volumes at all.
        let has_changed = !node.slot.is_busy && (node.is_down || self.in_use(name) != node.reported_in_use);
        let Some(node) = self.nodes.get_mut(name) else { return };
        node.slot.schedule(&mut self.due, has_changed.then_some(now), now, || Subject::Node(name.to_owned()));
    }
}

impl PodEntry {
    /// When its containers have ended, if its end was asked for and can come.
    fn end_at(&self, timing: &PodTiming) -> Option<Timestamp> {
        let (since, grace) = self.ending?;
        if self.fact.phase == PodPhase::Finished || self.started.is_none() {
            return Some(since);
        }
        if self.fact.conduct.hangs {
            return None;
        }
        let takes = self.fact.conduct.exits_after.or(timing.exit).unwrap_or(grace);
        Some(after(since, takes.min(grace)))
    }
}

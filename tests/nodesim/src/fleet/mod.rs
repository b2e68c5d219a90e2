//! All kubelets: what happened to them, and what each does next and when. `kubelet` is one of them.

mod kubelet;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::config::Timing;
use crate::source::VmEvent;
use crate::vm::Vm;
use kubelet::Kubelet;

/// The id of the VM that a kubelet runs in.
pub type KubeletId = Arc<str>;

/// Something that a kubelet does, for the caller to perform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Take the bootstrap token out of the user data and register the Node.
    Join { vm: Arc<Vm> },
    /// Renew the Lease, or create it.
    Lease {
        /// The Node's name, which is the Lease's.
        node_name: String,
        uid: String,
        /// Whether the Lease is yet to be created.
        is_first: bool,
    },
    /// Write the Node's status.
    Status { vm: Arc<Vm>, uid: String, write: StatusWrite },
}

/// The status to write into a Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusWrite {
    Report {
        /// The status of the Ready condition.
        is_ready: bool,
        /// Since when Ready is so.
        changed: Timestamp,
        /// Since when the usual other conditions are so.
        joined: Timestamp,
        /// Further conditions by type: what they are, and since when.
        conditions: BTreeMap<String, (bool, Timestamp)>,
    },
    /// The node lifecycle controller gave the kubelet up.
    Unknown {
        /// When the kubelet was heard of last.
        last_heartbeat: Timestamp,
    },
}

/// The result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The Node was created and got this uid.
    Joined {
        uid: String,
    },
    /// The Node was there with the VM's provider id and this uid.
    Adopted {
        uid: String,
    },
    /// The API server refused the bootstrap token.
    Refused,
    /// A Node of this name belongs to another VM.
    NameTaken,
    /// The user data has no bootstrap token.
    NoToken,
    /// The write was made.
    Written,
    /// The object to write does not exist (any more), or is another VM's.
    Missing,
    Failed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// Kubelets of VMs that run.
    pub alive: u64,
    /// Kubelets of VMs that run whose Node is registered.
    pub registered: u64,
    pub joined: u64,
    /// Nodes that were there already.
    pub adopted: u64,
    /// Joins whose token was refused; each repetition counts.
    pub joins_refused: u64,
    /// VMs whose Node's name belonged to another VM.
    pub conflicts: u64,
    /// VMs without a bootstrap token.
    pub without_token: u64,
    pub lease_writes: u64,
    /// Statuses written by kubelets.
    pub status_writes: u64,
    /// Nodes set to Unknown after a silence.
    pub set_unknown: u64,
    /// Actions that failed in a way that is not counted above.
    pub failures: u64,
}

#[derive(Debug)]
pub struct Fleet {
    timing: Timing,
    rng: Xoshiro256PlusPlus,
    kubelets: BTreeMap<KubeletId, Kubelet>,
    /// The live kubelet that has a Node's name.
    by_node: HashMap<String, KubeletId>,
    due: BTreeSet<(Timestamp, KubeletId)>,
    is_paused: bool,
    stats: Stats,
}

impl Fleet {
    pub fn new(timing: Timing, seed: u64) -> Self {
        Self {
            timing,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            kubelets: BTreeMap::new(),
            by_node: HashMap::new(),
            due: BTreeSet::new(),
            is_paused: false,
            stats: Stats::default(),
        }
    }

    /// Takes note of what happened to VMs.
    pub fn hear(&mut self, event: VmEvent, now: Timestamp) {
        match event {
            VmEvent::All(vms) => {
                let running: BTreeSet<KubeletId> = vms.iter().map(|vm| vm.id.as_str().into()).collect();
                let live = self.kubelets.iter().filter(|(_, kubelet)| kubelet.is_alive());
                let ended: Vec<KubeletId> =
                    live.map(|(id, _)| Arc::clone(id)).filter(|id| !running.contains(id)).collect();
                for id in ended {
                    self.end(&id, now);
                }
                for vm in vms {
                    self.start_or_restart(vm, now);
                }
            }
            VmEvent::Runs(vm) | VmEvent::Rebooted(vm) => self.start_or_restart(vm, now),
            VmEvent::Ended(id) => self.end(&id.as_str().into(), now),
        }
    }

    /// The actions that are due, at most so many. Each is to be answered by [`Fleet::finish`]; until then its kubelet
    /// does nothing else.
    pub fn take_due(&mut self, now: Timestamp, limit: usize) -> Vec<(KubeletId, Action)> {
        let mut actions = Vec::new();
        while actions.len() < limit {
            let Some((at, id)) = self.due.first().cloned() else { break };
            if at > now {
                break;
            }
            self.due.pop_first();
            if let Some(kubelet) = self.kubelets.get_mut(&id) {
                kubelet.due = None;
                if let Some(action) = kubelet.begin(now, &self.timing) {
                    actions.push((id, action));
                } else {
                    self.schedule(&id);
                }
            }
        }
        actions
    }

    /// When something is due next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes note of what came of an action.
    pub fn finish(&mut self, id: &KubeletId, action: &Action, done: &Done, now: Timestamp) {
        self.count(action, done);
        let Some(kubelet) = self.kubelets.get_mut(id) else { return };
        let jitter = self.rng.random::<f64>();
        let news = kubelet.finish(action, done, now, &self.timing, jitter);
        if news.is_first_conflict {
            self.stats.conflicts += 1;
        }
        if news.is_over {
            self.forget(id);
        } else {
            self.schedule(id);
        }
    }

    /// Sets what the kubelet of this Node reports as Ready. False if there is no such kubelet.
    pub fn set_ready(&mut self, node_name: &str, is_ready: bool, now: Timestamp) -> bool {
        self.order(node_name, |kubelet, _| kubelet.set_ready(is_ready, now))
    }

    /// Sets what the kubelet of this Node reports as a further condition, such as `ReadonlyFilesystem`. False if there
    /// is no such kubelet.
    pub fn set_condition(&mut self, node_name: &str, kind: &str, is_true: bool, now: Timestamp) -> bool {
        self.order(node_name, |kubelet, _| kubelet.set_condition(kind, is_true, now))
    }

    /// Stops all that the kubelet of this Node does. False if there is no such kubelet.
    pub fn silence(&mut self, node_name: &str, now: Timestamp) -> bool {
        self.order(node_name, |kubelet, timing| kubelet.silence(now, timing))
    }

    /// Ends a silence. False if there is no such kubelet.
    pub fn resume(&mut self, node_name: &str, now: Timestamp) -> bool {
        self.order(node_name, |kubelet, _| kubelet.resume(now))
    }

    /// Silences all kubelets, also those that are yet to start.
    pub fn pause_all(&mut self, now: Timestamp) {
        self.is_paused = true;
        self.order_all(|kubelet, timing| kubelet.silence(now, timing));
    }

    /// Ends the silence of all kubelets, also of those that were silenced one by one.
    pub fn resume_all(&mut self, now: Timestamp) {
        self.is_paused = false;
        self.order_all(|kubelet, _| kubelet.resume(now));
    }

    /// Whether the kubelet of this Node works: its VM runs, the Node is registered and it is not silent.
    pub fn is_up(&self, node_name: &str) -> bool {
        let kubelet = self.by_node.get(node_name).and_then(|id| self.kubelets.get(id));
        kubelet.is_some_and(Kubelet::is_up)
    }

    pub fn stats(&self) -> Stats {
        let live = || self.kubelets.values().filter(|kubelet| kubelet.is_alive());
        Stats {
            alive: live().count() as u64,
            registered: live().filter(|kubelet| kubelet.is_registered()).count() as u64,
            ..self.stats
        }
    }

    /// Names of the Nodes that live kubelets have registered, in order.
    pub fn registered(&self) -> Vec<String> {
        let live = self.kubelets.values().filter(|kubelet| kubelet.is_alive() && kubelet.is_registered());
        let mut names: Vec<String> = live.map(|kubelet| kubelet.vm.node_name.clone()).collect();
        names.sort();
        names
    }

    fn start_or_restart(&mut self, vm: Vm, now: Timestamp) {
        let id: KubeletId = vm.id.as_str().into();
        let boot = self.timing.boot_delay + self.spread();
        match self.kubelets.get_mut(&id) {
            Some(kubelet) if kubelet.vm.boot_id == vm.boot_id => {}
            Some(kubelet) => kubelet.reboot(Arc::new(vm), now, boot, self.timing.join_delay),
            None => {
                let at = after(now, boot + self.timing.join_delay);
                let mut kubelet = Kubelet::new(Arc::new(vm), at);
                if self.is_paused {
                    kubelet.silence(now, &self.timing);
                }
                self.by_node.insert(kubelet.vm.node_name.clone(), Arc::clone(&id));
                self.kubelets.insert(Arc::clone(&id), kubelet);
            }
        }
        self.schedule(&id);
    }

    fn end(&mut self, id: &KubeletId, now: Timestamp) {
        let Some(kubelet) = self.kubelets.get_mut(id).filter(|kubelet| kubelet.is_alive()) else { return };
        if self.by_node.get(&kubelet.vm.node_name) == Some(id) {
            self.by_node.remove(&kubelet.vm.node_name);
        }
        if kubelet.end(now, &self.timing).is_over {
            self.forget(id);
        } else {
            self.schedule(id);
        }
    }

    fn forget(&mut self, id: &KubeletId) {
        if let Some(at) = self.kubelets.remove(id).and_then(|kubelet| kubelet.due) {
            self.due.remove(&(at, Arc::clone(id)));
        }
    }

    /// Brings the timetable in line with what the kubelet wants next.
    fn schedule(&mut self, id: &KubeletId) {
        if let Some(kubelet) = self.kubelets.get_mut(id) {
            let wanted = kubelet.next();
            if kubelet.due != wanted {
                if let Some(at) = kubelet.due {
                    self.due.remove(&(at, Arc::clone(id)));
                }
                if let Some(at) = wanted {
                    self.due.insert((at, Arc::clone(id)));
                }
                kubelet.due = wanted;
            }
        }
    }

    fn order(&mut self, node_name: &str, order: impl FnOnce(&mut Kubelet, &Timing)) -> bool {
        let Some(id) = self.by_node.get(node_name).cloned() else { return false };
        let Some(kubelet) = self.kubelets.get_mut(&id) else { return false };
        order(kubelet, &self.timing);
        self.schedule(&id);
        true
    }

    fn order_all(&mut self, order: impl Fn(&mut Kubelet, &Timing)) {
        for id in self.kubelets.keys().cloned().collect::<Vec<_>>() {
            if let Some(kubelet) = self.kubelets.get_mut(&id).filter(|kubelet| kubelet.is_alive()) {
                order(kubelet, &self.timing);
                self.schedule(&id);
            }
        }
    }

    fn count(&mut self, action: &Action, done: &Done) {
        let stats = &mut self.stats;
        *match (done, action) {
            (Done::Joined { .. }, _) => &mut stats.joined,
            (Done::Adopted { .. }, _) => &mut stats.adopted,
            (Done::Refused, _) => &mut stats.joins_refused,
            (Done::NoToken, _) => &mut stats.without_token,
            (Done::Failed, _) => &mut stats.failures,
            (Done::Written, Action::Lease { .. }) => &mut stats.lease_writes,
            (Done::Written, Action::Status { write: StatusWrite::Report { .. }, .. }) => {
                &mut stats.status_writes
            }
            (Done::Written, Action::Status { write: StatusWrite::Unknown { .. }, .. }) => {
                &mut stats.set_unknown
            }
            (Done::Written, Action::Join { .. }) | (Done::Missing | Done::NameTaken, _) => return,
        } += 1;
    }

    fn spread(&mut self) -> Duration {
        self.timing.spread.mul_f64(self.rng.random::<f64>())
    }
}

/// The time after this wait.
pub(crate) fn after(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}

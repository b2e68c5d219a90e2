//! The checker: it compares each change of an object, each call of a driver and each request with the rules.
//!
//! The rules look at the world as it is, never at what a host believes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `facts` | the state of the simulated clusters, learned from each change as it happens |
//! | `machine`, `node`, `workload` | a Machine, a Node, and pods and volumes as the API server has them |
//! | `rules` | the rules that always hold: plain functions of the known state and the events |
//! | `doubt` | creates in clouds without keys: which of them may have made a VM |
//! | `drained` | no VM is deleted under its pods and volumes, before force |
//! | `gate` | actions that are forbidden while an API server is away |
//! | `hooks` | a deletion waits for the hooks of others |
//! | `meltdown` | not too many Machines are given up at a time, nor those of a silent zone |
//! | `owners` | MachineSets and MachineDeployments, and their Machines |
//! | `preservation` | Machines that are preserved, and Nodes that are updated in place |
//! | `taken` | names of Nodes that are taken by others |
//! | `verdicts` | policies that only observe change nothing |
//! | `infra` | MachinistMachines in both management clusters |

mod doubt;
mod drained;
mod facts;
mod gate;
mod hooks;
mod infra;
mod machine;
mod meltdown;
mod node;
mod owners;
mod preservation;
mod rules;
mod taken;
mod verdicts;
mod workload;

use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use machinist_core::driver::error::Code;
use machinist_core::driver::{Creation, DriverResult, MachineIdentity};
use machinist_runtime::context::clock::Clock;
use memory_api::Change;
use memory_api::wire::{Call, Wire};
use simcloud::EventVm;
use tokio::sync::Notify;

use crate::cloud::SimCloud;
use crate::names::{Site, is_of_cluster_api};
use crate::rule::{Rule, Violation};
use crate::story::Story;
pub(crate) use facts::{Facts, NodeTruth};
pub(crate) use machine::MachineFact;

#[derive(Clone)]
pub(crate) struct Watchman {
    facts: Arc<Mutex<Facts>>,
    found: Arc<Mutex<Vec<Violation>>>,
    alarmed: Arc<Notify>,
    cloud: SimCloud,
    clock: Clock,
    wire: Wire,
    story: Story,
}

impl Watchman {
    pub(crate) fn new(cloud: SimCloud, clock: Clock, wire: Wire, story: Story) -> Self {
        let (facts, found, alarmed) = (Arc::default(), Arc::default(), Arc::default());
        Self { facts, found, alarmed, cloud, clock, wire, story }
    }

    /// The violations found, in order.
    pub(crate) fn found(&self) -> Vec<Violation> {
        self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Until something was found.
    pub(crate) async fn alarm(&self) {
        while self.found().is_empty() {
            self.alarmed.notified().await;
        }
    }

    /// A rule was broken.
    pub(crate) fn break_rule(&self, rule: Rule, detail: impl Into<String>) {
        let violation = Violation { rule, at: self.clock.now(), detail: detail.into() };
        self.found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(violation);
        self.alarmed.notify_one();
    }

    /// Something happened that is worth a line of the story, and part of the trace.
    pub(crate) fn note(&self, what: (&str, &str)) {
        self.wire.note(&what);
        self.story.tell(self.clock.now(), what);
    }

    /// The known state of the simulated clusters.
    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// An object of a management cluster changes. Called while its API server is locked.
    pub(crate) fn changed(&self, site: Site, change: &Change<'_>) {
        let now = self.clock.now();
        let mut broken = match site {
            Site::Home => rules::of_change(&self.facts(), &self.cloud, change, now),
            // Nobody has Machines of MCM's kinds there.
            Site::Away => Vec::new(),
        };
        broken.extend(infra::of_change(&self.facts(), &self.cloud, change, now));
        for (rule, detail) in broken {
            self.break_rule(rule, detail);
        }
        self.facts().learn(site, change, now);
    }

    /// A host sends a create or a delete, whatever becomes of it on the way.
    pub(crate) fn change_sent(&self, function: &str, machine: &MachineIdentity, actor: &str) {
        let broken = infra::of_call(&self.facts(), function, machine, actor, self.clock.now());
        if let Some((rule, detail)) = broken {
            self.break_rule(rule, detail);
        }
    }

    /// The cloud has made a VM.
    pub(crate) fn vm_appears(&self, vm: &EventVm) {
        let broken = infra::of_created(&self.facts(), &self.cloud, vm);
        if let Some((rule, detail)) = broken {
            self.break_rule(rule, detail);
        }
    }

    /// A host sends a request or calls a driver.
    pub(crate) fn sent(&self, call: &Call) {
        let broken = rules::of_call(&self.facts(), call, self.clock.now());
        if let Some(detail) = broken {
            self.break_rule(Rule::Leader, detail);
        }
        if let Some(detail) = self.facts().repeated(call, self.clock.now()) {
            self.break_rule(Rule::Repeats, detail);
        }
        let asked = self.facts().count(call, self.clock.now());
        if let Some(detail) = asked {
            self.break_rule(Rule::Sparing, detail);
        }
    }

    /// A create reaches the cloud.
    pub(crate) fn create_asked(&self, uid: &str, actor: &str) {
        let broken =
            gate::of_action(&self.facts(), actor, &format!("makes a VM for {uid}"), self.clock.now());
        if let Some(detail) = broken {
            self.break_rule(Rule::Gate, detail);
        }
    }

    /// A create has come to its end in the cloud.
    pub(crate) fn vm_made(&self, mark: &str) {
        if self.cloud.duplicates_ever() > 0 {
            let rule = if is_of_cluster_api(mark) { Rule::OneVmForKey } else { Rule::OneVm };
            self.break_rule(rule, "two live VMs carry the uid of one Machine");
        }
    }

    /// A host sends a create, whatever becomes of it on the way.
    pub(crate) fn create_sent(&self, uid: &str, actor: &str) {
        self.facts().creates.sent(uid, actor, self.clock.now());
    }

    /// A create has come to its end at its host.
    pub(crate) fn create_ended(&self, uid: &str, actor: &str, answer: &DriverResult<Creation>) {
        self.facts().creates.ended(uid, actor, answer, self.cloud.window(), self.clock.now());
    }

    /// A host looks for the VM of a Machine, or initializes it.
    pub(crate) fn call_sent(&self, uid: &str, actor: &str) {
        self.facts().creates.call_sent(uid, actor, self.clock.now());
    }

    /// That call has come to its end at its host, with this error of a look or without.
    pub(crate) fn call_ended(&self, uid: &str, actor: &str, error: Option<Code>) {
        self.facts().creates.call_ended(uid, actor, error, self.clock.now());
    }

    /// When a host has come back at the latest to a Machine without a VM, as far as its calls tell.
    pub(crate) fn back_by(&self, uid: &str) -> Option<Timestamp> {
        self.facts().creates.back_by(uid, self.cloud.window())
    }

    pub(crate) fn tick(&self) {
        let lasting = doubt::lasts_too_long(&self.facts(), self.cloud.window(), self.clock.now());
        if let Some(detail) = lasting {
            self.break_rule(Rule::Doubt, detail);
        }
    }

    /// A delete reaches the cloud.
    pub(crate) fn delete_asked(&self, vm: &str, actor: &str) {
        let broken = rules::of_delete(&mut self.facts(), &self.cloud, vm, actor, self.clock.now());
        if let Some((rule, detail)) = broken {
            self.break_rule(rule, detail);
        }
    }

    /// An order to remove one VM of two, by its id, reaches the cloud.
    pub(crate) fn delete_by_id_asked(&self, vm: &str, actor: &str) {
        let broken = rules::of_delete_by_id(&self.facts(), &self.cloud, vm, actor, self.clock.now());
        if let Some((rule, detail)) = broken {
            self.break_rule(rule, detail);
        }
    }

    /// A request to reboot a VM reaches the cloud.
    pub(crate) fn reboot_asked(&self, vm: &str, actor: &str) {
        let forbidden =
            gate::of_action(&self.facts(), actor, &format!("starts VM {vm} anew"), self.clock.now());
        if let Some(detail) = forbidden {
            self.break_rule(Rule::Gate, detail);
        }
        if !self.facts().has_judges {
            self.break_rule(Rule::Verdicts, format!("{actor} starts VM {vm} anew, and no policy decides"));
        }
    }
}

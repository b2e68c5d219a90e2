//! The checker: it compares each change of an object, each call of a driver and each request with the rules.
//!
//! The rules look at the world as it is, never at what a host believes.

mod doubt;
mod drained;
mod facts;
mod gate;
mod hooks;
mod machine;
mod meltdown;
mod node;
mod owners;
mod preservation;
mod rules;
mod taken;
mod verdicts;
mod workload;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use jiff::Timestamp;
use machinist_core::driver::error::Code;
use machinist_core::driver::{Answer, Creation};
use machinist_runtime::context::clock::Clock;
use memory_api::Change;
use memory_api::wire::{Call, Wire};
use tokio::sync::Notify;

use crate::cloud::SimCloud;
use crate::story::Story;
pub(crate) use facts::{Facts, NodeTruth};
pub(crate) use machine::MachineFact;
pub(crate) use rules::HOST;

/// The rules that always hold, and those that hold in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Never two live VMs for one Machine.
    OneVm,
    /// Never a delete for a VM whose Machine is not being deleted, nor for one without a Machine before it is old
    /// enough and was listed often enough.
    NoUnaskedDelete,
    /// Never a VM deleted as the second one of its Machine that a Machine has stored; and second ones go in the end,
    /// where the driver offers that.
    SecondVms,
    /// The finalizer goes only after the VM is gone.
    FinalizerLast,
    /// Never a pod taken away against its budget before the force deadline.
    Budget,
    /// Never a Node written, or removed, that is that of another VM.
    OthersNodes,
    /// Never a second Machine of a group failed for the name of its Node while the first one is there, nor many of them
    /// soon.
    NamesTaken,
    /// Nothing is written and no cloud is called without leading.
    Leader,
    /// Nothing is created, failed, deleted or rebooted, unless somebody requested its deletion, while an API server is
    /// away for longer than the gate waits.
    Gate,
    /// A machine that is healthy is never failed, whatever is out of order around it.
    HealthyStays,
    /// Never more Machines of a group given up at a time than its limit, nor any of a silent zone whose VM is alive.
    Meltdown,
    /// Never a pod taken away for a deletion while a hook before the drain holds it.
    PreDrain,
    /// Never a VM deleted while a hook before that holds it.
    PreTerminate,
    /// Never a VM deleted with pods on its Node before force.
    Drained,
    /// Never a VM deleted while a volume has just begun to leave it, nor an attachment left behind with a Node.
    Volumes,
    /// Never a preserved Machine deleted by the host, nor kept for another time than it is to be.
    Preserved,
    /// Never a Node handed over for an update that is not selected, or not empty.
    InPlace,
    /// A policy that only observes never changes a phase and never reboots a VM.
    Verdicts,
    /// Never one Machine more made for a set than it wants.
    Surplus,
    /// Never more Machines of a deployment than its number and its surge, by what hosts make or want to be made.
    Surge,
    /// Never fewer available Machines of a deployment than its strategy allows, by what hosts take away.
    Availability,
    /// Never more Machines in service taken away within a time than the disruption budget of their deployment allows.
    Disruptions,
    /// Never another Machine taken away in the place of one that the autoscaler has chosen.
    Chosen,
    /// Never the name of a Machine that a set has let go, for another one of it.
    Names,
    /// Never a Machine or set that nobody would remove, nor one removed that is to stay without its owner.
    Orphans,
    /// Never a Machine made for a frozen set.
    Frozen,
    /// Never a Machine held for a VM that an earlier create may have made, when each of them failed for certain, nor
    /// for longer than reads of the cloud lag.
    Doubt,
    /// Without faults every Machine has asked for its VM soon.
    ComesUp,
    /// Never a text in the spec of a Machine or in the template of a set that is no duration where one is expected,
    /// written by a host.
    HandedDown,
    /// Never the same deletion of a Machine or set asked for again and again without a pause.
    Repeats,
    /// No VM is left without a Machine at the end.
    NoLeak,
    /// Without faults everything comes to where it is wished.
    Converges,
    /// Then nothing is written any more.
    Quiet,
    /// Never one cloud asked over and over about the removal of one VM.
    Sparing,
    NoPanic,
}

/// A rule that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    pub rule: Rule,
    /// When, in simulated time.
    pub at: Timestamp,
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}: {}", self.rule, self.at, self.detail)
    }
}

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

    /// An object changes. Called while the API server is locked.
    pub(crate) fn changed(&self, change: &Change<'_>) {
        let now = self.clock.now();
        let broken = rules::of_change(&self.facts(), &self.cloud, change, now);
        for (rule, detail) in broken {
            self.break_rule(rule, detail);
        }
        self.facts().learn(change, now);
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
    pub(crate) fn vm_made(&self) {
        if self.cloud.duplicates_ever() > 0 {
            self.break_rule(Rule::OneVm, "two live VMs carry the uid of one Machine");
        }
    }

    /// A host sends a create, whatever becomes of it on the way.
    pub(crate) fn create_sent(&self, uid: &str, actor: &str) {
        self.facts().creates.sent(uid, actor, self.clock.now());
    }

    /// A create has come to its end at its host.
    pub(crate) fn create_ended(&self, uid: &str, actor: &str, answer: &Answer<Creation>) {
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

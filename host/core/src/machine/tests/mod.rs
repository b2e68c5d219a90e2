//! Decisions about a Machine as behaviour: facts and answers in, the whole reconcile out.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `creation`, `life`, `deletion`, `ownership` | the stages of a Machine |
//! | `frozen` | a frozen host |
//! | `converge` | reconcile after reconcile until nothing is left to do |
//! | `exhaustive` | every combination of abstract facts against the invariants |
//! | `planted` | planted bugs: each invariant finds its own |
//! | `facts`, `report` | facts to start from, and passes as text |

mod converge;
pub(crate) mod creation;
pub(crate) mod deletion;
mod exhaustive;
pub(crate) mod facts;
mod frozen;
pub(crate) mod life;
pub(crate) mod ownership;
mod planted;
mod report;

use std::collections::BTreeMap;

use expect_test::Expect;
use jiff::{SignedDuration, Timestamp};

use crate::drain;
use crate::driver::error::{CallError, Code, DriverError};
use crate::driver::{Creation, Deletion};
use crate::machine::{
    DeletionStage, MachineEffect, MachineOutcome, MachineProgress, MachineStep, MachineView, NodeFact,
    NodePresence, TargetFact,
};
use crate::machine::{invariants, step};
use crate::safety::meltdown::Permit;
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::Phase;

use facts::{node, vm};
use report::{conclusion_text, effect_text};

/// No reconcile needs more. The runtime cuts off later than this.
const BATCHES_PER_PASS: usize = 12;

/// One reconcile: the facts, the time, and the outcomes of effects. Effects without a given outcome succeed: writes are
/// done, queries find nothing, and the cloud does what it is asked.
#[derive(Clone)]
pub(super) struct Case {
    view: MachineView,
    now: Timestamp,
    answers: BTreeMap<&'static str, MachineOutcome>,
}

/// A Machine that nobody has looked at.
pub(super) fn creating() -> Case {
    Case { view: facts::view(), now: seconds(1), answers: BTreeMap::new() }
}

/// A Machine whose creation was begun in an earlier reconcile.
pub(super) fn begun() -> Case {
    creating().with(|view| {
        view.machine.has_finalizer = true;
        view.machine.has_priority = true;
    })
}

/// A Machine whose VM is there and whose Node is not.
pub(super) fn pending() -> Case {
    begun().with(facts::make_pending)
}

/// A Machine whose Node is healthy.
pub(super) fn running() -> Case {
    pending().with(facts::make_running).node(node())
}

/// A Machine whose Node was unhealthy at second 100.
pub(super) fn unknown() -> Case {
    running().with(facts::make_unknown).node(facts::unhealthy_node()).at(110)
}

/// A Machine that has failed, with a VM.
pub(super) fn failed() -> Case {
    pending().with(|view| {
        view.machine.phase = Phase::Failed;
        view.machine.operation = facts::operation("Create", "Failed");
    })
}

/// A Machine that has run and is on its way out since second 100. Its Node is cordoned and has no pods.
pub(super) fn deleting() -> Case {
    running().with(facts::make_terminating).node(facts::going_node()).at(100)
}

impl Case {
    pub(super) fn with(mut self, change: impl FnOnce(&mut MachineView)) -> Self {
        change(&mut self.view);
        self
    }

    /// The time, in seconds since the Machine's creation.
    pub(super) fn at(mut self, second: i64) -> Self {
        self.now = seconds(second);
        self
    }

    /// The outcome of its effect.
    pub(super) fn on(mut self, outcome: MachineOutcome) -> Self {
        self.answers.insert(outcome.effect_name(), outcome);
        self
    }

    pub(super) fn node(self, node: NodeFact) -> Self {
        self.with(|view| view.target = TargetFact::Cluster(NodePresence::Present(node)))
    }

    pub(super) fn without_node(self) -> Self {
        self.with(|view| view.target = TargetFact::Cluster(NodePresence::Absent))
    }

    pub(super) fn without_target(self) -> Self {
        self.with(|view| view.target = TargetFact::None)
    }

    pub(super) fn frozen(self) -> Self {
        let reason = FreezeReason::TargetClusterUnreachable;
        self.with(|view| view.gate = Gate::Frozen { since: seconds(0), reason })
    }

    fn answer(&self, effect: &MachineEffect) -> MachineOutcome {
        let not_found = CallError::Guest(DriverError::new(Code::NotFound, "no such machine"));
        self.answers.get(effect.name()).cloned().unwrap_or_else(|| match effect {
            MachineEffect::AddFinalizer => MachineOutcome::AddFinalizer(Ok(())),
            MachineEffect::EnsureToken => MachineOutcome::EnsureToken(Ok(())),
            MachineEffect::NoteIntent => MachineOutcome::NoteIntent(Ok(())),
            MachineEffect::CloseIntent => MachineOutcome::CloseIntent(Ok(())),
            MachineEffect::ProbeVm => MachineOutcome::ProbeVm(Err(not_found)),
            MachineEffect::CreateVm => MachineOutcome::CreateVm(Ok(Creation::Created(vm()))),
            MachineEffect::InitializeVm => MachineOutcome::InitializeVm(Ok(vm())),
            MachineEffect::PlaceVm { .. } => MachineOutcome::PlaceVm(Ok("{}".to_owned())),
            MachineEffect::AskInterruptible => MachineOutcome::AskInterruptible(Ok(false)),
            MachineEffect::NameNode(vm) => MachineOutcome::NameNode(Ok(vm.provider_id.clone())),
            MachineEffect::RecordVm { .. } => MachineOutcome::RecordVm(Ok(())),
            MachineEffect::SyncNode { .. } => MachineOutcome::SyncNode(Ok(())),
            MachineEffect::ForgetToken => MachineOutcome::ForgetToken(Ok(())),
            MachineEffect::DeleteVm => {
                MachineOutcome::DeleteVm(Ok(Deletion::Deleted { last_known_state: None }))
            }
            MachineEffect::DeleteNode { .. } => MachineOutcome::DeleteNode(Ok(())),
            MachineEffect::ReleaseFinalizer => MachineOutcome::ReleaseFinalizer(Ok(())),
            MachineEffect::WriteMachine(_) => MachineOutcome::WriteMachine(Ok(())),
            MachineEffect::DeleteMachine => MachineOutcome::DeleteMachine(Ok(())),
            MachineEffect::Cordon { .. } => MachineOutcome::Cordon(Ok(())),
            MachineEffect::SetNodeCondition { .. } => MachineOutcome::SetNodeCondition(Ok(())),
            MachineEffect::NoteHooks => MachineOutcome::NoteHooks(Ok(())),
            MachineEffect::AskPermit(_) => MachineOutcome::AskPermit(Ok(Permit::Granted { zone: None })),
            MachineEffect::ExtendToken { .. } => MachineOutcome::ExtendToken(Ok(())),
            MachineEffect::WriteCapacity { .. } => MachineOutcome::WriteCapacity(Ok(())),
            MachineEffect::Drain(effect) => MachineOutcome::Drain(empty_drain(effect)),
            MachineEffect::AskPolicies => MachineOutcome::AskPolicies(Ok(Vec::new())),
            MachineEffect::NoteReboot(_) => MachineOutcome::NoteReboot(Ok(())),
            MachineEffect::RebootVm => MachineOutcome::RebootVm(Ok(())),
        })
    }

    /// Runs the reconcile to its end and tells it. The invariants hold at every step.
    fn report(&self) -> String {
        let mut progress = MachineProgress::default();
        let mut text = String::new();
        for _ in 0..BATCHES_PER_PASS {
            match step(&self.view, &progress, self.now) {
                MachineStep::Act(effects) => {
                    assert_eq!(
                        invariants::batch(&self.view, &progress, &effects, self.now),
                        Ok(()),
                        "{text}"
                    );
                    let names: Vec<String> = effects.iter().map(effect_text).collect();
                    text.push_str(&format!("act {}\n", names.join(" + ")));
                    for effect in &effects {
                        progress.record(self.answer(effect));
                    }
                }
                MachineStep::Finish(conclusion) => {
                    let verdict = invariants::conclusion(&self.view, &progress, &conclusion);
                    assert_eq!(verdict, Ok(()), "{text}{conclusion:?}");
                    return text + &conclusion_text(&conclusion);
                }
            }
        }
        panic!("the pass does not end:\n{text}");
    }
}

/// No pods, and what is asked to go goes.
pub(super) fn empty_drain(effect: &drain::DrainEffect) -> drain::DrainOutcome {
    match effect {
        drain::DrainEffect::ListPods { read, .. } => {
            drain::DrainOutcome::Pods(Ok(drain::PodListing { read: *read, pods: Vec::new() }))
        }
        drain::DrainEffect::Evict(pod) => drain::DrainOutcome::Evict { pod: pod.clone(), result: Ok(()) },
        drain::DrainEffect::DeletePod(pod) => {
            drain::DrainOutcome::DeletePod { pod: pod.clone(), result: Ok(()) }
        }
        drain::DrainEffect::DeleteAttachment { name, .. } => {
            drain::DrainOutcome::DeleteAttachment { name: name.clone(), result: Ok(()) }
        }
    }
}

/// As after a reconcile that has reported at `second` that the VM is being removed.
pub(super) fn ordered(case: Case, second: i64) -> Case {
    case.with(|view| {
        view.machine.deletion_facts.left_at = Some(DeletionStage::Vm);
        view.machine.deletion_facts.left_since = Some(seconds(second));
    })
}

/// Second of the tests' clock, whose zero is the Machine's creation.
pub(super) fn seconds(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365) + SignedDuration::from_secs(second)
}

/// The reconcile tells as expected.
pub(super) fn check(case: &Case, expected: &Expect) {
    expected.assert_eq(&case.report());
}

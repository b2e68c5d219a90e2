//! Reconciles of an infrastructure machine, by facts and outcomes.
//!
//! | module | shows |
//! | --- | --- |
//! | `life` | from creation to deletion: order, prerequisites, pauses, contested keys |
//! | `driver_functions` | questions about failure domain, Node id and interruption |
//! | `readiness` | condition Ready, its reasons and the addresses |

mod driver_functions;
mod life;
mod readiness;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::driver::error::{CallError, Code, DriverError, GuestFailure};
use crate::driver::write_error::ActError;
use crate::driver::{Address, Capabilities, Creation, Deletion, Vm, VmState};
use crate::machine::node::health::ConditionStatus;
use crate::machine::tests::facts::{self, guest, vm, vm_that_is};
use crate::machine::{DriverFact, MachineOutcome, MachineProgress, MachineReason, Requeue, TargetFact};
use crate::scheduling::vm_checks::{UNSEEN_INTERVAL, VmCheckFact};
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

/// All that creation waits for is there, and nothing was done yet.
fn fresh() -> InfraMachineView {
    let mut machine = facts::view();
    machine.target = TargetFact::None;
    machine.settings.creation_timeout = SignedDuration::MAX;
    InfraMachineView {
        machine,
        owner: OwnerFact::Present,
        cluster: ClusterFact::Ready,
        paused: None,
        contested_by: Vec::new(),
        bootstrap: BootstrapFact::Ready,
        data_changed: None,
        identity: IdentityFact::Ready,
        reserved_mark: None,
        failure_domain: None,
        is_provisioned: false,
        interruptible: None,
        reported: None,
        names: &NAMES,
    }
}

const NAMES: InfraNames = InfraNames { key: "key", finalizer: "finalizer", cluster: "cluster" };

fn begun() -> InfraMachineView {
    let mut view = fresh();
    view.machine.machine.has_finalizer = true;
    view.machine.machine.has_priority = true;
    view
}

fn provisioned() -> InfraMachineView {
    let mut view = begun();
    view.machine.machine.provider_id = Some(vm().provider_id);
    view.machine.machine.phase = Phase::Available;
    view.is_provisioned = true;
    view
}

/// A machine in service whose VM is looked at then.
fn next_look(next: Timestamp) -> InfraMachineView {
    let mut view = provisioned();
    view.machine.vm_check = Some(VmCheckFact {
        next,
        interval: SignedDuration::from_hours(1),
        missed: None,
        is_doubted: false,
        is_unproven: false,
    });
    view
}

fn deleting(mut view: InfraMachineView) -> InfraMachineView {
    view.machine.machine.deletion = Some(now());
    view.machine.machine.phase = Phase::Terminating;
    view
}

fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}

/// Runs a reconcile: `answer` says what comes of each effect. Returns the names of the effects, and the end.
fn run(
    view: &InfraMachineView,
    mut answer: impl FnMut(&MachineEffect) -> Option<MachineOutcome>,
) -> (Vec<&'static str>, InfraConclusion) {
    let (mut progress, mut names) = (MachineProgress::default(), Vec::new());
    for _ in 0..12 {
        match step(view, &progress, now()) {
            InfraStep::Act(effects) => {
                for effect in effects {
                    names.push(effect.name());
                    let outcome = answer(&effect).unwrap_or_else(|| done(&effect));
                    progress.record(outcome);
                }
            }
            InfraStep::Finish(conclusion) => return (names, conclusion),
        }
    }
    panic!("no end after {names:?}");
}

/// Each effect succeeds, and the cloud has made a VM that runs.
fn done(effect: &MachineEffect) -> MachineOutcome {
    match effect {
        MachineEffect::AddFinalizer => MachineOutcome::AddFinalizer(Ok(())),
        MachineEffect::CreateVm => {
            MachineOutcome::CreateVm(Ok(Creation::Created(vm_that_is(VmState::Running))))
        }
        MachineEffect::ProbeVm => MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Running))),
        MachineEffect::InitializeVm => MachineOutcome::InitializeVm(Ok(vm_that_is(VmState::Running))),
        MachineEffect::PlaceVm { .. } => MachineOutcome::PlaceVm(Ok("{}".to_owned())),
        MachineEffect::AskInterruptible => MachineOutcome::AskInterruptible(Ok(true)),
        MachineEffect::NameNode(vm) => MachineOutcome::NameNode(Ok(vm.provider_id.clone())),
        MachineEffect::RecordVm { .. } => MachineOutcome::RecordVm(Ok(())),
        MachineEffect::DeleteVm => MachineOutcome::DeleteVm(Ok(Deletion::Deleted { last_known_state: None })),
        MachineEffect::ReleaseFinalizer => MachineOutcome::ReleaseFinalizer(Ok(())),
        other => panic!("{other:?} is not for infrastructure machines"),
    }
}

fn ready(conclusion: &InfraConclusion) -> (Option<ConditionStatus>, &'static str) {
    (conclusion.status.ready, conclusion.reason.as_str())
}

const READY: Option<ConditionStatus> = Some(ConditionStatus::True);
const NOT_READY: Option<ConditionStatus> = Some(ConditionStatus::False);
const UNKNOWN: Option<ConditionStatus> = Some(ConditionStatus::Unknown);

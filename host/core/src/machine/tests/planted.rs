//! Each invariant bites: a planted violation is named.

use crate::driver::{Creation, Deletion};
use crate::driver_error::Code;
use crate::gate::FreezeReason;
use crate::machine::invariants::{self, Violation};
use crate::machine::{
    Conclusion, Effect, MachineView, NodePresence, Outcome, Progress, Reason, StatusChange, TargetFact, Wake,
};
use crate::node_sync::NodeChange;
use crate::phase::Phase;

use super::facts::{capabilities, guest, substitute, vm};
use super::{Case, begun, creating, deleting, pending, running, seconds};

fn progress(outcomes: impl IntoIterator<Item = Outcome>) -> Progress {
    let mut progress = Progress::default();
    outcomes.into_iter().for_each(|outcome| progress.record(outcome));
    progress
}

fn batch(
    case: &Case,
    outcomes: impl IntoIterator<Item = Outcome>,
    effects: &[Effect],
) -> Result<(), Violation> {
    invariants::batch(&case.view, &progress(outcomes), effects, case.now)
}

fn looked() -> Outcome {
    Outcome::ProbeVm(Err(guest(Code::NotFound)))
}

fn ordered() -> Outcome {
    Outcome::DeleteVm(Ok(Deletion::Deleted { last_known_state: None }))
}

fn delete_node(name: &str) -> Effect {
    Effect::DeleteNode { node: name.into(), uid: "node-uid-1".into() }
}

#[test]
fn a_vm_is_created_only_for_a_machine_that_is_held() {
    assert_eq!(batch(&creating(), [], &[Effect::CreateVm]), Err(Violation::CreateWithoutFinalizer));
    assert_eq!(batch(&creating(), [Outcome::Claim(Ok(()))], &[Effect::CreateVm]), Ok(()));
}

#[test]
fn a_machine_never_gets_a_second_vm() {
    assert_eq!(batch(&pending(), [looked()], &[Effect::CreateVm]), Err(Violation::SecondVm));
    let found = Outcome::ProbeVm(Ok(vm()));
    assert_eq!(batch(&begun(), [found], &[Effect::CreateVm]), Err(Violation::SecondVm));
    let made = Outcome::CreateVm(Ok(Creation::Created(vm())));
    assert_eq!(batch(&begun(), [looked(), made], &[Effect::CreateVm]), Err(Violation::Repeated));
}

#[test]
fn a_create_that_is_not_the_first_comes_after_a_look() {
    assert_eq!(batch(&begun(), [], &[Effect::CreateVm]), Err(Violation::CreateWithoutLook));
    assert_eq!(batch(&begun(), [looked()], &[Effect::CreateVm]), Ok(()));
}

#[test]
fn where_the_cloud_keeps_no_keys_a_create_is_noted() {
    let keyless = begun().with(capabilities(|offers| offers.idempotency_key = false));
    assert_eq!(batch(&keyless, [looked()], &[Effect::CreateVm]), Err(Violation::CreateWithoutIntent));
    assert_eq!(batch(&keyless, [looked(), Outcome::NoteIntent(Ok(()))], &[Effect::CreateVm]), Ok(()));
}

#[test]
fn no_vm_is_made_by_another_version_than_the_class_pins() {
    let unpinned = begun().with(substitute);
    for effect in [Effect::CreateVm, Effect::InitializeVm] {
        assert_eq!(batch(&unpinned, [looked()], &[effect]), Err(Violation::CreateBySubstitute));
    }
}

#[test]
fn a_machine_that_is_going_is_not_made() {
    for effect in [Effect::Claim, Effect::EnsureToken, Effect::CreateVm, Effect::InitializeVm] {
        assert_eq!(batch(&deleting(), [], &[effect]), Err(Violation::CreateWhileDeleting));
    }
}

#[test]
fn what_nobody_asked_to_remove_is_not_removed() {
    for effect in [Effect::DeleteVm, delete_node("node-1"), Effect::ReleaseFinalizer] {
        assert_eq!(batch(&running(), [], &[effect]), Err(Violation::DeleteWithoutRequest));
    }
}

#[test]
fn node_token_and_finalizer_go_after_the_vm() {
    let order_alone = [ordered()];
    let seen = [Outcome::ProbeVm(Ok(vm())), Outcome::DeleteVm(Err(guest(Code::NotFound)))];
    let unproven = [Outcome::ProbeVm(Err(guest(Code::Unavailable))), ordered()];
    for outcomes in [order_alone.to_vec(), seen.to_vec(), unproven.to_vec(), vec![looked()]] {
        let release = batch(&deleting(), outcomes.clone(), &[Effect::ReleaseFinalizer]);
        assert_eq!(release, Err(Violation::ReleaseBeforeVmGone));
        for effect in [Effect::ForgetToken, delete_node("node-1")] {
            let clean_up = batch(&deleting(), outcomes.clone(), &[effect]);
            assert_eq!(clean_up, Err(Violation::CleanUpBeforeVmGone));
        }
    }
    let all = [delete_node("node-1"), Effect::ForgetToken, Effect::ReleaseFinalizer];
    assert_eq!(batch(&deleting(), [looked(), ordered()], &all), Ok(()));
}

#[test]
fn nodes_of_others_are_not_touched() {
    let gone = [looked(), ordered()];
    assert_eq!(batch(&deleting(), gone.clone(), &[delete_node("node-2")]), Err(Violation::ForeignNode));
    let foreign =
        deleting().with(|view| view.target = TargetFact::Cluster(NodePresence::Foreign("sim://2".into())));
    assert_eq!(batch(&foreign, gone, &[delete_node("node-1")]), Err(Violation::ForeignNode));
    let sync = Effect::SyncNode { node: "node-2".into(), change: NodeChange::default() };
    assert_eq!(batch(&running(), [], &[sync]), Err(Violation::ForeignNode));
}

#[test]
fn a_frozen_gate_is_not_passed() {
    let frozen = begun().frozen();
    for effect in [Effect::EnsureToken, Effect::CreateVm, Effect::InitializeVm] {
        assert_eq!(batch(&frozen, [looked()], &[effect]), Err(Violation::Frozen));
    }
    let failing = StatusChange { phase: Some(Phase::Failed), ..StatusChange::default() };
    assert_eq!(end(&frozen.view, [], failing, Wake::Resync), Err(Violation::Frozen));
    assert_eq!(FreezeReason::Requested.name(), "Requested");
}

#[test]
fn a_batch_holds_something_and_nothing_twice() {
    assert_eq!(batch(&begun(), [], &[]), Err(Violation::EmptyBatch));
    assert_eq!(batch(&begun(), [], &[Effect::ProbeVm, Effect::ProbeVm]), Err(Violation::Repeated));
    assert_eq!(batch(&begun(), [looked()], &[Effect::ProbeVm]), Err(Violation::Repeated));
}

fn end(
    view: &MachineView,
    outcomes: impl IntoIterator<Item = Outcome>,
    status: StatusChange,
    wake: Wake,
) -> Result<(), Violation> {
    let conclusion = Conclusion { status, reason: Reason::Deleted, message: String::new(), wake };
    invariants::conclusion(view, &progress(outcomes), &conclusion)
}

fn phase(phase: Phase) -> StatusChange {
    StatusChange { phase: Some(phase), ..StatusChange::default() }
}

#[test]
fn only_what_is_gone_is_forgotten() {
    let nothing = StatusChange::default;
    assert_eq!(end(&running().view, [], nothing(), Wake::Gone), Err(Violation::NoWake));
    assert_eq!(end(&creating().view, [], nothing(), Wake::Gone), Err(Violation::NoWake));
    assert_eq!(end(&deleting().view, [], nothing(), Wake::Gone), Err(Violation::NoWake));
    let released = Outcome::ReleaseFinalizer(Ok(()));
    assert_eq!(end(&deleting().view, [released], nothing(), Wake::Gone), Ok(()));
    let let_go = creating().with(|view| view.machine.deletion = Some(seconds(1)));
    assert_eq!(end(&let_go.view, [], nothing(), Wake::Gone), Ok(()));
}

#[test]
fn a_pass_follows_at_once_only_on_a_change() {
    let pending = pending();
    assert_eq!(end(&pending.view, [], StatusChange::default(), Wake::Now), Err(Violation::HotLoop));
    assert_eq!(end(&pending.view, [], phase(Phase::Pending), Wake::Now), Err(Violation::HotLoop));
    assert_eq!(end(&pending.view, [], phase(Phase::Running), Wake::Now), Ok(()));
    let after = Wake::After(jiff::SignedDuration::ZERO);
    assert_eq!(end(&pending.view, [], StatusChange::default(), after), Err(Violation::HotLoop));
}

#[test]
fn deletion_is_neither_left_nor_entered_by_the_status_alone() {
    assert_eq!(end(&deleting().view, [], phase(Phase::Running), Wake::Resync), Err(Violation::WrongWay));
    assert_eq!(end(&running().view, [], phase(Phase::Terminating), Wake::Resync), Err(Violation::WrongWay));
}

#[test]
fn a_machine_counts_as_made_only_with_a_stored_id() {
    assert_eq!(end(&begun().view, [], phase(Phase::Pending), Wake::Resync), Err(Violation::Unrecorded));
    let recorded = Outcome::RecordVm(Ok(()));
    assert_eq!(end(&begun().view, [recorded], phase(Phase::Pending), Wake::Resync), Ok(()));
}

//! Each invariant bites: a planted violation is named.

use crate::drain;
use crate::driver::error::Code;
use crate::driver::{Creation, Deletion};
use crate::machine::invariants::{self, MachineViolation};
use crate::machine::node::sync::NodeChange;
use crate::machine::{
    MachineConclusion, MachineEffect, MachineOutcome, MachineProgress, MachineReason, MachineView,
    NodeConditionWrite, NodePresence, Requeue, StatusChange, TargetFact, in_place,
};
use crate::safety::meltdown::{Permit, ReplacementLimit, ZoneState};
use crate::scheduling::gate::FreezeReason;
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

use super::facts::{capabilities, guest, substitute, vm};
use super::{Case, begun, creating, deleting, pending, running, seconds};

fn progress(outcomes: impl IntoIterator<Item = MachineOutcome>) -> MachineProgress {
    let mut progress = MachineProgress::default();
    outcomes.into_iter().for_each(|outcome| progress.record(outcome));
    progress
}

fn batch(
    case: &Case,
    outcomes: impl IntoIterator<Item = MachineOutcome>,
    effects: &[MachineEffect],
) -> Result<(), MachineViolation> {
    invariants::batch(&case.view, &progress(outcomes), effects, case.now)
}

fn looked() -> MachineOutcome {
    MachineOutcome::ProbeVm(Err(guest(Code::NotFound)))
}

fn ordered() -> MachineOutcome {
    MachineOutcome::DeleteVm(Ok(Deletion::Deleted { last_known_state: None }))
}

fn delete_node(name: &str) -> MachineEffect {
    MachineEffect::DeleteNode { node: name.into(), uid: "node-uid-1".into() }
}

#[test]
fn a_vm_is_created_only_for_a_machine_that_is_held() {
    assert_eq!(
        batch(&creating(), [], &[MachineEffect::CreateVm]),
        Err(MachineViolation::CreateWithoutFinalizer)
    );
    assert_eq!(
        batch(&creating(), [MachineOutcome::AddFinalizer(Ok(()))], &[MachineEffect::CreateVm]),
        Ok(())
    );
}

#[test]
fn a_machine_never_gets_a_second_vm() {
    assert_eq!(batch(&pending(), [looked()], &[MachineEffect::CreateVm]), Err(MachineViolation::SecondVm));
    let found = MachineOutcome::ProbeVm(Ok(vm()));
    assert_eq!(batch(&begun(), [found], &[MachineEffect::CreateVm]), Err(MachineViolation::SecondVm));
    let made = MachineOutcome::CreateVm(Ok(Creation::Created(vm())));
    assert_eq!(
        batch(&begun(), [looked(), made], &[MachineEffect::CreateVm]),
        Err(MachineViolation::Repeated)
    );
}

#[test]
fn a_create_that_is_not_the_first_comes_after_a_look() {
    assert_eq!(batch(&begun(), [], &[MachineEffect::CreateVm]), Err(MachineViolation::CreateWithoutQuery));
    assert_eq!(batch(&begun(), [looked()], &[MachineEffect::CreateVm]), Ok(()));
}

#[test]
fn where_the_cloud_keeps_no_keys_a_create_is_noted() {
    let keyless = begun().with(capabilities(|offers| offers.idempotency_key = false));
    assert_eq!(
        batch(&keyless, [looked()], &[MachineEffect::CreateVm]),
        Err(MachineViolation::CreateWithoutIntent)
    );
    assert_eq!(
        batch(&keyless, [looked(), MachineOutcome::NoteIntent(Ok(()))], &[MachineEffect::CreateVm]),
        Ok(())
    );
    let in_doubt = keyless.with(|view| view.machine.create_intent = Some(super::facts::intent(1)));
    let noted = [looked(), MachineOutcome::NoteIntent(Ok(()))];
    assert_eq!(batch(&in_doubt, noted, &[MachineEffect::CreateVm]), Err(MachineViolation::CreateInDoubt));
}

#[test]
fn no_vm_is_made_by_another_version_than_the_class_pins() {
    let unpinned = begun().with(substitute);
    for effect in [MachineEffect::CreateVm, MachineEffect::InitializeVm] {
        assert_eq!(batch(&unpinned, [looked()], &[effect]), Err(MachineViolation::CreateBySubstitute));
    }
}

#[test]
fn a_machine_that_is_going_is_not_made() {
    for effect in [
        MachineEffect::AddFinalizer,
        MachineEffect::EnsureToken,
        MachineEffect::CreateVm,
        MachineEffect::InitializeVm,
    ] {
        assert_eq!(batch(&deleting(), [], &[effect]), Err(MachineViolation::CreateWhileDeleting));
    }
}

#[test]
fn what_nobody_asked_to_remove_is_not_removed() {
    for effect in [MachineEffect::DeleteVm, delete_node("node-1"), MachineEffect::ReleaseFinalizer] {
        assert_eq!(batch(&running(), [], &[effect]), Err(MachineViolation::DeleteWithoutRequest));
    }
}

#[test]
fn node_token_and_finalizer_go_after_the_vm() {
    let order_alone = [ordered()];
    let seen = [MachineOutcome::ProbeVm(Ok(vm())), MachineOutcome::DeleteVm(Err(guest(Code::NotFound)))];
    let unproven = [MachineOutcome::ProbeVm(Err(guest(Code::Unavailable))), ordered()];
    for outcomes in [order_alone.to_vec(), seen.to_vec(), unproven.to_vec(), vec![looked()]] {
        let release = batch(&deleting(), outcomes.clone(), &[MachineEffect::ReleaseFinalizer]);
        assert_eq!(release, Err(MachineViolation::ReleaseBeforeVmGone));
        for effect in [MachineEffect::ForgetToken, delete_node("node-1")] {
            let clean_up = batch(&deleting(), outcomes.clone(), &[effect]);
            assert_eq!(clean_up, Err(MachineViolation::CleanUpBeforeVmGone));
        }
    }
    let all = [delete_node("node-1"), MachineEffect::ForgetToken, MachineEffect::ReleaseFinalizer];
    assert_eq!(batch(&deleting(), [looked(), ordered()], &all), Ok(()));
}

#[test]
fn nodes_of_others_are_not_touched() {
    let gone = [looked(), ordered()];
    assert_eq!(
        batch(&deleting(), gone.clone(), &[delete_node("node-2")]),
        Err(MachineViolation::ForeignNode)
    );
    let foreign =
        deleting().with(|view| view.target = TargetFact::Cluster(NodePresence::Foreign("sim://2".into())));
    assert_eq!(batch(&foreign, gone, &[delete_node("node-1")]), Err(MachineViolation::ForeignNode));
    let sync = MachineEffect::SyncNode { node: "node-2".into(), change: NodeChange::default() };
    assert_eq!(batch(&running(), [], &[sync]), Err(MachineViolation::ForeignNode));
}

#[test]
fn a_frozen_gate_is_not_passed() {
    let frozen = begun().frozen();
    for effect in [MachineEffect::EnsureToken, MachineEffect::CreateVm, MachineEffect::InitializeVm] {
        assert_eq!(batch(&frozen, [looked()], &[effect]), Err(MachineViolation::Frozen));
    }
    let failing = StatusChange { phase: Some(Phase::Failed), ..StatusChange::default() };
    assert_eq!(end(&frozen.view, [], failing, Requeue::Resync), Err(MachineViolation::Frozen));
    assert_eq!(FreezeReason::Requested.name(), "Requested");
}

#[test]
fn a_batch_holds_something_and_nothing_twice() {
    assert_eq!(batch(&begun(), [], &[]), Err(MachineViolation::EmptyBatch));
    assert_eq!(
        batch(&begun(), [], &[MachineEffect::ProbeVm, MachineEffect::ProbeVm]),
        Err(MachineViolation::Repeated)
    );
    assert_eq!(batch(&begun(), [looked()], &[MachineEffect::ProbeVm]), Err(MachineViolation::Repeated));
}

fn end(
    view: &MachineView,
    outcomes: impl IntoIterator<Item = MachineOutcome>,
    status: StatusChange,
    wake: Requeue,
) -> Result<(), MachineViolation> {
    let conclusion =
        MachineConclusion { status, reason: MachineReason::Deleted, message: String::new(), wake };
    invariants::conclusion(view, &progress(outcomes), &conclusion)
}

fn phase(phase: Phase) -> StatusChange {
    StatusChange { phase: Some(phase), ..StatusChange::default() }
}

#[test]
fn only_what_is_gone_is_forgotten() {
    let nothing = StatusChange::default;
    assert_eq!(end(&running().view, [], nothing(), Requeue::Gone), Err(MachineViolation::NoWake));
    assert_eq!(end(&creating().view, [], nothing(), Requeue::Gone), Err(MachineViolation::NoWake));
    assert_eq!(end(&deleting().view, [], nothing(), Requeue::Gone), Err(MachineViolation::NoWake));
    let released = MachineOutcome::ReleaseFinalizer(Ok(()));
    assert_eq!(end(&deleting().view, [released], nothing(), Requeue::Gone), Ok(()));
    let let_go = creating().with(|view| view.machine.deletion = Some(seconds(1)));
    assert_eq!(end(&let_go.view, [], nothing(), Requeue::Gone), Ok(()));
}

#[test]
fn a_pass_follows_at_once_only_on_a_change() {
    let pending = pending();
    assert_eq!(end(&pending.view, [], StatusChange::default(), Requeue::Now), Err(MachineViolation::HotLoop));
    assert_eq!(end(&pending.view, [], phase(Phase::Pending), Requeue::Now), Err(MachineViolation::HotLoop));
    assert_eq!(end(&pending.view, [], phase(Phase::Running), Requeue::Now), Ok(()));
    let after = Requeue::After(jiff::SignedDuration::ZERO);
    assert_eq!(end(&pending.view, [], StatusChange::default(), after), Err(MachineViolation::HotLoop));
}

#[test]
fn deletion_is_neither_left_nor_entered_by_the_status_alone() {
    assert_eq!(
        end(&deleting().view, [], phase(Phase::Running), Requeue::Resync),
        Err(MachineViolation::WrongWay)
    );
    assert_eq!(
        end(&running().view, [], phase(Phase::Terminating), Requeue::Resync),
        Err(MachineViolation::WrongWay)
    );
}

#[test]
fn a_machine_counts_as_made_only_with_a_stored_id() {
    assert_eq!(
        end(&begun().view, [], phase(Phase::Pending), Requeue::Resync),
        Err(MachineViolation::Unrecorded)
    );
    let recorded = MachineOutcome::RecordVm(Ok(()));
    assert_eq!(end(&begun().view, [recorded], phase(Phase::Pending), Requeue::Resync), Ok(()));
}

#[test]
fn a_machine_that_has_lived_fails_only_with_a_permit() {
    let failing = || phase(Phase::Failed);
    let unknown = super::unknown();
    let permit = |zone| MachineOutcome::AskPermit(Ok(Permit::Granted { zone }));
    assert_eq!(
        end(&unknown.view, [], failing(), Requeue::Resync),
        Err(MachineViolation::FailedWithoutPermit)
    );
    let busy = MachineOutcome::AskPermit(Ok(Permit::Busy { limit: ReplacementLimit::ONE }));
    assert_eq!(
        end(&unknown.view, [busy], failing(), Requeue::Resync),
        Err(MachineViolation::FailedWithoutPermit)
    );
    assert_eq!(end(&unknown.view, [permit(None)], failing(), Requeue::Resync), Ok(()));
    assert_eq!(end(&begun().view, [], failing(), Requeue::Resync), Ok(()), "its creation has failed");
    assert_eq!(
        end(&pending().view, [], failing(), Requeue::Resync),
        Err(MachineViolation::FailedWithoutPermit)
    );
    assert_eq!(end(&pending().view, [permit(None)], failing(), Requeue::Resync), Ok(()));
    let silent = || Some(ZoneState { name: "zone-a".into(), is_silent: true, has_problem: false });
    let alive = MachineOutcome::ProbeVm(Ok(vm()));
    let outcomes = [permit(silent()), alive];
    assert_eq!(end(&unknown.view, outcomes, failing(), Requeue::Resync), Err(MachineViolation::SilentZone));
    assert_eq!(
        end(&unknown.view, [permit(silent())], failing(), Requeue::Resync),
        Err(MachineViolation::SilentZone)
    );
    assert_eq!(end(&unknown.view, [permit(silent()), looked()], failing(), Requeue::Resync), Ok(()));
}

#[test]
fn a_vm_is_rebooted_only_with_a_permit_that_is_written_down() {
    let unknown = super::unknown();
    let permit = |zone| MachineOutcome::AskPermit(Ok(Permit::Granted { zone }));
    let note = || MachineEffect::NoteReboot(crate::health_policy::Reboots::default());
    let noted = || MachineOutcome::NoteReboot(Ok(()));
    let busy = MachineOutcome::AskPermit(Ok(Permit::Busy { limit: ReplacementLimit::ONE }));
    assert_eq!(batch(&unknown, [], &[note()]), Err(MachineViolation::RebootWithoutPermit));
    assert_eq!(
        batch(&unknown, [busy, noted()], &[MachineEffect::RebootVm]),
        Err(MachineViolation::RebootWithoutPermit)
    );
    assert_eq!(
        batch(&unknown, [permit(None)], &[MachineEffect::RebootVm]),
        Err(MachineViolation::RebootUnwritten)
    );
    assert_eq!(batch(&unknown, [permit(None), noted()], &[MachineEffect::RebootVm]), Ok(()));
    let silent = || Some(ZoneState { name: "zone-a".into(), is_silent: true, has_problem: false });
    let alive = MachineOutcome::ProbeVm(Ok(vm()));
    assert_eq!(batch(&unknown, [permit(silent()), alive], &[note()]), Err(MachineViolation::SilentZone));
    assert_eq!(batch(&unknown, [permit(silent()), looked()], &[note()]), Ok(()));
    assert_eq!(
        batch(&deleting(), [permit(None), noted()], &[MachineEffect::RebootVm]),
        Err(MachineViolation::RebootUnwritten)
    );
}

#[test]
fn a_node_is_handed_over_only_when_its_machine_says_so() {
    let condition = NodeConditionWrite {
        kind: in_place::words::CONDITION.into(),
        status: crate::machine::node::health::ConditionStatus::True,
        reason: in_place::words::READY.into(),
        message: "so it is".into(),
    };
    let ready = [MachineEffect::SetNodeCondition { node: "node-1".into(), condition }];
    assert_eq!(batch(&running(), [], &ready), Err(MachineViolation::HandedOverTooEarly));
    let updating = running().with(|view| view.machine.phase = Phase::InPlaceUpdating);
    assert_eq!(batch(&updating, [], &ready), Ok(()));
}

fn pod(name: &str) -> drain::PodRef {
    drain::PodRef { key: ObjectKey::new("default", name), uid: name.into() }
}

fn cordon() -> MachineEffect {
    MachineEffect::Cordon { node: "node-1".into() }
}

fn draining() -> [MachineEffect; 4] {
    [
        cordon(),
        MachineEffect::Drain(drain::DrainEffect::Evict(pod("web"))),
        MachineEffect::Drain(drain::DrainEffect::DeletePod(pod("web"))),
        MachineEffect::Drain(drain::DrainEffect::DeleteAttachment {
            name: "csi-1".into(),
            uid: "csi-uid-1".into(),
        }),
    ]
}

#[test]
fn no_node_is_emptied_whose_machine_stays() {
    for effect in draining() {
        let batch = |case: &Case| batch(case, [], std::slice::from_ref(&effect));
        assert_eq!(batch(&running()), Err(MachineViolation::DrainWithoutRequest), "{effect:?}");
        assert_eq!(batch(&deleting()), Ok(()), "{effect:?}");
    }
}

#[test]
fn a_vm_goes_after_its_node_is_drained_unless_that_is_forced_or_was_done() {
    let orders =
        |case: &Case, outcomes: &[MachineOutcome]| batch(case, outcomes.to_vec(), &[MachineEffect::DeleteVm]);
    assert_eq!(orders(&deleting(), &[]), Err(MachineViolation::VmBeforeDrain));
    let left = drain::PodListing { read: drain::ReadConsistency::Latest, pods: Vec::new() };
    let empty = MachineOutcome::Drain(drain::DrainOutcome::Pods(Ok(left)));
    assert_eq!(orders(&deleting(), &[empty]), Ok(()));
    assert_eq!(orders(&deleting().without_node(), &[]), Ok(()));
    let forced = deleting().with(|view| view.machine.deletion_facts.is_forced = true);
    let looked = drain::PodListing { read: drain::ReadConsistency::WithoutVolumes, pods: Vec::new() };
    let looked = MachineOutcome::Drain(drain::DrainOutcome::Pods(Ok(looked)));
    assert_eq!(orders(&forced, &[]), Err(MachineViolation::VmBeforeDrain));
    assert_eq!(orders(&forced, std::slice::from_ref(&looked)), Ok(()));
    let unlisted = forced.with(|view| {
        view.drain.attachments = None;
        view.drain.unlisted_since = Some(seconds(100));
    });
    assert_eq!(
        orders(&unlisted.clone().at(159), std::slice::from_ref(&looked)),
        Err(MachineViolation::VmBeforeDrain)
    );
    assert_eq!(orders(&unlisted.at(160), &[looked]), Ok(()));
    assert_eq!(orders(&super::ordered(deleting(), 100), &[]), Ok(()));
}

#[test]
fn hooks_are_waited_for() {
    let hook = || vec!["hook".to_owned()];
    let before_drain = deleting().with(|view| view.machine.deletion_facts.pre_drain_hooks = hook());
    for effect in draining() {
        assert_eq!(batch(&before_drain, [], &[effect]), Err(MachineViolation::HookIgnored));
    }
    let before_vm =
        super::ordered(deleting(), 100).with(|view| view.machine.deletion_facts.pre_terminate_hooks = hook());
    for case in [&before_drain, &before_vm] {
        assert_eq!(batch(case, [], &[MachineEffect::DeleteVm]), Err(MachineViolation::HookIgnored));
    }
    let late = before_vm.with(|view| view.machine.deletion_facts.pre_terminate_since = Some(seconds(-3_600)));
    assert_eq!(batch(&late, [], &[MachineEffect::DeleteVm]), Ok(()));
}

#[test]
fn a_word_that_the_vm_is_gone_does_not_outweigh_a_look() {
    let declared = deleting().with(|view| view.machine.deletion_facts.is_vm_declared_gone = true);
    assert_eq!(batch(&declared, [], &[MachineEffect::ReleaseFinalizer]), Ok(()));
    let shown = [MachineOutcome::ProbeVm(Ok(vm()))];
    let release = batch(&declared, shown, &[MachineEffect::ReleaseFinalizer]);
    assert_eq!(release, Err(MachineViolation::ReleaseBeforeVmGone));
}

#[test]
fn a_drain_does_the_same_to_many_pods_and_not_twice_to_one() {
    let evict = |name| MachineEffect::Drain(drain::DrainEffect::Evict(pod(name)));
    assert_eq!(batch(&deleting(), [], &[evict("a"), evict("b")]), Ok(()));
    assert_eq!(batch(&deleting(), [], &[evict("a"), evict("a")]), Err(MachineViolation::Repeated));
    let done = MachineOutcome::Drain(drain::DrainOutcome::Evict { pod: pod("a"), result: Ok(()) });
    assert_eq!(batch(&deleting(), [done], &[evict("a")]), Err(MachineViolation::Repeated));
}

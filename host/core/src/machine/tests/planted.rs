//! Each invariant bites: a planted violation is named.

use crate::drain;
use crate::driver::error::Code;
use crate::driver::{Creation, Deletion};
use crate::machine::invariants::{self, Violation};
use crate::machine::node::sync::NodeChange;
use crate::machine::{
    Conclusion, Effect, MachineView, NodeConditionWrite, NodePresence, Outcome, Progress, Reason,
    StatusChange, TargetFact, Wake, in_place,
};
use crate::safety::meltdown::{Limit, Permit, ZoneState};
use crate::scheduling::gate::FreezeReason;
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

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
    let in_doubt = keyless.with(|view| view.machine.create_intent = Some(super::facts::intent(1)));
    let noted = [looked(), Outcome::NoteIntent(Ok(()))];
    assert_eq!(batch(&in_doubt, noted, &[Effect::CreateVm]), Err(Violation::CreateInDoubt));
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

#[test]
fn a_machine_that_has_lived_fails_only_with_a_permit() {
    let failing = || phase(Phase::Failed);
    let unknown = super::unknown();
    let permit = |zone| Outcome::AskPermit(Ok(Permit::Granted { zone }));
    assert_eq!(end(&unknown.view, [], failing(), Wake::Resync), Err(Violation::FailedWithoutPermit));
    let busy = Outcome::AskPermit(Ok(Permit::Busy { limit: Limit::ONE }));
    assert_eq!(end(&unknown.view, [busy], failing(), Wake::Resync), Err(Violation::FailedWithoutPermit));
    assert_eq!(end(&unknown.view, [permit(None)], failing(), Wake::Resync), Ok(()));
    assert_eq!(end(&begun().view, [], failing(), Wake::Resync), Ok(()), "its creation has failed");
    assert_eq!(end(&pending().view, [], failing(), Wake::Resync), Err(Violation::FailedWithoutPermit));
    assert_eq!(end(&pending().view, [permit(None)], failing(), Wake::Resync), Ok(()));
    let silent = || Some(ZoneState { name: "zone-a".into(), is_silent: true, has_trouble: false });
    let alive = Outcome::ProbeVm(Ok(vm()));
    let outcomes = [permit(silent()), alive];
    assert_eq!(end(&unknown.view, outcomes, failing(), Wake::Resync), Err(Violation::SilentZone));
    assert_eq!(end(&unknown.view, [permit(silent())], failing(), Wake::Resync), Err(Violation::SilentZone));
    assert_eq!(end(&unknown.view, [permit(silent()), looked()], failing(), Wake::Resync), Ok(()));
}

#[test]
fn a_vm_is_started_anew_only_with_a_permit_that_is_written_down() {
    let unknown = super::unknown();
    let permit = |zone| Outcome::AskPermit(Ok(Permit::Granted { zone }));
    let note = || Effect::NoteReboot(crate::health_policy::Reboots::default());
    let noted = || Outcome::NoteReboot(Ok(()));
    let busy = Outcome::AskPermit(Ok(Permit::Busy { limit: Limit::ONE }));
    assert_eq!(batch(&unknown, [], &[note()]), Err(Violation::RebootWithoutPermit));
    assert_eq!(batch(&unknown, [busy, noted()], &[Effect::RebootVm]), Err(Violation::RebootWithoutPermit));
    assert_eq!(batch(&unknown, [permit(None)], &[Effect::RebootVm]), Err(Violation::RebootUnwritten));
    assert_eq!(batch(&unknown, [permit(None), noted()], &[Effect::RebootVm]), Ok(()));
    let silent = || Some(ZoneState { name: "zone-a".into(), is_silent: true, has_trouble: false });
    let alive = Outcome::ProbeVm(Ok(vm()));
    assert_eq!(batch(&unknown, [permit(silent()), alive], &[note()]), Err(Violation::SilentZone));
    assert_eq!(batch(&unknown, [permit(silent()), looked()], &[note()]), Ok(()));
    assert_eq!(
        batch(&deleting(), [permit(None), noted()], &[Effect::RebootVm]),
        Err(Violation::RebootUnwritten)
    );
}

#[test]
fn a_node_is_handed_over_only_when_its_machine_says_so() {
    let condition = NodeConditionWrite {
        kind: in_place::words::CONDITION.into(),
        status: crate::machine::node::health::Status::True,
        reason: in_place::words::READY.into(),
        message: "so it is".into(),
    };
    let ready = [Effect::SetNodeCondition { node: "node-1".into(), condition }];
    assert_eq!(batch(&running(), [], &ready), Err(Violation::HandedOverTooEarly));
    let updating = running().with(|view| view.machine.phase = Phase::InPlaceUpdating);
    assert_eq!(batch(&updating, [], &ready), Ok(()));
}

fn pod(name: &str) -> drain::PodRef {
    drain::PodRef { key: ObjectKey::new("default", name), uid: name.into() }
}

fn cordon() -> Effect {
    Effect::Cordon { node: "node-1".into() }
}

fn emptying() -> [Effect; 4] {
    [
        cordon(),
        Effect::Drain(drain::Effect::Evict(pod("web"))),
        Effect::Drain(drain::Effect::DeletePod(pod("web"))),
        Effect::Drain(drain::Effect::DeleteAttachment { name: "csi-1".into(), uid: "csi-uid-1".into() }),
    ]
}

#[test]
fn no_node_is_emptied_whose_machine_stays() {
    for effect in emptying() {
        let batch = |case: &Case| batch(case, [], std::slice::from_ref(&effect));
        assert_eq!(batch(&running()), Err(Violation::DrainWithoutRequest), "{effect:?}");
        assert_eq!(batch(&deleting()), Ok(()), "{effect:?}");
    }
}

#[test]
fn a_vm_goes_after_its_node_is_drained_unless_that_is_forced_or_was_done() {
    let orders = |case: &Case, outcomes: &[Outcome]| batch(case, outcomes.to_vec(), &[Effect::DeleteVm]);
    assert_eq!(orders(&deleting(), &[]), Err(Violation::VmBeforeDrain));
    let left = drain::Look { read: drain::Read::Latest, pods: Vec::new() };
    let empty = Outcome::Drain(drain::Outcome::Pods(Ok(left)));
    assert_eq!(orders(&deleting(), &[empty]), Ok(()));
    assert_eq!(orders(&deleting().without_node(), &[]), Ok(()));
    let forced = deleting().with(|view| view.machine.going.is_forced = true);
    let looked = drain::Look { read: drain::Read::WithoutVolumes, pods: Vec::new() };
    let looked = Outcome::Drain(drain::Outcome::Pods(Ok(looked)));
    assert_eq!(orders(&forced, &[]), Err(Violation::VmBeforeDrain));
    assert_eq!(orders(&forced, std::slice::from_ref(&looked)), Ok(()));
    let unlisted = forced.with(|view| {
        view.drain.attachments = None;
        view.drain.unlisted_since = Some(seconds(100));
    });
    assert_eq!(
        orders(&unlisted.clone().at(159), std::slice::from_ref(&looked)),
        Err(Violation::VmBeforeDrain)
    );
    assert_eq!(orders(&unlisted.at(160), &[looked]), Ok(()));
    assert_eq!(orders(&super::ordered(deleting(), 100), &[]), Ok(()));
}

#[test]
fn hooks_are_waited_for() {
    let hook = || vec!["hook".to_owned()];
    let before_drain = deleting().with(|view| view.machine.going.pre_drain_hooks = hook());
    for effect in emptying() {
        assert_eq!(batch(&before_drain, [], &[effect]), Err(Violation::HookIgnored));
    }
    let before_vm =
        super::ordered(deleting(), 100).with(|view| view.machine.going.pre_terminate_hooks = hook());
    for case in [&before_drain, &before_vm] {
        assert_eq!(batch(case, [], &[Effect::DeleteVm]), Err(Violation::HookIgnored));
    }
    let late = before_vm.with(|view| view.machine.going.pre_terminate_since = Some(seconds(-3_600)));
    assert_eq!(batch(&late, [], &[Effect::DeleteVm]), Ok(()));
}

#[test]
fn a_word_that_the_vm_is_gone_does_not_outweigh_a_look() {
    let declared = deleting().with(|view| view.machine.going.is_vm_declared_gone = true);
    assert_eq!(batch(&declared, [], &[Effect::ReleaseFinalizer]), Ok(()));
    let shown = [Outcome::ProbeVm(Ok(vm()))];
    let release = batch(&declared, shown, &[Effect::ReleaseFinalizer]);
    assert_eq!(release, Err(Violation::ReleaseBeforeVmGone));
}

#[test]
fn a_drain_does_the_same_to_many_pods_and_not_twice_to_one() {
    let evict = |name| Effect::Drain(drain::Effect::Evict(pod(name)));
    assert_eq!(batch(&deleting(), [], &[evict("a"), evict("b")]), Ok(()));
    assert_eq!(batch(&deleting(), [], &[evict("a"), evict("a")]), Err(Violation::Repeated));
    let done = Outcome::Drain(drain::Outcome::Evict { pod: pod("a"), result: Ok(()) });
    assert_eq!(batch(&deleting(), [done], &[evict("a")]), Err(Violation::Repeated));
}

//! Each rule bites: a step that would break it is caught.

use crate::disruption::requests::Permits;
use crate::driver::write_error::ActError;
use crate::machine::{MetaChange, Requeue};
use crate::machine_set::creation::names;
use crate::machine_set::invariants::{SetViolation, batch, conclusion};
use crate::machine_set::{
    ChildFact, CreateAttempts, CreateMode, CurrentSet, DeleteReason, MachineOwner, MachineRef,
    PreserveChange, SetEffect, SetProgress, SetView,
};

use super::facts::{child, labels};
use super::{Case, closed, running, seconds, set};

fn create(ordinal: u32) -> SetEffect {
    let name = names::name(&"pool-a".into(), &"set-uid".into(), ordinal);
    SetEffect::Create { name, ordinal, birth: CreateMode::Claimed, class: None }
}

fn made(result: Result<(), ActError>) -> CreateAttempts {
    CreateAttempts { name: "any".into(), attempts: 1, was_unclear: false, result }
}

fn of(ordinal: u32) -> MachineRef {
    MachineRef::of(&child(ordinal))
}

fn delete(ordinal: u32, why: DeleteReason) -> SetEffect {
    SetEffect::Delete(of(ordinal), why)
}

#[track_caller]
fn breaks(case: &Case, progress: &SetProgress, effects: &[SetEffect], violation: SetViolation) {
    assert_eq!(batch(&case.view, progress, effects, case.now), Err(violation));
}

#[track_caller]
fn caught(case: &Case, effects: &[SetEffect], violation: SetViolation) {
    breaks(case, &SetProgress::default(), effects, violation);
}

fn deleted(view: &mut SetView) {
    view.set.deletion = Some(seconds(1));
}

fn orphan(ordinal: u32) -> ChildFact {
    child(ordinal).owner(MachineOwner::None)
}

#[test]
fn numbers() {
    caught(&set(1, running(1)), &[create(1)], SetViolation::SurplusCreation);
    caught(&set(2, running(1)), &[create(1), create(2)], SetViolation::SurplusCreation);
    let one = SetProgress { created: [(1, made(Ok(())))].into(), ..SetProgress::default() };
    breaks(&set(2, running(1)), &one, &[create(2)], SetViolation::SurplusCreation);
    caught(&set(2, running(2)), &[delete(0, DeleteReason::Surplus)], SetViolation::WantedDeleted);
    let gone = SetProgress {
        deleted: [("uid-0".into(), (DeleteReason::Surplus, Ok(())))].into(),
        ..SetProgress::default()
    };
    breaks(&closed(2, running(3)), &gone, &[delete(1, DeleteReason::Surplus)], SetViolation::WantedDeleted);
    let many: Vec<SetEffect> = (0..101).map(create).collect();
    caught(&set(500, []), &many, SetViolation::TooMany);
    let many: Vec<SetEffect> = (0..101).map(|ordinal| delete(ordinal, DeleteReason::Surplus)).collect();
    caught(&closed(0, running(101)), &many, SetViolation::TooMany);
}

#[test]
fn reasons_of_deletions() {
    caught(&set(1, running(1)), &[delete(0, DeleteReason::Failed)], SetViolation::HealthyDeleted);
    caught(&set(1, running(1)), &[delete(0, DeleteReason::Marked)], SetViolation::HealthyDeleted);
    caught(&set(1, running(1)), &[delete(0, DeleteReason::Exhausted)], SetViolation::HealthyDeleted);
    let held = closed(1, [child(0).failed()]).with(|view| view.permits = Permits::Only([].into()));
    caught(&held, &[delete(0, DeleteReason::Failed)], SetViolation::NotLetGo);
    let kept = closed(1, [child(0).failed().kept(5_000)]);
    caught(&kept, &[delete(0, DeleteReason::Failed)], SetViolation::HealthyDeleted);
    caught(&closed(0, running(1)), &[delete(0, DeleteReason::SetDeleted)], SetViolation::SetStays);
    let leaves = set(0, running(1)).with(deleted).with(|view| view.set.leaves_machines = true);
    caught(&leaves, &[delete(0, DeleteReason::SetDeleted)], SetViolation::SetStays);
}

#[test]
fn names_and_doubts() {
    let wrong = SetEffect::Create {
        name: "pool-a-xxxxx".into(),
        ordinal: 0,
        birth: CreateMode::Claimed,
        class: None,
    };
    caught(&set(1, []), &[wrong], SetViolation::WrongName);
    caught(&set(3, running(2)), &[create(1)], SetViolation::WrongName);
    let noted = |view: &mut SetView| view.set.closed_ordinal = Some(5);
    caught(&set(1, []).with(noted), &[create(5)], SetViolation::WrongName);
    caught(&set(1, []).with(noted), &[create(6)], SetViolation::Unsettled);
    caught(&set(1, [child(0).going()]), &[create(1)], SetViolation::Unsettled);
    caught(&set(1, []).in_doubt(), &[create(0)], SetViolation::Unsettled);
    caught(&set(0, [child(0)]), &[delete(0, DeleteReason::Surplus)], SetViolation::Unsettled);
    caught(&set(0, running(1)).in_doubt(), &[delete(0, DeleteReason::Surplus)], SetViolation::Unsettled);
    let release = [SetEffect::ReleaseFinalizer];
    caught(&set(0, []).with(deleted).in_doubt(), &release, SetViolation::Unsettled);
    caught(&set(2, [orphan(0)]), &[create(1)], SetViolation::Unsettled);
    caught(&set(0, [orphan(0), child(1)]), &[delete(1, DeleteReason::Surplus)], SetViolation::Unsettled);
}

#[test]
fn claims() {
    let look = |uid: &str, is_deleting| SetProgress {
        set: Some(Ok(CurrentSet { uid: uid.into(), is_deleting })),
        ..SetProgress::default()
    };
    let adopt = [SetEffect::Adopt(of(0))];
    caught(&set(1, [orphan(0)]), &adopt, SetViolation::BlindAdoption);
    breaks(&set(1, [orphan(0)]), &look("another", false), &adopt, SetViolation::BlindAdoption);
    breaks(&set(1, [orphan(0)]), &look("set-uid", true), &adopt, SetViolation::BlindAdoption);
    assert_eq!(batch(&set(1, [orphan(0)]).view, &look("set-uid", false), &adopt, seconds(1)), Ok(()));
    let theirs = child(0).owner(MachineOwner::Other("another".into()));
    caught(&set(1, [theirs.clone()]), &adopt, SetViolation::WrongClaim);
    let strange = orphan(0).with(|machine| machine.labels = labels(&[]));
    caught(&set(1, [strange]), &adopt, SetViolation::WrongClaim);
    caught(&set(1, [orphan(0)]).with(deleted), &adopt, SetViolation::WrongClaim);
    caught(&set(1, running(1)), &[SetEffect::Release(of(0))], SetViolation::WrongClaim);
    caught(&set(0, [theirs.clone()]), &[delete(0, DeleteReason::Surplus)], SetViolation::Foreign);
    caught(&set(0, []), &[delete(7, DeleteReason::Surplus)], SetViolation::Foreign);
    caught(&set(0, [theirs]), &[SetEffect::Preserve(of(0), PreserveChange::Begin)], SetViolation::Foreign);
    caught(&set(0, running(1)).with(deleted), &[SetEffect::Sync(of(0), [].into())], SetViolation::SetStays);
}

#[test]
fn the_set_itself() {
    caught(&set(1, []).with(|view| view.set.has_finalizer = false), &[create(0)], SetViolation::Unheld);
    caught(&set(1, []).with(deleted), &[create(0)], SetViolation::Unheld);
    caught(&set(1, []).with(deleted), &[SetEffect::Claim], SetViolation::Unheld);
    caught(&set(-1, []), &[SetEffect::Claim], SetViolation::InvalidSet);
    caught(&set(0, []), &[SetEffect::ReleaseFinalizer], SetViolation::SetStays);
    let release = [SetEffect::ReleaseFinalizer];
    caught(&set(0, running(1)).with(deleted), &release, SetViolation::ReleaseBeforeMachines);
    caught(&set(1, []).with(|view| view.set.is_scale_up_disabled = true), &[create(0)], SetViolation::Held);
    caught(
        &set(9, running(1)).with(|view| {
            view.set.is_frozen = true;
            view.settings.safety_down = 90;
        }),
        &[create(1)],
        SetViolation::Held,
    );
    caught(&set(1, []).frozen_gate(), &[create(0)], SetViolation::Held);
    caught(&closed(0, running(1)).frozen_gate(), &[delete(0, DeleteReason::Surplus)], SetViolation::Held);
}

#[test]
fn batches() {
    caught(&set(1, []), &[], SetViolation::EmptyBatch);
    caught(&set(2, []), &[create(0), create(0)], SetViolation::Repeated);
    let tried = SetProgress {
        created: [(0, made(Err(ActError::Conflict)))].into(),
        listing: Some(Ok(Vec::new())),
        write_set: Some(Ok(())),
        ..SetProgress::default()
    };
    breaks(&set(2, []), &tried, &[create(0)], SetViolation::Repeated);
    breaks(&set(2, []), &tried, &[SetEffect::ListMachines], SetViolation::Repeated);
    breaks(&set(2, []), &tried, &[SetEffect::WriteSet(MetaChange::default())], SetViolation::Repeated);
}

#[test]
fn ends() {
    let ended = |case: &Case, change: fn(&mut crate::machine_set::SetConclusion)| {
        let mut end = case.pass().1;
        change(&mut end);
        conclusion(&case.view, &SetProgress::default(), &end)
    };
    let quiet = set(1, running(1));
    assert_eq!(ended(&quiet, |_| {}), Ok(()));
    assert_eq!(ended(&quiet, |end| end.message.clear()), Err(SetViolation::Mute));
    assert_eq!(ended(&quiet, |end| end.wake = Requeue::Now), Err(SetViolation::WrongWake));
    assert_eq!(ended(&quiet, |end| end.wake = Requeue::Gone), Err(SetViolation::WrongWake));
    let never =
        |end: &mut crate::machine_set::SetConclusion| end.wake = Requeue::After(jiff::SignedDuration::ZERO);
    assert_eq!(ended(&quiet, never), Err(SetViolation::WrongWake));
}

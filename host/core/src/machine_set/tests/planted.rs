//! Each rule bites: a step that would break it is caught.

use crate::disruption::requests::Permits;
use crate::driver::write_error::ActError;
use crate::machine::{MetaChange, Wake};
use crate::machine_set::creation::names;
use crate::machine_set::invariants::{Violation, batch, conclusion};
use crate::machine_set::{
    Birth, ChildFact, Creation, Effect, Keep, MachineRef, Owner, Progress, SetLook, SetView, Why,
};

use super::facts::{child, labels};
use super::{Case, closed, running, seconds, set};

fn create(ordinal: u32) -> Effect {
    let name = names::name(&"pool-a".into(), &"set-uid".into(), ordinal);
    Effect::Create { name, ordinal, birth: Birth::Claimed, class: None }
}

fn made(result: Result<(), ActError>) -> Creation {
    Creation { name: "any".into(), attempts: 1, was_unclear: false, result }
}

fn of(ordinal: u32) -> MachineRef {
    MachineRef::of(&child(ordinal))
}

fn delete(ordinal: u32, why: Why) -> Effect {
    Effect::Delete(of(ordinal), why)
}

#[track_caller]
fn breaks(case: &Case, progress: &Progress, effects: &[Effect], violation: Violation) {
    assert_eq!(batch(&case.view, progress, effects, case.now), Err(violation));
}

#[track_caller]
fn caught(case: &Case, effects: &[Effect], violation: Violation) {
    breaks(case, &Progress::default(), effects, violation);
}

fn deleted(view: &mut SetView) {
    view.set.deletion = Some(seconds(1));
}

fn orphan(ordinal: u32) -> ChildFact {
    child(ordinal).owner(Owner::None)
}

#[test]
fn numbers() {
    caught(&set(1, running(1)), &[create(1)], Violation::SurplusCreation);
    caught(&set(2, running(1)), &[create(1), create(2)], Violation::SurplusCreation);
    let one = Progress { created: [(1, made(Ok(())))].into(), ..Progress::default() };
    breaks(&set(2, running(1)), &one, &[create(2)], Violation::SurplusCreation);
    caught(&set(2, running(2)), &[delete(0, Why::Surplus)], Violation::WantedDeleted);
    let gone = Progress { deleted: [("uid-0".into(), (Why::Surplus, Ok(())))].into(), ..Progress::default() };
    breaks(&closed(2, running(3)), &gone, &[delete(1, Why::Surplus)], Violation::WantedDeleted);
    let many: Vec<Effect> = (0..101).map(create).collect();
    caught(&set(500, []), &many, Violation::TooMany);
    let many: Vec<Effect> = (0..101).map(|ordinal| delete(ordinal, Why::Surplus)).collect();
    caught(&closed(0, running(101)), &many, Violation::TooMany);
}

#[test]
fn reasons_of_deletions() {
    caught(&set(1, running(1)), &[delete(0, Why::Failed)], Violation::HealthyDeleted);
    caught(&set(1, running(1)), &[delete(0, Why::Marked)], Violation::HealthyDeleted);
    caught(&set(1, running(1)), &[delete(0, Why::Exhausted)], Violation::HealthyDeleted);
    let held = closed(1, [child(0).failed()]).with(|view| view.permits = Permits::Only([].into()));
    caught(&held, &[delete(0, Why::Failed)], Violation::NotLetGo);
    let kept = closed(1, [child(0).failed().kept(5_000)]);
    caught(&kept, &[delete(0, Why::Failed)], Violation::HealthyDeleted);
    caught(&closed(0, running(1)), &[delete(0, Why::SetDeleted)], Violation::SetStays);
    let leaves = set(0, running(1)).with(deleted).with(|view| view.set.leaves_machines = true);
    caught(&leaves, &[delete(0, Why::SetDeleted)], Violation::SetStays);
}

#[test]
fn names_and_doubts() {
    let wrong =
        Effect::Create { name: "pool-a-xxxxx".into(), ordinal: 0, birth: Birth::Claimed, class: None };
    caught(&set(1, []), &[wrong], Violation::WrongName);
    caught(&set(3, running(2)), &[create(1)], Violation::WrongName);
    let noted = |view: &mut SetView| view.set.closed_ordinal = Some(5);
    caught(&set(1, []).with(noted), &[create(5)], Violation::WrongName);
    caught(&set(1, []).with(noted), &[create(6)], Violation::Unsettled);
    caught(&set(1, [child(0).going()]), &[create(1)], Violation::Unsettled);
    caught(&set(1, []).in_doubt(), &[create(0)], Violation::Unsettled);
    caught(&set(0, [child(0)]), &[delete(0, Why::Surplus)], Violation::Unsettled);
    caught(&set(0, running(1)).in_doubt(), &[delete(0, Why::Surplus)], Violation::Unsettled);
    let release = [Effect::ReleaseFinalizer];
    caught(&set(0, []).with(deleted).in_doubt(), &release, Violation::Unsettled);
    caught(&set(2, [orphan(0)]), &[create(1)], Violation::Unsettled);
    caught(&set(0, [orphan(0), child(1)]), &[delete(1, Why::Surplus)], Violation::Unsettled);
}

#[test]
fn claims() {
    let look = |uid: &str, is_deleting| Progress {
        set: Some(Ok(SetLook { uid: uid.into(), is_deleting })),
        ..Progress::default()
    };
    let adopt = [Effect::Adopt(of(0))];
    caught(&set(1, [orphan(0)]), &adopt, Violation::BlindAdoption);
    breaks(&set(1, [orphan(0)]), &look("another", false), &adopt, Violation::BlindAdoption);
    breaks(&set(1, [orphan(0)]), &look("set-uid", true), &adopt, Violation::BlindAdoption);
    assert_eq!(batch(&set(1, [orphan(0)]).view, &look("set-uid", false), &adopt, seconds(1)), Ok(()));
    let theirs = child(0).owner(Owner::Other("another".into()));
    caught(&set(1, [theirs.clone()]), &adopt, Violation::WrongClaim);
    let strange = orphan(0).with(|machine| machine.labels = labels(&[]));
    caught(&set(1, [strange]), &adopt, Violation::WrongClaim);
    caught(&set(1, [orphan(0)]).with(deleted), &adopt, Violation::WrongClaim);
    caught(&set(1, running(1)), &[Effect::Release(of(0))], Violation::WrongClaim);
    caught(&set(0, [theirs.clone()]), &[delete(0, Why::Surplus)], Violation::Foreign);
    caught(&set(0, []), &[delete(7, Why::Surplus)], Violation::Foreign);
    caught(&set(0, [theirs]), &[Effect::Preserve(of(0), Keep::Begin)], Violation::Foreign);
    caught(&set(0, running(1)).with(deleted), &[Effect::Sync(of(0), [].into())], Violation::SetStays);
}

#[test]
fn the_set_itself() {
    caught(&set(1, []).with(|view| view.set.has_finalizer = false), &[create(0)], Violation::Unheld);
    caught(&set(1, []).with(deleted), &[create(0)], Violation::Unheld);
    caught(&set(1, []).with(deleted), &[Effect::Claim], Violation::Unheld);
    caught(&set(-1, []), &[Effect::Claim], Violation::InvalidSet);
    caught(&set(0, []), &[Effect::ReleaseFinalizer], Violation::SetStays);
    let release = [Effect::ReleaseFinalizer];
    caught(&set(0, running(1)).with(deleted), &release, Violation::ReleaseBeforeMachines);
    caught(&set(1, []).with(|view| view.set.is_scale_up_disabled = true), &[create(0)], Violation::Held);
    caught(
        &set(9, running(1)).with(|view| {
            view.set.is_frozen = true;
            view.settings.safety_down = 90;
        }),
        &[create(1)],
        Violation::Held,
    );
    caught(&set(1, []).frozen_gate(), &[create(0)], Violation::Held);
    caught(&closed(0, running(1)).frozen_gate(), &[delete(0, Why::Surplus)], Violation::Held);
}

#[test]
fn batches() {
    caught(&set(1, []), &[], Violation::EmptyBatch);
    caught(&set(2, []), &[create(0), create(0)], Violation::Repeated);
    let tried = Progress {
        created: [(0, made(Err(ActError::Conflict)))].into(),
        listing: Some(Ok(Vec::new())),
        write_set: Some(Ok(())),
        ..Progress::default()
    };
    breaks(&set(2, []), &tried, &[create(0)], Violation::Repeated);
    breaks(&set(2, []), &tried, &[Effect::ListMachines], Violation::Repeated);
    breaks(&set(2, []), &tried, &[Effect::WriteSet(MetaChange::default())], Violation::Repeated);
}

#[test]
fn ends() {
    let ended = |case: &Case, change: fn(&mut crate::machine_set::Conclusion)| {
        let mut end = case.pass().1;
        change(&mut end);
        conclusion(&case.view, &Progress::default(), &end)
    };
    let quiet = set(1, running(1));
    assert_eq!(ended(&quiet, |_| {}), Ok(()));
    assert_eq!(ended(&quiet, |end| end.message.clear()), Err(Violation::Mute));
    assert_eq!(ended(&quiet, |end| end.wake = Wake::Now), Err(Violation::WrongWake));
    assert_eq!(ended(&quiet, |end| end.wake = Wake::Gone), Err(Violation::WrongWake));
    let never = |end: &mut crate::machine_set::Conclusion| end.wake = Wake::After(jiff::SignedDuration::ZERO);
    assert_eq!(ended(&quiet, never), Err(Violation::WrongWake));
}

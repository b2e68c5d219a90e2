//! Every combination of abstract facts with every kind of outcome, each reconcile to its end.

use std::collections::BTreeMap;

use crate::disruption::requests::Permits;
use crate::driver::write_error::ActError;
use crate::machine_set::{
    ChildFact, CurrentSet, Freshness, MachineOwner, NameTakenBy, PreserveChange, SetEffect, SetOutcome,
    SetProgress, SetReason, SetSelectorFact, SetStep, SetView, SyncedPart, invariants, step,
};
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::Phase;

use super::facts::{self, child, labels};
use super::{BATCHES_PER_PASS, seconds, unclear};

/// Machines of every kind that decisions tell apart.
fn kinds() -> Vec<fn(u32) -> ChildFact> {
    vec![
        child,
        |ordinal| child(ordinal).going(),
        |ordinal| child(ordinal).failed(),
        |ordinal| child(ordinal).failed().request("auto-preserved").kept(5_000),
        |ordinal| child(ordinal).failed().request("now").kept(500),
        |ordinal| child(ordinal).phase(Phase::Pending).with(|machine| machine.is_updated_in_place = true),
        |ordinal| child(ordinal).owner(MachineOwner::None),
        |ordinal| child(ordinal).owner(MachineOwner::Other("another".into())),
        |ordinal| child(ordinal).with(|machine| machine.labels = labels(&[("pool", "b")])),
        |ordinal| child(ordinal).exhausted(),
        |ordinal| child(ordinal).with(|machine| machine.drift = [SyncedPart::Configuration].into()),
        |ordinal| {
            child(ordinal).with(|machine| {
                machine.priority = 1;
                machine.marked_at = Some(seconds(1));
            })
        },
    ]
}

/// Facts about the set that decisions tell apart, one at a time.
fn variants() -> Vec<fn(&mut SetView)> {
    vec![
        |_| {},
        |view| view.set.has_finalizer = false,
        |view| view.set.deletion = Some(seconds(1)),
        |view| {
            view.set.deletion = Some(seconds(1));
            view.set.leaves_machines = true;
        },
        |view| view.set.selector = SetSelectorFact::Missing,
        |view| view.set.is_frozen = true,
        |view| {
            view.set.is_frozen = true;
            view.settings.safety_down = 90;
        },
        |view| view.set.is_scale_up_disabled = true,
        |view| view.set.is_thaw_asked = true,
        |view| view.set.closed_ordinal = Some(9),
        |view| view.set.auto_preserve_max = 1,
        |view| view.set.scaled_down_at = Some(seconds(2)),
        |view| view.set.reported.is_frozen = true,
        |view| view.freshness = Freshness::InDoubt,
        |view| {
            view.alternatives.classes = ["worker".into(), "other".into()].into();
            view.alternatives.exhausted.found(&"worker".into(), seconds(900));
        },
        |view| view.alternatives.unusable = vec!["gone".into()],
        |view| view.permits = Permits::Only(["m1".into()].into()),
        |view| {
            let reason = FreezeReason::Requested;
            view.gate = Gate::Frozen { since: seconds(0), reason };
        },
    ]
}

/// The possible results of writes; other failures end in the same way.
fn results() -> impl Iterator<Item = Result<(), ActError>> {
    [Ok(()), Err(ActError::Conflict)].into_iter()
}

/// With what may have happened.
fn all_results() -> impl Iterator<Item = Result<(), ActError>> {
    results().chain([Err(unclear())])
}

/// All that may come of an effect.
fn outcomes(view: &SetView, progress: &SetProgress, effect: &SetEffect) -> Vec<SetOutcome> {
    match effect {
        SetEffect::AddFinalizer => results().map(SetOutcome::AddFinalizer).collect(),
        SetEffect::ReleaseFinalizer => results().map(SetOutcome::ReleaseFinalizer).collect(),
        SetEffect::ListMachines => {
            let mut more = view.machines.clone();
            more.push(child(9));
            [Ok(more), Ok(Vec::new()), Err(unclear())].map(SetOutcome::ListMachines).to_vec()
        }
        SetEffect::GetSet => {
            let look = |uid: &str, is_deleting| Ok(CurrentSet { uid: uid.into(), is_deleting });
            [look("set-uid", false), look("set-uid", true), look("another", false), Err(ActError::Gone)]
                .map(SetOutcome::GetSet)
                .to_vec()
        }
        SetEffect::GetMachine { name } => {
            let mut results = vec![Ok(NameTakenBy::This), Err(ActError::Gone), Err(unclear())];
            // One stranger is enough here.
            if progress.taken.is_empty() {
                results.push(Ok(NameTakenBy::Other));
            }
            results.into_iter().map(|result| SetOutcome::GetMachine(name.clone(), result)).collect()
        }
        SetEffect::Adopt(machine) => {
            results().map(|result| SetOutcome::Adopt(machine.uid.clone(), result)).collect()
        }
        SetEffect::Release(machine) => {
            results().map(|result| SetOutcome::Release(machine.uid.clone(), result)).collect()
        }
        SetEffect::Sync(machine, _) => {
            results().map(|result| SetOutcome::Sync(machine.uid.clone(), result)).collect()
        }
        SetEffect::Preserve(machine, keep) => {
            results().map(|result| SetOutcome::Preserve(machine.uid.clone(), *keep, result)).collect()
        }
        SetEffect::Create { name, ordinal, .. } => {
            all_results().map(|result| SetOutcome::Create(*ordinal, name.clone(), result)).collect()
        }
        SetEffect::Delete(machine, why) => {
            all_results().map(|result| SetOutcome::Delete(machine.uid.clone(), *why, result)).collect()
        }
        SetEffect::WriteSet(_) => results().map(SetOutcome::WriteSet).collect(),
    }
}

#[derive(Default)]
struct Seen {
    passes: usize,
    effects: BTreeMap<&'static str, usize>,
    reasons: BTreeMap<SetReason, usize>,
    keeps: BTreeMap<PreserveChange, usize>,
}

/// Each batch in each of its outcomes: those of one batch go alike, so that the number of reconciles stays within
/// reach, and a batch in which only the first goes wrong is among them.
fn search(view: &SetView, progress: &SetProgress, batches: usize, seen: &mut Seen) {
    let now = seconds(1_000);
    match step(view, progress, now) {
        SetStep::Act(effects) => {
            assert!(batches < BATCHES_PER_PASS, "the pass does not end: {view:#?} {progress:#?}");
            let decision = invariants::batch(view, progress, &effects, now);
            assert_eq!(decision, Ok(()), "{effects:?} {view:#?} {progress:#?}");
            for effect in &effects {
                *seen.effects.entry(effect.name()).or_default() += 1;
                if let SetEffect::Preserve(_, keep) = effect {
                    *seen.keeps.entry(*keep).or_default() += 1;
                }
            }
            let each: Vec<Vec<SetOutcome>> =
                effects.iter().map(|effect| outcomes(view, progress, effect)).collect();
            let most = each.iter().map(Vec::len).max().unwrap_or_default();
            for chosen in 0..most {
                for others_succeed in [false, true] {
                    if others_succeed && (chosen == 0 || each.len() == 1) {
                        continue;
                    }
                    let mut progress = progress.clone();
                    for (number, outcomes) in each.iter().enumerate() {
                        let goes_well = others_succeed && number > 0;
                        let choice = if goes_well { 0 } else { chosen.min(outcomes.len() - 1) };
                        progress.record(outcomes[choice].clone());
                    }
                    search(view, &progress, batches + 1, seen);
                }
            }
        }
        SetStep::Finish(conclusion) => {
            let decision = invariants::conclusion(view, progress, &conclusion);
            assert_eq!(decision, Ok(()), "{conclusion:?} {view:#?} {progress:#?}");
            seen.passes += 1;
            *seen.reasons.entry(conclusion.reason).or_default() += 1;
        }
    }
}

#[test]
fn no_combination_of_facts_and_outcomes_breaks_a_rule_or_runs_without_end() {
    let mut seen = Seen::default();
    for variant in variants() {
        for (number, first) in kinds().into_iter().enumerate() {
            for second in kinds().into_iter().skip(number) {
                for replicas in [0, 2] {
                    let mut view = facts::view();
                    view.set.replicas = replicas;
                    view.machines = vec![first(0), second(1)];
                    variant(&mut view);
                    search(&view, &SetProgress::default(), 0, &mut seen);
                }
            }
        }
    }
    // Everything that can be done was done, and everything that can be said was said.
    assert!(seen.passes > 50_000, "{}", seen.passes);
    assert_eq!(seen.effects.len(), 12, "{:?}", seen.effects);
    assert_eq!(seen.keeps.len(), 2);
    let unsaid = [SetReason::ClassNotNamed, SetReason::SelectsEverything, SetReason::SelectorMismatch];
    assert_eq!(seen.reasons.len(), 22 - unsaid.len(), "{:?}", seen.reasons);
}

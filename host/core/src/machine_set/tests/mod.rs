//! Decisions about a set as behaviour: facts and answers in, the whole reconcile out.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `creation`, `capacity`, `freeze` | missing Machines, other classes, too many Machines |
//! | `removal`, `deletion` | Machines that are deleted, and a set that is deleted |
//! | `claims`, `inherited` | adoption, and settings that Machines get |
//! | `invalid`, `status` | invalid specs, and the status |
//! | `answers` | no request is repeated without a pause |
//! | `exhaustive` | every combination of abstract facts against the invariants |
//! | `planted` | planted bugs: each invariant finds its own |
//! | `model`, `cluster` | a set through crashes, stale caches, lost answers and late requests |
//! | `facts` | facts to start from |

mod answers;
mod capacity;
mod claims;
mod cluster;
mod creation;
mod deletion;
mod exhaustive;
mod facts;
mod freeze;
mod inherited;
mod invalid;
mod model;
mod planted;
pub(crate) mod removal;
mod status;

use std::collections::BTreeMap;

use expect_test::Expect;
use jiff::{SignedDuration, Timestamp};

use crate::driver::write_error::ActError;
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::id::Uid;

use super::{
    ChildFact, CurrentSet, Freshness, NameTakenBy, SetConclusion, SetEffect, SetOutcome, SetProgress,
    SetStep, SetView, invariants, step,
};

use facts::child;

/// No reconcile needs more: seven for a burst of creations, two for each name that is taken, and one for each of the
/// other questions.
const BATCHES_PER_PASS: usize = 32;

/// One reconcile: the facts, the time, and the outcomes of effects. Effects without a given outcome succeed.
#[derive(Clone)]
struct Case {
    view: SetView,
    now: Timestamp,
    answers: BTreeMap<&'static str, SetOutcome>,
    /// Creations with these ordinals fail so.
    creations: BTreeMap<u32, ActError>,
}

/// A set that wants so many Machines, with these.
fn set(wanted: i32, machines: impl IntoIterator<Item = ChildFact>) -> Case {
    let mut view = facts::view();
    view.set.replicas = wanted;
    view.machines = machines.into_iter().collect();
    Case { view, now: seconds(1_000), answers: BTreeMap::new(), creations: BTreeMap::new() }
}

/// A set whose Machines' ordinals are closed, as after a reconcile that saw some of them go.
fn closed(wanted: i32, machines: impl IntoIterator<Item = ChildFact>) -> Case {
    set(wanted, machines).with(|view| {
        view.set.closed_ordinal = view.machines.iter().filter_map(|machine| machine.ordinal).max();
    })
}

/// So many Machines that do well.
fn running(machines: u32) -> Vec<ChildFact> {
    (0..machines).map(child).collect()
}

impl Case {
    fn with(mut self, change: impl FnOnce(&mut SetView)) -> Self {
        change(&mut self.view);
        self
    }

    fn on(mut self, outcome: SetOutcome) -> Self {
        self.answers.insert(effect_of(&outcome), outcome);
        self
    }

    fn failing(mut self, ordinal: u32, error: ActError) -> Self {
        self.creations.insert(ordinal, error);
        self
    }

    fn frozen_gate(self) -> Self {
        let reason = FreezeReason::ControlClusterUnreachable;
        self.with(|view| view.gate = Gate::Frozen { since: seconds(0), reason })
    }

    fn in_doubt(self) -> Self {
        self.with(|view| view.freshness = Freshness::InDoubt)
    }

    fn answer(&self, effect: &SetEffect) -> SetOutcome {
        let given = |name: &str| self.answers.get(name).cloned();
        match effect {
            SetEffect::Create { name, ordinal, .. } => {
                let result = self.creations.get(ordinal).cloned().map_or(Ok(()), Err);
                SetOutcome::Create(*ordinal, name.clone(), result)
            }
            SetEffect::Adopt(machine) => of_uid(given("adopt"), &machine.uid, SetOutcome::Adopt),
            SetEffect::Release(machine) => of_uid(given("release"), &machine.uid, SetOutcome::Release),
            SetEffect::Sync(machine, _) => of_uid(given("sync"), &machine.uid, SetOutcome::Sync),
            SetEffect::Preserve(machine, keep) => of_uid(given("preserve"), &machine.uid, |uid, result| {
                SetOutcome::Preserve(uid, *keep, result)
            }),
            SetEffect::Delete(machine, why) => {
                of_uid(given("delete"), &machine.uid, |uid, result| SetOutcome::Delete(uid, *why, result))
            }
            SetEffect::GetMachine { name } => match given("look-at-machine") {
                Some(SetOutcome::GetMachine(_, result)) => SetOutcome::GetMachine(name.clone(), result),
                _ => SetOutcome::GetMachine(name.clone(), Ok(NameTakenBy::This)),
            },
            SetEffect::AddFinalizer => given("claim").unwrap_or(SetOutcome::AddFinalizer(Ok(()))),
            SetEffect::ReleaseFinalizer => {
                given("release-finalizer").unwrap_or(SetOutcome::ReleaseFinalizer(Ok(())))
            }
            SetEffect::ListMachines => given("list-machines")
                .unwrap_or_else(|| SetOutcome::ListMachines(Ok(self.view.machines.clone()))),
            SetEffect::GetSet => given("look-at-set").unwrap_or_else(|| {
                SetOutcome::GetSet(Ok(CurrentSet { uid: self.view.set.uid.clone(), is_deleting: false }))
            }),
            SetEffect::WriteSet(_) => given("write-set").unwrap_or(SetOutcome::WriteSet(Ok(()))),
        }
    }

    /// Runs the reconcile to its end. The invariants hold at every step.
    fn pass(&self) -> (Vec<Vec<SetEffect>>, SetConclusion) {
        let mut progress = SetProgress::default();
        let mut batches = Vec::new();
        for _ in 0..BATCHES_PER_PASS {
            match step(&self.view, &progress, self.now) {
                SetStep::Act(effects) => {
                    let decision = invariants::batch(&self.view, &progress, &effects, self.now);
                    assert_eq!(decision, Ok(()), "{batches:?} {effects:?}");
                    for effect in &effects {
                        progress.record(self.answer(effect));
                    }
                    batches.push(effects);
                }
                SetStep::Finish(conclusion) => {
                    let decision = invariants::conclusion(&self.view, &progress, &conclusion);
                    assert_eq!(decision, Ok(()), "{batches:?} {conclusion:?}");
                    return (batches, conclusion);
                }
            }
        }
        panic!("the pass does not end: {batches:?}");
    }

    /// The effects of the reconcile, in a row.
    fn effects(&self) -> Vec<SetEffect> {
        self.pass().0.concat()
    }

    /// The ordinals of the Machines that the reconcile makes.
    fn ordinals(&self) -> Vec<u32> {
        let ordinal = |effect: SetEffect| match effect {
            SetEffect::Create { ordinal, .. } => Some(ordinal),
            _ => None,
        };
        self.effects().into_iter().filter_map(ordinal).collect()
    }

    /// The names of the Machines that the reconcile deletes, in order.
    fn deleted(&self) -> Vec<String> {
        let name = |effect: SetEffect| match effect {
            SetEffect::Delete(machine, _) => Some(machine.name.to_string()),
            _ => None,
        };
        self.effects().into_iter().filter_map(name).collect()
    }

    fn report(&self) -> String {
        let (batches, conclusion) = self.pass();
        let mut text = String::new();
        for batch in batches {
            let effects: Vec<String> = batch.iter().map(effect_text).collect();
            text.push_str(&format!("act {}\n", effects.join(" + ")));
        }
        let status = &conclusion.status;
        text.push_str(&format!(
            "{} {:?}\n{}\n",
            conclusion.reason.as_str(),
            conclusion.wake,
            conclusion.message
        ));
        for condition in &status.conditions {
            text.push_str(&format!("{}={}\n", condition.kind.as_str(), condition.reason));
        }
        for condition in &status.own_conditions {
            text.push_str(&format!(
                "{}={:?} {}: {}\n",
                condition.kind.as_str(),
                condition.status,
                condition.reason,
                condition.message
            ));
        }
        text
    }
}

fn of_uid(
    given: Option<SetOutcome>,
    uid: &Uid,
    outcome: impl Fn(Uid, Result<(), ActError>) -> SetOutcome,
) -> SetOutcome {
    let result = match given {
        Some(
            SetOutcome::Adopt(_, result)
            | SetOutcome::Release(_, result)
            | SetOutcome::Sync(_, result)
            | SetOutcome::Preserve(_, _, result)
            | SetOutcome::Delete(_, _, result),
        ) => result,
        _ => Ok(()),
    };
    outcome(uid.clone(), result)
}

fn effect_of(outcome: &SetOutcome) -> &'static str {
    match outcome {
        SetOutcome::AddFinalizer(_) => "claim",
        SetOutcome::ReleaseFinalizer(_) => "release-finalizer",
        SetOutcome::ListMachines(_) => "list-machines",
        SetOutcome::GetSet(_) => "look-at-set",
        SetOutcome::GetMachine(..) => "look-at-machine",
        SetOutcome::Adopt(..) => "adopt",
        SetOutcome::Release(..) => "release",
        SetOutcome::Preserve(..) => "preserve",
        SetOutcome::Sync(..) => "sync",
        SetOutcome::Create(..) => "create",
        SetOutcome::Delete(..) => "delete",
        SetOutcome::WriteSet(_) => "write-set",
    }
}

fn effect_text(effect: &SetEffect) -> String {
    let name = effect.name();
    match effect {
        SetEffect::Adopt(machine) | SetEffect::Release(machine) => format!("{name} {}", machine.name),
        SetEffect::Preserve(machine, keep) => format!("{name} {} {keep:?}", machine.name),
        SetEffect::Sync(machine, parts) => format!("{name} {} {parts:?}", machine.name),
        SetEffect::Create { ordinal, birth, class, .. } => {
            let class = class.as_ref().map_or(String::new(), |class| format!(" of {class}"));
            format!("{name} #{ordinal} {birth:?}{class}")
        }
        SetEffect::Delete(machine, why) => format!("{name} {} {why:?}", machine.name),
        SetEffect::WriteSet(change) => {
            let all = change.labels.iter().chain(&change.annotations);
            let reported = all.map(|(key, value)| format!("{key}={}", value.as_deref().unwrap_or("-")));
            format!("{name} {}", reported.collect::<Vec<_>>().join(","))
        }
        SetEffect::AddFinalizer
        | SetEffect::ReleaseFinalizer
        | SetEffect::ListMachines
        | SetEffect::GetSet
        | SetEffect::GetMachine { .. } => name.to_owned(),
    }
}

/// Second of the tests' clock.
fn seconds(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365) + SignedDuration::from_secs(second)
}

/// The reconcile tells as expected.
fn check(case: &Case, expected: &Expect) {
    expected.assert_eq(&case.report());
}

fn unclear() -> ActError {
    ActError::Ambiguous { message: "no answer".into() }
}

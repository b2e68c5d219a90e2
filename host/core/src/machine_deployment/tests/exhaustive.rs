//! Combinations of numbers, phases, strategies and failures: each reconcile keeps the invariants and ends.

use crate::driver::write_error::ActError;
use crate::machine_deployment::{OwnedSetFact, RawStrategy};
use crate::scheduling::gate::{FreezeReason, Gate};
use crate::value::phase::Phase::{self, Failed, InPlaceUpdating, New, Pending, Running, Unknown};

use super::facts::{in_place, recreate, rolling, seconds, set};
use super::report::{Case, case};

const PHASES: [&[Phase]; 7] = [
    &[],
    &[Running],
    &[Running, Running, Running],
    &[Pending, Running],
    &[Failed, Unknown, Running],
    &[New, New],
    &[InPlaceUpdating, Running, Running],
];

fn strategies() -> [RawStrategy; 6] {
    [
        rolling(0, 1),
        rolling(1, 0),
        rolling(0, 0),
        recreate(),
        in_place(1, 1, "Auto"),
        in_place(0, 0, "Manual"),
    ]
}

/// Further states of a set.
const UNUSUAL_SETTINGS: [fn(&mut OwnedSetFact); 7] = [
    |_| {},
    |set| set.wanted += 2,
    |set| set.wanted = 0,
    |set| set.generation += 1,
    |set| set.is_deleting = true,
    |set| set.machines.iter_mut().take(1).for_each(|machine| machine.is_deleting = true),
    |set| {
        set.is_scale_up_disabled = true;
        set.machines.iter_mut().take(1).for_each(|machine| machine.is_updated_in_place = true);
    },
];

fn cases(change: impl Fn(Case) -> Case) {
    for old in PHASES {
        for new in PHASES {
            for oddity in UNUSUAL_SETTINGS {
                for strategy in strategies() {
                    for replicas in [0, 1, 3, 6] {
                        let mut sets = vec![set("a", 1, old), set("b", 2, new)];
                        oddity(&mut sets[0]);
                        oddity(&mut sets[1]);
                        let case = case(sets).wants(replicas, "b").with(|view| {
                            view.deployment.spec.strategy = strategy.clone();
                            view.deployment.spec.progress_deadline_seconds = Some(60);
                        });
                        let (_, conclusion) = change(case).run();
                        assert!(!conclusion.message.is_empty());
                    }
                }
            }
        }
    }
}

#[test]
fn any_combination_of_sets_keeps_the_invariants() {
    cases(|case| case);
}

#[test]
fn also_while_it_is_paused() {
    cases(|case| case.with(|view| view.deployment.spec.is_paused = true));
}

#[test]
fn also_while_the_gate_is_shut() {
    cases(|case| {
        case.with(|view| {
            view.gate = Gate::Frozen { since: seconds(0), reason: FreezeReason::TargetClusterUnreachable }
        })
    });
}

#[test]
fn also_while_no_write_succeeds() {
    let names = ["write-deployment", "create-set", "write-set", "delete-set", "write-machine", "write-node"];
    let errors = [ActError::Conflict, ActError::Gone, ActError::Ambiguous { message: "cut".into() }];
    // Each case meets another pair of them, in turn.
    let turn = std::cell::Cell::new(0);
    cases(|case| {
        let pair = turn.replace(turn.get() + 1);
        let error = errors[pair / names.len() % errors.len()].clone();
        case.on(names[pair % names.len()], Err(error))
    });
}

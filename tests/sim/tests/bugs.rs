//! Each rule bites: a bug that breaks it is found, within a few seeds.

use std::time::Duration;

use sim::{Plan, Planted, run};

/// Finds a bug, or says what was found instead.
fn hunt(bug: Planted) {
    let mut found = Vec::new();
    for seed in 1..=12 {
        let report = run(&Plan::new(seed, 3, Duration::from_mins(20)).with(bug)).unwrap();
        match report.violation {
            Some(violation) if violation.rule == bug.breaks() => return,
            Some(violation) => found.push(format!("seed {seed}: {violation}")),
            None => found.push(format!("seed {seed}: nothing")),
        }
    }
    panic!("{bug:?} was not found as {:?}:\n{}", bug.breaks(), found.join("\n"));
}

#[test]
fn a_second_vm_for_a_machine_is_found() {
    hunt(Planted::CreatesTwice);
}

#[test]
fn a_finalizer_that_goes_before_the_vm_is_found() {
    hunt(Planted::ForgetsVms);
}

#[test]
fn a_vm_of_nobody_is_found() {
    hunt(Planted::LeaksVms);
}

#[test]
fn who_acts_without_leading_is_found() {
    hunt(Planted::LeadsAlways);
}

#[test]
fn a_pod_that_is_deleted_against_its_budget_is_found() {
    hunt(Planted::DeletesPods);
}

#[test]
fn a_vm_that_is_deleted_unasked_is_found() {
    hunt(Planted::DeletesUnasked);
}

#[test]
fn a_machine_that_is_failed_although_it_is_well_is_found() {
    hunt(Planted::FailsAtOnce);
}

#[test]
fn a_gate_that_stays_open_is_found() {
    hunt(Planted::GateStaysOpen);
}

#[test]
fn who_writes_for_ever_is_found() {
    hunt(Planted::DropsConditions);
}

#[test]
fn what_never_comes_to_its_end_is_found() {
    hunt(Planted::NeverDeletes);
}

#[test]
fn a_panic_is_found() {
    hunt(Planted::Panics);
}

#[test]
fn an_orphan_that_is_deleted_at_first_sight_is_found() {
    hunt(Planted::DeletesOrphansAtOnce);
}

//! The status of a set.

use crate::machine::OperationFact;
use crate::machine_set::{MachineOwner, SetReason, SetStatus};
use crate::value::phase::{OperationState, OperationType, Phase};

use super::facts::{child, labels};
use super::{running, set};

#[test]
fn the_counts_are_those_of_the_sets_machines() {
    let machines = [
        child(0),
        child(1).phase(Phase::Available),
        child(2).phase(Phase::Pending),
        child(3).going(),
        child(4).with(|machine| machine.labels = labels(&[("pool", "a")])),
        child(5).owner(MachineOwner::Other("pool-b".into())),
        child(6).failed().wish("now").kept(5_000),
        child(7).phase(Phase::CrashLoopBackOff).with(|machine| {
            machine.operation =
                Some(OperationFact { kind: OperationType::Create, state: OperationState::Failed });
        }),
    ];
    let status = set(6, machines).pass().1.status;
    let expected = SetStatus {
        replicas: 7,
        fully_labeled: 6,
        ready: 2,
        available: 3,
        preserved_failed: 1,
        auto_preserved: 0,
        observed_generation: Some(7),
        failed: vec!["m7".into()],
        conditions: Vec::new(),
        own_conditions: status.own_conditions.clone(),
        operation: None,
    };
    assert_eq!(status, expected);
}

#[test]
fn a_failure_that_is_over_is_taken_back() {
    let failed = OperationFact { kind: OperationType::Create, state: OperationState::Failed };
    let case = set(1, running(1)).with(|view| view.set.told.operation = Some(failed));
    let status = case.pass().1.status;
    let operation = status.operation.expect("something to take back");
    assert_eq!((operation.kind, operation.state), (OperationType::Create, OperationState::Successful));
    assert!(status.conditions.is_empty());
}

#[test]
fn a_set_waits_for_its_machines_and_says_so_once() {
    let of = |phase| {
        let conclusion = set(2, [child(0), child(1).phase(phase)]).pass().1;
        (conclusion.reason, conclusion.message)
    };
    assert_eq!(of(Phase::Pending), of(Phase::Unknown));
    assert_eq!((of(Phase::Pending).0, of(Phase::Running).0), (SetReason::Waiting, SetReason::AllAvailable));
}

#[test]
fn each_reason_has_a_word_of_its_own() {
    let reasons = [
        SetReason::InvalidSet,
        SetReason::ClassNotNamed,
        SetReason::SelectsEverything,
        SetReason::SelectorMismatch,
        SetReason::CreationFailed,
        SetReason::DeletionFailed,
        SetReason::ClaimFailed,
        SetReason::FinalizerHeld,
        SetReason::WriteFailed,
        SetReason::CachesBehind,
        SetReason::Held,
        SetReason::Frozen,
        SetReason::ScaleUpDisabled,
        SetReason::Orphaning,
        SetReason::Deleting,
        SetReason::Creating,
        SetReason::Removing,
        SetReason::Waiting,
        SetReason::AllAvailable,
        SetReason::Deleted,
    ];
    let words: std::collections::BTreeSet<&str> = reasons.iter().map(|reason| reason.as_str()).collect();
    assert_eq!(words.len(), reasons.len());
    assert!(reasons.is_sorted());
}

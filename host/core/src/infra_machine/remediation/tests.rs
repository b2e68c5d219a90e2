//! Reconciles of a remediation, by facts and outcomes.

use super::*;
use crate::driver::error::{CallError, DriverError};
use crate::infra_machine::PauseCause;
use crate::machine::node::health::ConditionStatus;
use crate::machine::tests::facts::{self, guest};

const TIMEOUT: SignedDuration = SignedDuration::from_mins(5);

fn at(minutes: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + minutes * 60).unwrap()
}

fn driver(reboots: bool) -> DriverFact {
    let mut driver = facts::view().driver;
    let DriverFact::Ready(ready) = &mut driver else { panic!("{driver:?}") };
    ready.capabilities.reboot = reboots;
    driver
}

fn view() -> RemediationView {
    RemediationView {
        is_deleting: false,
        paused: None,
        created: at(0),
        strategy: RebootStrategy { limit: 2, timeout: TIMEOUT },
        done: RebootsDone::default(),
        machine: RemediatedMachine::Unhealthy { problem: "UnhealthyNode".into() },
        vm: RemediatedVm::There,
        placed_in: None,
        driver: driver(true),
        identity: IdentityFact::Ready,
    }
}

/// Runs a reconcile in which all writes succeed and the driver answers this. Returns the effects and the end.
fn run(
    view: &RemediationView,
    now: Timestamp,
    answer: DriverResult<()>,
) -> (Vec<&'static str>, RemediationConclusion) {
    let (mut progress, mut done) = (RemediationProgress::default(), Vec::new());
    let mut answer = Some(answer);
    for _ in 0..5 {
        match step(view, &progress, now) {
            Step::Finish(end) => return (done, end),
            Step::Act(effects) => {
                for effect in effects {
                    match effect {
                        RemediationEffect::PlaceVm { failure_domain } => {
                            done.push("place");
                            progress.placed = Some(Ok(format!("in {failure_domain}")));
                        }
                        RemediationEffect::NoteReboot(reboots) => {
                            done.push("note");
                            progress.noted = Some((reboots, Ok(())));
                        }
                        RemediationEffect::RebootVm => {
                            done.push("reboot");
                            progress.reboot = answer.take();
                        }
                        RemediationEffect::AskOwner { message } => {
                            done.push("ask");
                            progress.asked = Some((message, Ok(())));
                        }
                    }
                }
            }
        }
    }
    panic!("no end after {done:?}")
}

#[test]
fn a_vm_is_rebooted_twice_with_time_to_help_and_then_the_owner_replaces_its_machine() {
    let mut view = view();
    let (effects, end) = run(&view, at(0), Ok(()));
    assert_eq!(effects, ["note", "reboot"]);
    assert_eq!((end.reason, end.wake), (RemediationReason::Rebooted, Requeue::After(TIMEOUT)));
    assert_eq!(end.done, RebootsDone { count: 1, last: Some(at(0)) });
    assert_eq!(end.reason.status(), ConditionStatus::False);

    view.done = end.done;
    let (effects, end) = run(&view, at(2), Ok(()));
    assert_eq!((effects, end.wake), (vec![], Requeue::After(SignedDuration::from_mins(3))));

    let (effects, end) = run(&view, at(5), Ok(()));
    assert_eq!((effects, end.done.count), (vec!["note", "reboot"], 2));
    view.done = end.done;
    assert_eq!(run(&view, at(9), Ok(())).0, [""; 0]);

    let (effects, end) = run(&view, at(10), Ok(()));
    assert_eq!((effects, end.reason), (vec!["ask"], RemediationReason::OwnerReplaces));
    assert_eq!(end.message, "2 reboots have not helped, each within 300 s");
    assert_eq!(end.done, view.done, "the reboots stay counted");
}

#[test]
fn a_reboot_that_was_certainly_not_done_does_not_count() {
    let wait = [Code::Unavailable, Code::ResourceExhausted, Code::PermissionDenied, Code::FailedPrecondition];
    for code in wait {
        // However long the outage is: the replacement could not be made either.
        let (effects, end) = run(&view(), at(600), Err(guest(code)));
        assert_eq!(
            (effects, end.reason),
            (vec!["note", "reboot"], RemediationReason::RebootFailed),
            "{code}"
        );
        assert_eq!(end.done, RebootsDone::default(), "{code}");
        assert_eq!(end.wake, Requeue::Retry { policy: RetryPolicy::LONG, hint: None }, "{code}");
    }
    // A driver that is at fault has the time of one reboot.
    assert_eq!(run(&view(), at(4), Err(guest(Code::Internal))).1.reason, RemediationReason::RebootFailed);
    assert_eq!(run(&view(), at(5), Err(guest(Code::Internal))).0, ["note", "reboot", "ask"]);
    let perhaps = CallError::Guest(DriverError {
        may_have_happened: true,
        ..DriverError::new(Code::DeadlineExceeded, "no answer")
    });
    let (effects, end) = run(&view(), at(1), Err(perhaps));
    assert_eq!((effects, end.reason), (vec!["note", "reboot"], RemediationReason::Rebooted));
    assert_eq!(end.done, RebootsDone { count: 1, last: Some(at(1)) });
}

#[test]
fn where_no_reboot_helps_the_owner_is_asked_at_once() {
    type Change = fn(&mut RemediationView);
    let rows: [(&str, Change); 6] = [
        ("its Node was deleted, which no reboot brings back", |view| {
            view.machine = RemediatedMachine::Unhealthy { problem: "NodeDeleted".into() };
        }),
        ("its VM is gone", |view| view.vm = RemediatedVm::Gone),
        ("its VM was never created", |view| view.vm = RemediatedVm::NeverCreated),
        ("its infrastructure is no MachinistMachine", |view| view.vm = RemediatedVm::NotOurs),
        ("its driver cannot reboot", |view| view.driver = driver(false)),
        ("the strategy asks for no reboot", |view| view.strategy.limit = 0),
    ];
    for (message, change) in rows {
        let mut view = view();
        change(&mut view);
        let (effects, end) = run(&view, at(0), Ok(()));
        assert_eq!((effects, end.message.as_str()), (vec!["ask"], message));
    }
    for code in [Code::NotFound, Code::Unimplemented, Code::InvalidArgument] {
        let (effects, end) = run(&view(), at(0), Err(guest(code)));
        assert_eq!((effects, end.reason), (vec!["note", "reboot", "ask"], RemediationReason::OwnerReplaces));
    }
}

#[test]
fn nothing_is_done_while_it_must_wait_or_need_not() {
    type Change = fn(&mut RemediationView);
    let rows: [(RemediationReason, Change); 9] = [
        (RemediationReason::Ended, |view| view.is_deleting = true),
        (RemediationReason::VmUnclear, |view| view.vm = RemediatedVm::Unclear("two".into())),
        (RemediationReason::Paused, |view| view.paused = Some(PauseCause::Cluster("c".into()))),
        (RemediationReason::WaitingForMachine, |view| view.machine = RemediatedMachine::Missing),
        (RemediationReason::Ended, |view| view.machine = RemediatedMachine::Deleting),
        (RemediationReason::Healthy, |view| view.machine = RemediatedMachine::Healthy),
        (RemediationReason::OwnerReplaces, |view| view.machine = RemediatedMachine::OwnerReplaces),
        (RemediationReason::WaitingForDriver, |view| view.driver = DriverFact::NotChosen),
        (RemediationReason::WaitingForCredentials, |view| {
            view.identity = IdentityFact::Missing("no Secret".into());
        }),
    ];
    for (reason, change) in rows {
        let mut view = view();
        change(&mut view);
        let (effects, end) = run(&view, at(0), Ok(()));
        assert_eq!((effects, end.reason, end.done), (vec![], reason, RebootsDone::default()));
        assert!(!end.message.is_empty());
    }
    let healthy = RemediationView { machine: RemediatedMachine::Healthy, ..view() };
    assert_eq!(run(&healthy, at(0), Ok(())).1.reason.status(), ConditionStatus::True);
}

/// Every call is about the class in the failure domain of the VM: elsewhere the driver would find none.
#[test]
fn a_vm_in_a_failure_domain_is_rebooted_there() {
    let placed = RemediationView { placed_in: Some("a".into()), ..view() };
    let (effects, end) = run(&placed, at(0), Ok(()));
    assert_eq!((effects, end.reason), (vec!["place", "note", "reboot"], RemediationReason::Rebooted));
    let progress = RemediationProgress { placed: Some(Err(guest(Code::NotFound))), ..Default::default() };
    let Step::Finish(end) = step(&placed, &progress, at(600)) else { panic!("it goes on") };
    assert_eq!((end.reason, end.done), (RemediationReason::RebootFailed, RebootsDone::default()));
}

#[test]
fn a_reboot_that_cannot_be_noted_is_not_requested() {
    let error = ActError::Forbidden { reason: "no right" };
    let done = RebootsDone { count: 1, last: Some(at(0)) };
    let progress = RemediationProgress { noted: Some((done, Err(error.clone()))), ..Default::default() };
    let Step::Finish(end) = step(&view(), &progress, at(0)) else { panic!("it goes on") };
    assert_eq!((end.reason, end.done), (RemediationReason::WriteFailed, RebootsDone::default()));
    let progress = RemediationProgress { asked: Some(("no".into(), Err(error))), ..Default::default() };
    let Step::Finish(end) = step(&view(), &progress, at(0)) else { panic!("it goes on") };
    assert_eq!(end.reason, RemediationReason::WriteFailed);
}

/// A clock that was set back must not hold a remediation for longer than its time.
#[test]
fn a_reboot_in_the_future_is_waited_for_no_longer_than_its_time() {
    let view = RemediationView { done: RebootsDone { count: 1, last: Some(at(500)) }, ..view() };
    assert_eq!(run(&view, at(0), Ok(())).1.wake, Requeue::After(TIMEOUT));
}

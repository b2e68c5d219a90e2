//! The condition Ready: its status, its reasons, and the addresses.

use super::*;

#[test]
fn ready_is_false_until_the_vm_is_provided_and_then_unknown_where_nothing_is_known() {
    let create = |code: Code| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::CreateVm).then(|| MachineOutcome::CreateVm(Err(guest(code))))
        }
    };
    let rows = [
        (Code::ResourceExhausted, "InsufficientCapacity"),
        (Code::InvalidArgument, "InvalidSpec"),
        (Code::Unauthenticated, "CredentialsRejected"),
        (Code::PermissionDenied, "CredentialsRejected"),
        (Code::OutOfRange, "SeveralInstances"),
        (Code::Internal, "CreationFailed"),
    ];
    for (code, reason) in rows {
        assert_eq!(ready(&run(&fresh(), create(code)).1), (NOT_READY, reason), "{code:?}");
    }
    let mut view = provisioned();
    view.identity = IdentityFact::Missing("no Secret".into());
    assert_eq!(ready(&run(&view, |_| None).1), (UNKNOWN, "CredentialsMissing"));
}

#[test]
fn ready_is_unknown_after_a_look_that_failed_until_one_succeeds() {
    let look = |error: fn() -> CallError| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::ProbeVm).then(|| MachineOutcome::ProbeVm(Err(error())))
        }
    };
    type Failure = fn() -> CallError;
    let rows: [(Failure, &str); 4] = [
        (|| guest(Code::Unavailable), "InstanceStateUnknown"),
        (|| guest(Code::Unauthenticated), "CredentialsRejected"),
        (|| guest(Code::OutOfRange), "SeveralInstances"),
        (|| GuestFailure::Trap { detail: "boom".into() }.into(), "DriverUnavailable"),
    ];
    for (error, reason) in rows {
        let (_, end) = run(&next_look(now()), look(error));
        assert_eq!((ready(&end), end.status.is_provisioned), ((UNKNOWN, reason), false), "{reason}");
        assert_eq!(end.wake, Requeue::After(UNSEEN_INTERVAL), "{reason}");
        // Until the next look it stays so, also for a process that has just begun.
        let mut later = provisioned();
        let reason = InfraReason::of_unseen_vm(reason);
        later.reported =
            Some(ReportedReady { status: ConditionStatus::Unknown, reason, message: "so".into() });
        assert_eq!(ready(&run(&later, |_| None).1), (UNKNOWN, reason.unwrap().as_str()));
    }
    assert_eq!(ready(&run(&next_look(now()), |_| None).1), (READY, "InstanceRunning"));
}

#[test]
fn without_a_driver_ready_is_unknown_from_the_time_of_the_next_look_on() {
    let mut view = next_look(now() + SignedDuration::from_mins(7));
    view.machine.driver = DriverFact::NotChosen;
    let (_, end) = run(&view, |_| None);
    assert_eq!(
        (ready(&end), end.wake),
        ((READY, "InstanceRunning"), Requeue::After(SignedDuration::from_mins(7)))
    );
    view.machine.vm_check = next_look(now()).machine.vm_check;
    let (effects, end) = run(&view, |_| None);
    assert_eq!((effects, ready(&end)), (Vec::new(), (UNKNOWN, "DriverUnavailable")));
    assert_eq!(end.wake, Requeue::After(UNSEEN_INTERVAL));
}

#[test]
fn a_vm_that_boots_is_awaited_and_one_that_is_stopped_is_not_ready() {
    let created = |state: VmState| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::CreateVm)
                .then(|| MachineOutcome::CreateVm(Ok(Creation::Created(vm_that_is(state)))))
        }
    };
    let (_, end) = run(&fresh(), created(VmState::Pending));
    assert_eq!((ready(&end), end.status.is_provisioned), ((NOT_READY, "InstancePending"), false));
    assert!(matches!(end.wake, Requeue::After(_)), "{:?}", end.wake);
    let (_, end) = run(&fresh(), created(VmState::Stopped));
    assert_eq!((ready(&end), end.status.is_provisioned), ((NOT_READY, "InstanceStopped"), false));
    // What an earlier reconcile has seen counts until the VM is looked at again.
    let mut view = provisioned();
    view.reported = Some(ReportedReady {
        status: ConditionStatus::False,
        reason: InfraReason::of_vm("InstanceStopped"),
        message: "it is stopped".into(),
    });
    assert_eq!(ready(&run(&view, |_| None).1), (NOT_READY, "InstanceStopped"));
}

/// After a move the status is empty, and the id is what moved along.
#[test]
fn a_machine_that_moved_is_looked_at_and_never_made_again() {
    let mut view = begun();
    view.machine.machine.provider_id = Some(vm().provider_id);
    let (effects, end) = run(&view, |_| None);
    assert_eq!((effects, end.status.is_provisioned), (vec!["probe-vm"], true));
    let missing = |effect: &MachineEffect| {
        matches!(effect, MachineEffect::ProbeVm).then(|| MachineOutcome::ProbeVm(Err(guest(Code::NotFound))))
    };
    let (effects, end) = run(&view, missing);
    assert_eq!((effects, ready(&end)), (vec!["probe-vm"], (NOT_READY, "InstanceNotFound")));
    assert!(!end.status.is_provisioned);
}

#[test]
fn a_machines_own_reasons_are_passed_on() {
    assert_eq!(InfraReason::Machine(MachineReason::DriverLoading).as_str(), "DriverLoading");
}

#[test]
fn addresses_that_core_would_refuse_are_left_out() {
    let address = |kind: &str, address: &str| Address { kind: kind.into(), address: address.into() };
    let long = "x".repeat(257);
    let all = [
        address("InternalIP", "10.0.0.2"),
        address("PublicIP", "1.2.3.4"),
        address("InternalIP", "10.0.0.1"),
        address("Hostname", ""),
        address("Hostname", &long),
        address("InternalIP", "10.0.0.2"),
    ];
    assert_eq!(
        addresses::valid(&all),
        [address("InternalIP", "10.0.0.1"), address("InternalIP", "10.0.0.2")]
    );
    let many: Vec<Address> =
        (0..300).map(|n| address("InternalIP", &format!("10.0.{}.{n}", n / 256))).collect();
    assert_eq!(addresses::valid(&many).len(), 256);
}

/// Commands find the next step by the word of a condition.
#[test]
fn every_reason_has_a_word_of_its_own_and_reads_back() {
    let mut words = std::collections::BTreeSet::new();
    for reason in InfraReason::all() {
        assert!(words.insert(reason.as_str()), "{reason:?} has the word of another");
        assert_eq!(InfraReason::parse(reason.as_str()), Some(reason));
    }
    assert!(words.contains("WaitingForBootstrapData") && words.contains("DriverNotReady"), "{words:?}");
    assert_eq!(InfraReason::parse("Nonsense"), None);
}

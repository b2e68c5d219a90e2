//! From creation to deletion.

use super::*;

#[test]
fn a_new_machine_gets_its_finalizer_and_key_then_its_vm_and_then_its_id() {
    let (effects, end) = run(&fresh(), |_| None);
    assert_eq!(effects, ["claim", "create-vm", "record-vm"]);
    assert_eq!(ready(&end), (Some(ConditionStatus::True), "InstanceRunning"));
    assert!(end.status.is_provisioned);
}

#[test]
fn a_reconcile_after_a_crash_looks_before_it_creates() {
    let (effects, end) = run(&begun(), |_| None);
    assert_eq!(effects, ["probe-vm", "record-vm"], "the VM of the earlier create is found");
    assert!(end.status.is_provisioned);
    let missing = |effect: &MachineEffect| {
        matches!(effect, MachineEffect::ProbeVm).then(|| MachineOutcome::ProbeVm(Err(guest(Code::NotFound))))
    };
    let (effects, _) = run(&begun(), missing);
    assert_eq!(effects, ["probe-vm", "create-vm", "record-vm"]);
}

/// The order is that in which Cluster API provides these.
#[test]
fn each_prerequisite_is_waited_for_without_an_effect() {
    type Change = fn(&mut InfraMachineView);
    let rows: [(&str, Change); 9] = [
        ("WaitingForMachine", |view| view.owner = OwnerFact::Missing),
        ("WaitingForCluster", |view| view.cluster = ClusterFact::NotNamed),
        ("WaitingForCluster", |view| view.cluster = ClusterFact::Missing("c".into())),
        ("WaitingForClusterInfrastructureReady", |view| {
            view.cluster = ClusterFact::WithoutInfrastructure("c".into());
        }),
        ("CredentialsMissing", |view| view.identity = IdentityFact::Missing("no Secret".into())),
        ("CredentialsRefused", |view| view.identity = IdentityFact::Refused("not here".into())),
        ("FailureDomainUnsupported", |view| view.failure_domain = Some("a".into())),
        ("WaitingForBootstrapData", |view| view.bootstrap = BootstrapFact::NotNamed),
        ("WaitingForBootstrapData", |view| view.bootstrap = BootstrapFact::WithoutValue("s".into())),
    ];
    let mut together = fresh();
    for (reason, change) in rows.into_iter().rev() {
        let mut view = fresh();
        change(&mut view);
        change(&mut together);
        for view in [&view, &together] {
            let (effects, end) = run(view, |_| None);
            assert_eq!((effects, ready(&end)), (Vec::new(), (NOT_READY, reason)));
            assert!(!end.message.is_empty() && !end.status.is_provisioned);
        }
    }
}

/// After provision the bootstrap Secret may be gone, and so it may before the id is stored.
#[test]
fn a_vm_that_exists_needs_no_bootstrap_data() {
    let mut view = begun();
    view.bootstrap = BootstrapFact::Missing("s".into());
    let (effects, end) = run(&view, |_| None);
    assert_eq!((effects, end.status.is_provisioned), (vec!["probe-vm", "record-vm"], true));
    let missing = |effect: &MachineEffect| {
        matches!(effect, MachineEffect::ProbeVm).then(|| MachineOutcome::ProbeVm(Err(guest(Code::NotFound))))
    };
    let (effects, end) = run(&view, missing);
    assert_eq!((effects, ready(&end)), (vec!["probe-vm"], (NOT_READY, "WaitingForBootstrapData")));
    let mut moved = provisioned();
    moved.bootstrap = BootstrapFact::NotNamed;
    assert_eq!(ready(&run(&moved, |_| None).1), (Some(ConditionStatus::True), "InstanceRunning"));
}

/// A driver is promised the same user data with a key while its create is unresolved.
#[test]
fn other_bootstrap_data_is_sent_only_when_reads_must_show_what_the_create_before_has_made() {
    let window = SignedDuration::from_secs(30);
    let changed = |ago: i64| {
        let mut view = begun();
        view.data_changed = Some(SignedDuration::from_secs(ago));
        let DriverFact::Ready(driver) = &mut view.machine.driver else { panic!("{:?}", view.machine.driver) };
        driver.consistency_window = window;
        view
    };
    let answers = |code: Code| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::ProbeVm).then(|| MachineOutcome::ProbeVm(Err(guest(code))))
        }
    };
    let (effects, end) = run(&changed(20), answers(Code::NotFound));
    assert_eq!((effects, ready(&end)), (vec!["probe-vm"], (NOT_READY, "BootstrapDataChanged")));
    assert_eq!(end.wake, Requeue::Check(SignedDuration::from_secs(10)), "when reads must show it");
    let (effects, end) = run(&changed(30), answers(Code::NotFound));
    assert_eq!(effects, ["probe-vm", "claim", "create-vm", "record-vm"], "the digest is noted first");
    assert_eq!(end.reason.as_str(), "InstanceRunning");
    let (effects, _) = run(&changed(0), |_| None);
    assert_eq!(effects, ["probe-vm", "record-vm"], "the VM of the create before is the machine's");
    let (effects, end) = run(&changed(30), answers(Code::Unavailable));
    assert_eq!((effects, end.status.is_provisioned), (vec!["probe-vm"], false), "no answer proves nothing");
}

#[test]
fn a_digest_that_cannot_be_noted_sends_no_other_data() {
    let mut view = begun();
    view.data_changed = Some(SignedDuration::MAX);
    let fails = |effect: &MachineEffect| match effect {
        MachineEffect::ProbeVm => Some(MachineOutcome::ProbeVm(Err(guest(Code::NotFound)))),
        MachineEffect::AddFinalizer => Some(MachineOutcome::AddFinalizer(Err(ActError::Conflict))),
        _ => None,
    };
    let (effects, end) = run(&view, fails);
    assert_eq!((effects, ready(&end)), (vec!["probe-vm", "claim"], (NOT_READY, "ClaimFailed")));
}

#[test]
fn a_finalizer_that_somebody_took_off_is_put_back_whatever_else_is_missing() {
    let mut view = provisioned();
    view.machine.machine.has_finalizer = false;
    let (effects, end) = run(&view, |_| None);
    assert_eq!((effects, end.reason), (vec!["claim"], InfraReason::InstanceRunning));
    view.identity = IdentityFact::Missing("no Secret".into());
    view.owner = OwnerFact::Missing;
    assert_eq!(run(&view, |_| None).0, ["claim"]);
    let effects = run(&deleting(view), |_| None).0;
    assert!(!effects.contains(&"claim"), "nobody may add one in a deletion: {effects:?}");
}

#[test]
fn while_paused_nothing_happens_in_any_state_deletion_included() {
    let causes = [PauseCause::Cluster("c".into()), PauseCause::Annotation("paused"), PauseCause::Moved];
    for view in
        [fresh(), begun(), provisioned(), deleting(fresh()), deleting(begun()), deleting(provisioned())]
    {
        for cause in &causes {
            let view = InfraMachineView { paused: Some(cause.clone()), ..view.clone() };
            let (effects, end) = run(&view, |_| None);
            assert_eq!((effects, end.wake), (Vec::new(), Requeue::Resync));
            // Ready stays as it was; without one the object would count as done.
            let ready = view.machine.machine.provider_id.is_none().then_some(ConditionStatus::False);
            assert_eq!((end.status.is_paused, end.status.ready), (true, ready));
            let reported =
                ReportedReady { status: ConditionStatus::Unknown, reason: None, message: "so".into() };
            let view = InfraMachineView { reported: Some(reported), ..view };
            assert_eq!(run(&view, |_| None).1.status.ready, None);
        }
    }
}

#[test]
fn two_objects_with_one_key_neither_create_nor_delete() {
    let contested_by = vec![ObjectKey::new("n", "copy")];
    for view in [begun(), provisioned(), deleting(provisioned())] {
        let (effects, end) = run(&InfraMachineView { contested_by: contested_by.clone(), ..view }, |_| None);
        assert_eq!((effects, end.reason), (Vec::new(), InfraReason::KeyContested));
        assert!(end.message.contains("n/copy") && end.message.contains("finalizer"), "{}", end.message);
    }
}

#[test]
fn a_deletion_without_a_key_takes_the_finalizer_off_and_asks_nobody() {
    let mut view = deleting(fresh());
    assert_eq!(run(&view, |_| None).0, Vec::<&str>::new(), "nothing of ours holds it");
    view.machine.machine.has_finalizer = true;
    let (effects, end) = run(&view, |_| None);
    assert_eq!((effects, end.wake), (vec!["release-finalizer"], Requeue::Gone));
}

/// Cluster, owner and bootstrap data may be gone by then.
#[test]
fn a_deletion_needs_nothing_but_driver_and_credentials() {
    let mut view = deleting(provisioned());
    view.owner = OwnerFact::Missing;
    view.cluster = ClusterFact::NotNamed;
    view.bootstrap = BootstrapFact::Missing("s".into());
    view.failure_domain = Some("a".into());
    let (effects, end) = run(&view, |_| None);
    assert_eq!(effects, ["delete-vm"]);
    assert_eq!(ready(&end), (NOT_READY, "VmTerminating"));
    view.identity = IdentityFact::Missing("Secret cloud does not exist: create it again".into());
    let (effects, end) = run(&view, |_| None);
    assert_eq!((effects, ready(&end)), (Vec::new(), (NOT_READY, "CredentialsMissing")));
}

#[test]
fn a_mark_of_the_hosts_own_machines_makes_no_vm_and_keeps_those_that_are_there() {
    let reserved = |mut view: InfraMachineView| {
        view.reserved_mark = Some("shoot".to_owned());
        view
    };
    let (effects, end) = run(&reserved(fresh()), |_| None);
    assert!(effects.is_empty(), "{effects:?}");
    assert_eq!(end.reason, InfraReason::InvalidSpec);
    assert!(end.message.contains("shoot") && end.message.contains("clusterID"), "{}", end.message);
    let (_, end) = run(&reserved(provisioned()), |_| None);
    assert_eq!(end.reason, InfraReason::InstanceRunning);
    let (effects, _) = run(&reserved(deleting(provisioned())), |_| None);
    assert!(effects.contains(&"delete-vm"), "{effects:?}");
}

//! Reconciles of an infrastructure machine, by facts and outcomes.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::driver::error::{CallError, Code, DriverError, GuestFailure};
use crate::driver::write_error::ActError;
use crate::driver::{Address, Capabilities, Creation, Deletion, Vm, VmState};
use crate::machine::node::health::ConditionStatus;
use crate::machine::tests::facts::{self, guest, vm, vm_that_is};
use crate::machine::{DriverFact, MachineOutcome, MachineProgress, MachineReason, Requeue, TargetFact};
use crate::scheduling::vm_checks::{UNSEEN_INTERVAL, VmCheckFact};
use crate::value::id::ObjectKey;
use crate::value::phase::Phase;

/// All that creation waits for is there, and nothing was done yet.
fn fresh() -> InfraMachineView {
    let mut machine = facts::view();
    machine.target = TargetFact::None;
    machine.settings.creation_timeout = SignedDuration::MAX;
    InfraMachineView {
        machine,
        owner: OwnerFact::Present,
        cluster: ClusterFact::Ready,
        paused: None,
        contested_by: Vec::new(),
        bootstrap: BootstrapFact::Ready,
        data_changed: None,
        identity: IdentityFact::Ready,
        reserved_mark: None,
        failure_domain: None,
        is_provisioned: false,
        interruptible: None,
        reported: None,
        names: &NAMES,
    }
}

const NAMES: InfraNames = InfraNames { key: "key", finalizer: "finalizer", cluster: "cluster" };

fn begun() -> InfraMachineView {
    let mut view = fresh();
    view.machine.machine.has_finalizer = true;
    view.machine.machine.has_priority = true;
    view
}

fn provisioned() -> InfraMachineView {
    let mut view = begun();
    view.machine.machine.provider_id = Some(vm().provider_id);
    view.machine.machine.phase = Phase::Available;
    view.is_provisioned = true;
    view
}

/// A machine in service whose VM is looked at then.
fn next_look(next: Timestamp) -> InfraMachineView {
    let mut view = provisioned();
    view.machine.vm_check = Some(VmCheckFact {
        next,
        interval: SignedDuration::from_hours(1),
        missed: None,
        is_doubted: false,
        is_unproven: false,
    });
    view
}

fn deleting(mut view: InfraMachineView) -> InfraMachineView {
    view.machine.machine.deletion = Some(now());
    view.machine.machine.phase = Phase::Terminating;
    view
}

fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}

/// Runs a reconcile: `answer` says what comes of each effect. Returns the names of the effects, and the end.
fn run(
    view: &InfraMachineView,
    mut answer: impl FnMut(&MachineEffect) -> Option<MachineOutcome>,
) -> (Vec<&'static str>, InfraConclusion) {
    let (mut progress, mut names) = (MachineProgress::default(), Vec::new());
    for _ in 0..12 {
        match step(view, &progress, now()) {
            InfraStep::Act(effects) => {
                for effect in effects {
                    names.push(effect.name());
                    let outcome = answer(&effect).unwrap_or_else(|| done(&effect));
                    progress.record(outcome);
                }
            }
            InfraStep::Finish(conclusion) => return (names, conclusion),
        }
    }
    panic!("no end after {names:?}");
}

/// Each effect succeeds, and the cloud has made a VM that runs.
fn done(effect: &MachineEffect) -> MachineOutcome {
    match effect {
        MachineEffect::AddFinalizer => MachineOutcome::AddFinalizer(Ok(())),
        MachineEffect::CreateVm => {
            MachineOutcome::CreateVm(Ok(Creation::Created(vm_that_is(VmState::Running))))
        }
        MachineEffect::ProbeVm => MachineOutcome::ProbeVm(Ok(vm_that_is(VmState::Running))),
        MachineEffect::InitializeVm => MachineOutcome::InitializeVm(Ok(vm_that_is(VmState::Running))),
        MachineEffect::PlaceVm { .. } => MachineOutcome::PlaceVm(Ok("{}".to_owned())),
        MachineEffect::AskInterruptible => MachineOutcome::AskInterruptible(Ok(true)),
        MachineEffect::NameNode(vm) => MachineOutcome::NameNode(Ok(vm.provider_id.clone())),
        MachineEffect::RecordVm { .. } => MachineOutcome::RecordVm(Ok(())),
        MachineEffect::DeleteVm => MachineOutcome::DeleteVm(Ok(Deletion::Deleted { last_known_state: None })),
        MachineEffect::ReleaseFinalizer => MachineOutcome::ReleaseFinalizer(Ok(())),
        other => panic!("{other:?} is not for infrastructure machines"),
    }
}

fn ready(conclusion: &InfraConclusion) -> (Option<ConditionStatus>, &'static str) {
    (conclusion.status.ready, conclusion.reason.as_str())
}

const READY: Option<ConditionStatus> = Some(ConditionStatus::True);
const NOT_READY: Option<ConditionStatus> = Some(ConditionStatus::False);
const UNKNOWN: Option<ConditionStatus> = Some(ConditionStatus::Unknown);

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

#[test]
fn a_failure_domain_is_asked_of_drivers_that_honour_it() {
    let view = placed(fresh());
    let (effects, end) = run(&view, |_| None);
    assert_eq!(effects, ["claim", "place-vm", "create-vm", "record-vm"]);
    assert_eq!((end.reason.as_str(), end.status.is_provisioned), ("InstanceRunning", true));
    let (effects, _) = run(&placed(begun()), |_| None);
    assert_eq!(effects, ["place-vm", "probe-vm", "record-vm"], "a look is about the same class");
    let (effects, _) = run(&deleting(placed(provisioned())), |_| None);
    assert_eq!(effects, ["place-vm", "delete-vm"], "and so is a deletion");
}

/// The zone of the sample VM is asked for, and the driver honours that.
fn placed(mut view: InfraMachineView) -> InfraMachineView {
    view.failure_domain = vm().failure_domain;
    assert!(view.failure_domain.is_some());
    offer(&mut view, |capabilities| capabilities.placement = true);
    view
}

fn offer(view: &mut InfraMachineView, change: impl FnOnce(&mut Capabilities)) {
    let DriverFact::Ready(driver) = &mut view.machine.driver else { panic!("{:?}", view.machine.driver) };
    change(&mut driver.capabilities);
}

#[test]
fn a_class_without_the_failure_domain_makes_no_vm_and_the_driver_says_why() {
    let refuses = |code: Code| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::PlaceVm { .. }).then(|| MachineOutcome::PlaceVm(Err(guest(code))))
        }
    };
    for (code, reason) in
        [(Code::InvalidArgument, "FailureDomainUnsupported"), (Code::Internal, "DriverBroken")]
    {
        let (effects, end) = run(&placed(fresh()), refuses(code));
        assert_eq!((effects, ready(&end)), (vec!["claim", "place-vm"], (NOT_READY, reason)));
    }
}

#[test]
fn a_vm_in_another_failure_domain_is_stored_and_never_provided() {
    let mut view = placed(fresh());
    view.failure_domain = Some("elsewhere".into());
    let (effects, end) = run(&view, |_| None);
    assert_eq!(effects, ["claim", "place-vm", "create-vm", "record-vm"], "its deletion needs the id");
    assert_eq!((ready(&end), end.status.is_provisioned), ((NOT_READY, "InstanceMisplaced"), false));
    assert!(
        end.message.contains("elsewhere") && end.message.contains("delete the Machine"),
        "{}",
        end.message
    );
    let nowhere = |effect: &MachineEffect| {
        let vm = Vm { failure_domain: None, ..vm_that_is(VmState::Running) };
        matches!(effect, MachineEffect::CreateVm).then(|| MachineOutcome::CreateVm(Ok(Creation::Created(vm))))
    };
    assert_eq!(ready(&run(&view, nowhere).1), (NOT_READY, "InstanceMisplaced"));
    let unplaced = |effect: &MachineEffect| {
        let vm = Vm { failure_domain: None, ..vm_that_is(VmState::Pending) };
        matches!(effect, MachineEffect::CreateVm).then(|| MachineOutcome::CreateVm(Ok(Creation::Created(vm))))
    };
    assert_eq!(ready(&run(&view, unplaced).1), (NOT_READY, "InstancePending"));
    let provided = InfraMachineView { failure_domain: view.failure_domain, ..placed(provisioned()) };
    assert_eq!(ready(&run(&provided, |_| None).1).1, "InstanceRunning", "what was provided stays so");
}

/// A later version of the driver may have lost the interface.
#[test]
fn without_the_interface_a_vm_with_an_id_is_found_by_it_and_one_without_is_kept() {
    let without = |view: InfraMachineView| {
        let mut view = placed(view);
        offer(&mut view, |capabilities| capabilities.placement = false);
        view
    };
    assert_eq!(run(&without(deleting(provisioned())), |_| None).0, ["delete-vm"]);
    let (effects, end) = run(&without(deleting(begun())), |_| None);
    assert_eq!((effects, ready(&end)), (Vec::new(), (NOT_READY, "FailureDomainUnsupported")));
}

#[test]
fn the_id_of_the_node_is_asked_for_before_the_vm_is_stored_and_only_then() {
    let mut view = fresh();
    offer(&mut view, |capabilities| capabilities.node_id = true);
    assert_eq!(run(&view, |_| None).0, ["claim", "create-vm", "name-node", "record-vm"]);
    let unnamed = |code: Code| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::NameNode(_)).then(|| MachineOutcome::NameNode(Err(guest(code))))
        }
    };
    let (effects, end) = run(&view, unnamed(Code::FailedPrecondition));
    assert_eq!(effects, ["claim", "create-vm", "name-node"]);
    assert_eq!((ready(&end), end.status.is_provisioned), ((NOT_READY, "NodeIdUnknown"), false));
    let mut view = begun();
    offer(&mut view, |capabilities| capabilities.node_id = true);
    assert_eq!(
        run(&view, |_| None).0,
        ["probe-vm", "name-node", "record-vm"],
        "the next reconcile finds the VM"
    );
    let mut view = provisioned();
    offer(&mut view, |capabilities| capabilities.node_id = true);
    assert!(!run(&view, |_| None).0.contains(&"name-node"), "it is stored already");
}

fn tells_interruptions(mut view: InfraMachineView) -> InfraMachineView {
    offer(&mut view, |capabilities| capabilities.interruption = true);
    view
}

#[test]
fn whether_the_vm_may_be_taken_away_is_asked_once_and_said_with_the_provision() {
    assert_eq!(run(&fresh(), |_| None).1.status.interruptible, None, "the driver does not offer it");
    let (effects, end) = run(&tells_interruptions(fresh()), |_| None);
    assert_eq!(effects, ["claim", "create-vm", "record-vm", "ask-interruptible"]);
    assert_eq!((end.status.is_provisioned, end.status.interruptible), (true, Some(true)));
    let (effects, _) = run(&tells_interruptions(placed(fresh())), |_| None);
    assert_eq!(effects, ["claim", "place-vm", "create-vm", "record-vm", "ask-interruptible"]);
    let known = InfraMachineView { interruptible: Some(false), ..tells_interruptions(next_look(now())) };
    let (effects, end) = run(&known, |_| None);
    assert_eq!((effects, end.status.interruptible), (vec!["probe-vm"], None), "the status has it");
}

#[test]
fn whether_the_vm_may_be_taken_away_holds_nothing_up_and_is_asked_again_at_the_next_look() {
    let fails = |error: fn() -> CallError| {
        move |effect: &MachineEffect| {
            matches!(effect, MachineEffect::AskInterruptible)
                .then(|| MachineOutcome::AskInterruptible(Err(error())))
        }
    };
    let rows: [fn() -> CallError; 3] = [
        || guest(Code::InvalidArgument),
        || guest(Code::Internal),
        || GuestFailure::Trap { detail: "boom".into() }.into(),
    ];
    for error in rows {
        for view in [fresh(), next_look(now())] {
            let without = run(&view, |_| None).1;
            let (effects, end) = run(&tells_interruptions(view), fails(error));
            assert_eq!(effects.last(), Some(&"ask-interruptible"));
            assert_eq!(end, without, "as if the driver did not offer it");
        }
    }
    let later = tells_interruptions(provisioned());
    assert_eq!(run(&later, |_| None).0, Vec::<&str>::new(), "there is no look in this reconcile");
    let (effects, end) = run(&tells_interruptions(next_look(now())), |_| None);
    assert_eq!((effects, end.status.interruptible), (vec!["probe-vm", "ask-interruptible"], Some(true)));
    // A driver without status queries has no looks.
    let mut blind = later;
    offer(&mut blind, |capabilities| capabilities.status = false);
    let (effects, end) = run(&blind, |_| None);
    assert_eq!((effects, end.status.interruptible), (vec!["ask-interruptible"], Some(true)));
}

#[test]
fn whether_the_vm_may_be_taken_away_is_not_asked_before_it_is_provided_nor_in_a_deletion() {
    let boots = |effect: &MachineEffect| {
        matches!(effect, MachineEffect::CreateVm)
            .then(|| MachineOutcome::CreateVm(Ok(Creation::Created(vm_that_is(VmState::Pending)))))
    };
    let (effects, end) = run(&tells_interruptions(fresh()), boots);
    assert_eq!(effects, ["claim", "create-vm", "record-vm"]);
    assert_eq!((end.reason.as_str(), end.status.interruptible), ("InstancePending", None));
    assert_eq!(run(&tells_interruptions(deleting(provisioned())), |_| None).0, ["delete-vm"]);
    let misplaced = InfraMachineView { failure_domain: Some("elsewhere".into()), ..placed(fresh()) };
    let (effects, _) = run(&tells_interruptions(misplaced), |_| None);
    assert!(!effects.contains(&"ask-interruptible"), "{effects:?}");
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

/// The id of the Node is made of the VM, and such an answer has none.
#[test]
fn a_vm_whose_second_step_is_missing_gets_that_before_its_node_is_named() {
    let uninitialized = |effect: &MachineEffect| {
        let error = DriverError {
            provider_id: Some(vm().provider_id),
            node_name: Some(vm().node_name),
            ..DriverError::new(Code::Uninitialized, "the second step is missing")
        };
        matches!(effect, MachineEffect::ProbeVm).then(|| MachineOutcome::ProbeVm(Err(error.into())))
    };
    let mut view = begun();
    offer(&mut view, |capabilities| (capabilities.node_id, capabilities.initialize) = (true, true));
    let (effects, end) = run(&view, uninitialized);
    assert_eq!(effects, ["probe-vm", "initialize-vm", "name-node", "record-vm"]);
    assert!(end.status.is_provisioned);
    let fails = |effect: &MachineEffect| match effect {
        MachineEffect::InitializeVm => Some(MachineOutcome::InitializeVm(Err(guest(Code::Unavailable)))),
        other => uninitialized(other),
    };
    let (effects, end) = run(&view, fails);
    assert_eq!(
        (effects, ready(&end)),
        (vec!["probe-vm", "initialize-vm"], (NOT_READY, "InitializationFailed"))
    );
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

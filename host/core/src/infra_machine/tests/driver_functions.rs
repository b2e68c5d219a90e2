//! Questions to drivers: the failure domain, the id of the Node, whether the cloud may take the VM away.

use super::*;

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

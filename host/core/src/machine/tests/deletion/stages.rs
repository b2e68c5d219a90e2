//! The stages of a deletion before its VM: waits, and messages.

use expect_test::expect;
use jiff::SignedDuration;

use crate::drain::{self, AttachmentFact, EvictError, PodFact, PodListing, PodOwner, PodPhase, PodRef};
use crate::driver::error::{Code, DriverError, Refusal};
use crate::driver::write_error::ActError;
use crate::machine::node::health::HealthProblem;
use crate::machine::{
    ClassFact, DeletionFact, DeletionStage, DriverFact, MachineOutcome, MachineView, NodeFact, NodePresence,
    OperationFact, ReportedCondition, SecretFact, TargetFact,
};
use crate::scheduling::gate::Gate;
use crate::value::id::ObjectKey;
use crate::value::phase::{OperationState, OperationType, Phase};

use crate::machine::tests::facts::{self, going_node, guest, node, vm};
use crate::machine::tests::{Case, check, creating, deleting, failed, ordered, running, seconds};

fn pod(name: &str) -> PodFact {
    PodFact {
        pod: PodRef { key: ObjectKey::new("default", name), uid: name.into() },
        owner: PodOwner::Controller,
        phase: PodPhase::Running,
        is_ready: true,
        ending: None,
        grace: SignedDuration::from_secs(30),
        priority: 0,
        has_local_storage: false,
        claims: Vec::new(),
        budgets: Vec::new(),
    }
}

fn pods() -> MachineOutcome {
    let look = PodListing { read: drain::ReadConsistency::Latest, pods: vec![pod("web")] };
    MachineOutcome::Drain(drain::DrainOutcome::Pods(Ok(look)))
}

fn evicted(result: Result<(), EvictError>) -> MachineOutcome {
    MachineOutcome::Drain(drain::DrainOutcome::Evict { pod: pod("web").pod, result })
}

fn going(change: impl FnOnce(&mut DeletionFact)) -> impl FnOnce(&mut MachineView) {
    |view| change(&mut view.machine.deletion_facts)
}

fn hooked(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("drain.hook/{name}")).collect()
}

#[test]
fn a_node_says_why_its_machine_goes_before_anything_else() {
    let begins = |case: Case| case.with(|view| view.machine.deletion = Some(seconds(99))).node(node());
    let text = begins(failed()).at(100).report();
    assert!(text.starts_with("act set-node-condition node-1 Terminating=True Unhealthy\n"), "{text}");
    let text = begins(running()).at(100).report();
    assert!(text.starts_with("act set-node-condition node-1 Terminating=True ScaleDown\n"), "{text}");
    let never_ran = running().with(|view| view.machine.phase = Phase::CrashLoopBackOff);
    assert!(!begins(never_ran).at(100).report().contains("set-node-condition"));
    let said = NodeFact { is_cordoned: false, ..going_node() };
    assert!(deleting().node(said).report().starts_with("act cordon node-1\n"), "the first reason stays");
}

#[test]
fn pods_are_asked_and_awaited_before_the_vm_goes() {
    check(
        &running().with(|view| view.machine.deletion = Some(seconds(99))).at(100).on(pods()),
        &expect![[r#"
            act set-node-condition node-1 Terminating=True ScaleDown
            act cordon node-1
            act look-at-pods node-1
            act evict default/web
            Draining: draining the Node, see condition Drained; its VM is removed from 1971-01-01T02:01:39Z on whatever is left on it
            status: phase Terminating, timer on, Delete Processing Deleting(NodeKnown), Drained=False PodsLeaving (pods are ending that were asked a moment ago. Pods that are left at 1971-01-01T02:01:39Z are deleted at once)
            again after 1s
        "#]],
    );
    check(
        &deleting().on(pods()).on(evicted(Err(EvictError::Budget { after: None }))),
        &expect![[r#"
        act look-at-pods node-1
        act evict default/web
        Draining: draining the Node, see condition Drained; its VM is removed from 1971-01-01T02:01:39Z on whatever is left on it
        status: Delete Processing Deleting(NodeKnown), Drained=False Budget (1 pod (default/web) is held by a PodDisruptionBudget. Pods that are left at 1971-01-01T02:01:39Z are deleted at once)
        again after 5s
    "#]],
    );
}

#[test]
fn what_an_api_server_refuses_is_reported_in_the_words_that_others_know() {
    let denied = || ActError::Denied { message: "no rights".into() };
    let fresh = || deleting().node(node());
    check(
        &fresh().on(MachineOutcome::SetNodeCondition(Err(denied()))),
        &expect![[r#"
        act set-node-condition node-1 Terminating=True ScaleDown
        DrainFailed: failed to write condition Terminating of the Node: forbidden: no rights
        status: Delete Failed Deleting(NodeConditionFailed { error: "forbidden: no rights" })
        retry from 1s to 1m0s
    "#]],
    );
    check(
        &fresh().on(MachineOutcome::Cordon(Err(denied()))),
        &expect![[r#"
        act set-node-condition node-1 Terminating=True ScaleDown
        act cordon node-1
        DrainFailed: failed to cordon the Node: forbidden: no rights
        status: Delete Failed Deleting(DrainFailed { error: "forbidden: no rights" })
        retry from 1s to 1m0s
    "#]],
    );
    check(
        &deleting().on(pods()).on(evicted(Err(EvictError::Failed(denied())))),
        &expect![[r#"
        act look-at-pods node-1
        act evict default/web
        DrainFailed: draining the Node, see condition Drained; its VM is removed from 1971-01-01T02:01:39Z on whatever is left on it
        status: Delete Failed Deleting(DrainFailed { error: "default/web: forbidden: no rights" }), Drained=False Failed (1 pod (default/web) could not be evicted; default/web: forbidden: no rights. Pods that are left at 1971-01-01T02:01:39Z are deleted at once)
        again after 20s
    "#]],
    );
    let conflict = fresh().on(MachineOutcome::SetNodeCondition(Err(ActError::Conflict))).report();
    assert!(!conflict.contains("status:"), "caches that are behind are nothing to tell: {conflict}");
}

#[test]
fn force_asks_and_awaits_nobody_and_takes_the_attachments_along() {
    let attached = |view: &mut MachineView| {
        view.drain.attachments = Some(vec![AttachmentFact {
            name: "csi-1".into(),
            uid: "csi-uid-1".into(),
            is_here: true,
            volume: None,
            is_attached: true,
            deletion: None,
        }]);
    };
    let forced = || deleting().with(going(|going| going.is_forced = true)).with(attached).on(pods());
    check(
        &forced(),
        &expect![[r#"
            act look-at-pods node-1
            act delete-pod default/web
            act delete-attachment csi-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            status: Delete Processing Deleting(ForceDrained), Drained=True ForceDrained (pods and volume attachments were deleted without waiting, because it was asked for)
            again after 1s
        "#]],
    );
    let denied = || ActError::Denied { message: "no rights".into() };
    let failing = forced()
        .node(node())
        .on(MachineOutcome::ProbeVm(Ok(vm())))
        .on(MachineOutcome::SetNodeCondition(Err(denied())))
        .on(MachineOutcome::Cordon(Err(denied())))
        .on(MachineOutcome::Drain(drain::DrainOutcome::Pods(Err(denied()))));
    check(
        &failing,
        &expect![[r#"
            act set-node-condition node-1 Terminating=True ScaleDown
            act cordon node-1
            act look-at-pods node-1
            act delete-attachment csi-1
            act delete-vm
            VmTerminating: the cloud is removing VM sim://1
            status: Delete Processing Deleting(ForcedDrainFailed { error: "failed to cordon the Node: forbidden: no rights; the pods of the Node could not be listed: forbidden: no rights" }), Drained=True ForceDrainedInPart (pods and volume attachments were deleted without waiting, as far as possible, because it was asked for; the pods of the Node could not be listed: forbidden: no rights)
            again after 1s
        "#]],
    );
}

/// Pods are deleted instead of asked.
fn is_forced(case: Case) -> bool {
    let text = case.on(pods()).report();
    assert_ne!(text.contains("act evict"), text.contains("act delete-pod"), "{text}");
    text.contains("act delete-pod")
}

#[test]
fn a_drain_is_forced_by_label_by_its_clock_and_by_a_node_that_cannot_end_its_pods() {
    assert!(!is_forced(deleting()));
    assert!(is_forced(deleting().with(going(|going| going.is_forced = true))));
    assert!(!is_forced(deleting().at(99 + 7_200 - 1)));
    assert!(is_forced(deleting().at(99 + 7_200 + 1)));
    assert!(is_forced(
        deleting().with(going(|going| going.left_at = Some(DeletionStage::VolumeAttachments)))
    ));
    let not_ready = |second| HealthProblem { not_ready_since: Some(seconds(second)), read_only_since: None };
    let read_only = |second| HealthProblem { not_ready_since: None, read_only_since: Some(seconds(second)) };
    let on_node = |health_problem| deleting().node(NodeFact { health_problem, ..going_node() }).at(1_000);
    for health_problem in [not_ready, read_only] {
        assert!(!is_forced(on_node(health_problem(700))));
        assert!(is_forced(on_node(health_problem(699))));
    }
    // While the API server of Nodes was away they could not report.
    let thawed = on_node(not_ready(10)).with(|view| view.thawed_at = Some(seconds(900)));
    assert!(!is_forced(thawed));
    assert!(!is_forced(on_node(not_ready(10)).frozen()));
    let open = on_node(not_ready(10)).with(|view| view.gate = Gate::Open);
    assert!(is_forced(open));
}

#[test]
fn a_disk_that_cannot_be_written_forces_by_its_own_time_since_no_outage_causes_it() {
    let read_only = |second| {
        let health_problem = HealthProblem { not_ready_since: None, read_only_since: Some(seconds(second)) };
        deleting().node(NodeFact { health_problem, ..going_node() }).at(1_000)
    };
    let started = |view: &mut crate::machine::MachineView| {
        (view.thawed_at, view.watched_since) = (Some(seconds(995)), Some(seconds(990)));
    };
    assert!(is_forced(read_only(10).with(started)), "this process and its gate have just begun to look");
    assert!(!is_forced(read_only(701).with(started)), "less than five minutes");
    assert!(!is_forced(read_only(10).frozen()));
}

#[test]
fn hooks_hold_the_drain_and_say_until_when() {
    let held =
        |case: Case| case.node(node()).with(going(|going| going.pre_drain_hooks = hooked(&["a", "b"])));
    check(
        &held(deleting()),
        &expect![[r#"
        act set-node-condition node-1 Terminating=True ScaleDown
        PreDrainHooks: the drain waits for drain.hook/a, drain.hook/b, since 1971-01-01T00:01:39Z and until 1971-01-01T01:01:39Z at the latest; remove the annotation, or set label force-deletion to true, to go on at once
        status: Delete Processing Deleting(NodeKnown)
        again after 59m59s
    "#]],
    );
    assert!(held(deleting()).at(99 + 3_600).report().contains("act cordon"), "no hook holds for ever");
    let forced = held(deleting()).with(going(|going| going.is_forced = true));
    assert!(forced.report().contains("act cordon"));
    let bad = held(deleting()).with(going(|going| going.bad_hook_timeout = Some("no duration".into())));
    assert!(bad.report().contains("; no duration\n"), "{}", bad.report());
}

#[test]
fn a_node_that_joins_while_a_hook_holds_the_vm_is_drained_after_all() {
    let held = || deleting().with(going(|going| going.pre_terminate_hooks = hooked(&["etcd"])));
    let alone = held().with(|view| view.target = TargetFact::Cluster(NodePresence::Absent)).report();
    // Nothing says that the removal of the VM has begun, after which no drain would be waited for.
    assert!(alone.contains("PreTerminateHooks") && alone.contains("Deleting(NodeKnown)"), "{alone}");
    // Nor does the end of a drain say so: its Node may go, and join once more with pods.
    let emptied = held().report();
    assert!(emptied.contains("PreTerminateHooks") && emptied.contains("Deleting(NodeKnown)"), "{emptied}");
    assert!(emptied.contains("Drained=True"), "{emptied}");
}

#[test]
fn the_clock_of_hooks_before_the_vms_removal_starts_when_they_are_met() {
    let held = || deleting().with(going(|going| going.pre_terminate_hooks = hooked(&["etcd"])));
    check(
        &held(),
        &expect![[r#"
        act look-at-pods node-1
        act look-at-pods node-1
        act note-hooks
        PreTerminateHooks: the removal of the VM waits for drain.hook/etcd, since 1971-01-01T00:01:40Z and until 1971-01-01T01:01:40Z at the latest; remove the annotation, or set label force-deletion to true, to go on at once
        status: Delete Processing Deleting(NodeKnown), Drained=True Drained (all pods have gone)
        again after 1h0m0s
    "#]],
    );
    let noted =
        |second| held().with(going(move |going| going.pre_terminate_since = Some(seconds(second)))).at(5_000);
    check(
        &noted(4_000),
        &expect![[r#"
        act look-at-pods node-1
        act look-at-pods node-1
        PreTerminateHooks: the removal of the VM waits for drain.hook/etcd, since 1971-01-01T01:06:40Z and until 1971-01-01T02:06:40Z at the latest; remove the annotation, or set label force-deletion to true, to go on at once
        status: Delete Processing Deleting(NodeKnown), Drained=True Drained (all pods have gone)
        again after 43m20s
    "#]],
    );
    assert!(noted(1_000).report().contains("act delete-vm"));
    let begun = noted(4_000).with(going(|going| going.left_at = Some(DeletionStage::Vm)));
    assert!(!begun.report().contains("act delete-vm"), "a hook that comes late is heeded as well");
}

#[test]
fn a_vm_whose_node_is_unknown_is_asked_for_first() {
    let nameless = || deleting().without_node().with(|view| view.machine.node_name = None);
    check(
        &nameless().on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)))),
        &expect![[r#"
        act probe-vm
        CloudUnreachable: machine codes error: code = [Unavailable] message = [so it is]
        status: Delete Failed Deleting(FindVmFailed { error: "machine codes error: code = [Unavailable] message = [so it is]" })
        retry from 5s to 2m0s
    "#]],
    );
    check(
        &nameless().on(MachineOutcome::ProbeVm(Err(guest(Code::PermissionDenied)))),
        &expect![[r#"
        act probe-vm
        CloudUnreachable: machine codes error: code = [PermissionDenied] message = [so it is]
        status: Delete Failed Deleting(FindVmFailed { error: "machine codes error: code = [PermissionDenied] message = [so it is]" })
        retry from 5s to 3m0s
    "#]],
    );
    for code in [Code::NotFound, Code::Unimplemented, Code::Uninitialized] {
        let text = nameless().on(MachineOutcome::ProbeVm(Err(guest(code)))).report();
        assert!(text.contains("act delete-vm"), "{code}: {text}");
    }
    let forced = nameless().with(going(|going| going.is_forced = true));
    let text = forced.on(MachineOutcome::ProbeVm(Err(guest(Code::Unavailable)))).report();
    assert!(text.contains("act delete-vm"), "{text}");
}

#[test]
fn what_others_left_behind_their_drain_is_not_drained_again() {
    for stage in [DeletionStage::Vm, DeletionStage::Node, DeletionStage::Finalizer] {
        let text = deleting().with(going(|going| going.left_at = Some(stage))).on(pods()).report();
        assert!(text.starts_with("act probe-vm\nact delete-vm\n"), "{stage:?}: {text}");
    }
    for stage in [DeletionStage::VmStatus, DeletionStage::Drain] {
        let text = deleting().with(going(|going| going.left_at = Some(stage))).on(pods()).report();
        assert!(text.contains("act evict"), "{stage:?}: {text}");
    }
}

#[test]
fn a_node_that_joins_after_the_cloud_has_refused_the_order_is_drained() {
    let after = |state| {
        let last = OperationFact { kind: OperationType::Delete, state };
        ordered(deleting(), 100).with(|view| view.machine.operation = Some(last)).on(pods()).report()
    };
    let refused = after(OperationState::Failed);
    assert!(refused.contains("act evict") && !refused.contains("act delete-vm"), "{refused}");
    let taken = after(OperationState::Processing);
    assert!(!taken.contains("act evict"), "{taken}");
}

#[test]
fn progress_is_reported_when_its_cause_changes_soon_after_the_beginning_and_then_once_a_minute() {
    let reported_since = |reason: &str, since, second| {
        let reported = ReportedCondition {
            reason: reason.into(),
            message: "as it was".into(),
            at: Some(seconds(second)),
            since: Some(seconds(since)),
        };
        let case = deleting().with(going(|going| going.reported = Some(reported))).on(pods()).at(100);
        case.report().contains("Drained=False")
    };
    let reported = |reason: &str, second| reported_since(reason, -900, second);
    assert!(!reported("PodsLeaving", 41));
    assert!(reported("PodsLeaving", 40));
    assert!(reported("Budget", 99));
    assert!(!reported_since("PodsLeaving", 96, 96), "it has just begun");
    assert!(reported_since("PodsLeaving", 95, 95), "who has not left by then is named");
}

#[test]
fn a_missing_secret_is_named_when_the_driver_fails_without_it() {
    let case = deleting().with(|view| view.secret = SecretFact::Missing(ObjectKey::new("garden", "cloud")));
    assert!(ordered(case.clone(), 100).report().ends_with("never again\n"), "the driver may do without");
    check(
        &case.on(MachineOutcome::DeleteVm(Err(guest(Code::Unauthenticated)))),
        &expect![[r#"
            act look-at-pods node-1
            act look-at-pods node-1
            act delete-vm
            VmDeletionFailed: machine codes error: code = [Unauthenticated] message = [so it is]; Secret garden/cloud does not exist, so the driver had no credentials of it: create it again
            status: Delete Failed Deleting(VmDeletionRefused { error: "machine codes error: code = [Unauthenticated] message = [so it is]" }), code Unauthenticated, Drained=True Drained (all pods have gone)
            retry from 5s to 10m0s
        "#]],
    );
}

fn without_class(view: &mut MachineView) {
    view.class = ClassFact::Missing("worker".into());
    view.driver = DriverFact::NotChosen;
}

#[test]
fn somebodys_word_counts_where_nobody_can_be_asked_and_never_against_a_vm_that_shows() {
    let declared = || deleting().with(going(|going| going.is_vm_declared_gone = true));
    check(
        &declared().with(without_class),
        &expect![[r#"
        act look-at-pods node-1
        act look-at-pods node-1
        act delete-node node-1 node-uid-1 + forget-token
        act release-finalizer
        VmDeclaredGone: let go because an annotation says that VM sim://1 is gone, which was not seen: MachineClass worker does not exist, so the VM cannot be removed: create it again
        never again
    "#]],
    );
    let failing = MachineOutcome::DeleteVm(Err(guest(Code::Unauthenticated)));
    let text = declared().on(failing.clone()).report();
    assert!(text.contains("VmDeclaredGone") && text.ends_with("never again\n"), "{text}");
    let text = declared().on(MachineOutcome::ProbeVm(Ok(vm()))).on(failing).report();
    assert!(text.contains("VmDeletionFailed"), "{text}");
    // At each start drivers are loaded, and can be asked a moment later.
    let loading = Refusal::Loading { provider: "sim".into(), loading: "plugin sim is being loaded".into() };
    let text = declared().with(|view| view.driver = DriverFact::Refused(loading)).report();
    assert!(text.contains("DriverLoading: the driver of provider \"sim\" is being loaded"), "{text}");
    assert!(text.contains("Delete Processing") && !text.contains("release-finalizer"), "{text}");
}

#[test]
fn a_deletion_that_no_further_try_helps_says_the_driver_is_tried_again_within_minutes_all_the_same() {
    let error = DriverError { terminal: true, ..DriverError::new(Code::Unauthenticated, "no such key") };
    let failing = MachineOutcome::DeleteVm(Err(error.into()));
    let text = deleting().on(failing).report();
    assert!(text.ends_with("retry from 5s to 10m0s\n"), "{text}");
}

#[test]
fn a_machine_that_nobody_has_begun_to_make_goes_without_its_class() {
    let untouched = || {
        creating().with(without_class).with(|view| {
            view.machine.has_finalizer = true;
            view.machine.deletion = Some(seconds(99));
        })
    };
    check(
        &untouched(),
        &expect![[r#"
        act forget-token
        act release-finalizer
        Deleted: no VM was ever asked for
        never again
    "#]],
    );
    let waits = untouched().with(|view| {
        view.machine.phase = Phase::CrashLoopBackOff;
        view.machine.operation = facts::operation("Create", "Failed");
    });
    assert!(waits.report().ends_with("never again\n"));
    let traces: [fn(&mut MachineView); 6] = [
        |view| view.machine.has_priority = true,
        |view| view.machine.provider_id = Some("sim://1".into()),
        |view| view.machine.create_intent = Some(facts::intent(1)),
        |view| view.machine.last_known_state = Some("job".into()),
        |view| view.machine.phase = Phase::Terminating,
        |view| view.machine.deletion_facts.has_error_code = true,
    ];
    for trace in traces {
        let text = untouched().with(trace).report();
        assert!(text.contains("ClassMissing"), "{text}");
    }
}

#[test]
fn an_unstarted_machine_leaves_without_asking_the_cloud() {
    let unstarted = || {
        crate::machine::tests::begun().at(100).with(|view| {
            view.machine.is_unstarted = true;
            view.machine.deletion = Some(seconds(99));
        })
    };
    check(
        &unstarted(),
        &expect![[r#"
            act forget-token
            act release-finalizer
            Deleted: no VM was ever asked for
            never again
        "#]],
    );
    let traces: [fn(&mut MachineView); 4] = [
        |view| view.machine.is_unstarted = false,
        |view| view.machine.provider_id = Some("sim://1".into()),
        |view| view.machine.create_intent = Some(facts::intent(1)),
        |view| view.machine.last_known_state = Some("job".into()),
    ];
    for trace in traces {
        let text = unstarted().with(trace).report();
        assert!(!text.contains("no VM was ever asked for"), "{text}");
    }
}

#[test]
fn that_a_machine_had_failed_reaches_its_node_although_the_first_write_fails() {
    let begins = || failed().with(|view| view.machine.deletion = Some(seconds(99))).node(node()).at(100);
    for error in [ActError::Conflict, ActError::Denied { message: "no rights".into() }] {
        let text = begins().on(MachineOutcome::SetNodeCondition(Err(error))).report();
        assert!(!text.contains("phase Terminating"), "the phase is all that tells it: {text}");
    }
    let text = begins().on(MachineOutcome::SetNodeCondition(Err(ActError::Gone))).report();
    assert!(text.contains("phase Terminating"), "{text}");
    let forced = begins().with(going(|going| going.is_forced = true));
    let text = forced.on(MachineOutcome::SetNodeCondition(Err(ActError::Conflict))).report();
    assert!(text.contains("phase Terminating"), "what is forced does not wait for it: {text}");
}

//! From a request to exactly one instance, whatever comes in between.

use machinist_sdk::driver::{Code, Creation, NoAnswerReason, Progress, Request};
use serde_json::json;

use super::harness::{
    Fault, Harness, answer, no_answer, request, request_of, spec, spec_with, state_of, with_id, with_state,
};
use crate::ec2::Answer;
use crate::instance::machine::region_of_create;

fn in_progress(harness: &Harness, request: &Request) -> Progress {
    match harness.begin(request).unwrap() {
        Creation::InProgress(progress) => progress,
        Creation::Created(vm) => panic!("created {}", vm.provider_id),
    }
}

#[test]
fn an_ordinary_create_takes_two_requests() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    assert_eq!(harness.sent(), ["DescribeImages", "RunInstances"]);
    assert_eq!(vm.provider_id, "aws:///eu-west-1/i-00000001");
    assert_eq!(
        (vm.node_name.as_str(), vm.failure_domain.as_deref()),
        ("ip-10-0-0-1.ec2.internal", Some("eu-west-1a"))
    );
    let kinds: Vec<&str> = vm.addresses.iter().map(|address| address.kind.as_str()).collect();
    assert_eq!(kinds, ["InternalIP", "InternalDNS"]);
    let state = state_of(vm.last_known_state.as_ref());
    assert_eq!(
        (state.attempt, state.instance.as_deref(), state.region.as_deref()),
        (0, Some("i-00000001"), Some("eu-west-1"))
    );
    let tags = &harness.live()[0].tags;
    assert_eq!((tags["Name"].as_str(), tags["machinist.dev/machine-uid"].as_str()), ("machine-1", "uid-1"));
}

#[test]
fn a_create_repeated_is_the_same_instance() {
    let harness = Harness::new();
    let first = harness.create(&request(1)).unwrap();
    let second = harness.create(&request(1)).unwrap();
    // Also with the state of the first call.
    let third = harness.create(&with_state(&request(1), first.last_known_state.as_ref())).unwrap();
    assert_eq!((&first.provider_id, &second.provider_id), (&second.provider_id, &third.provider_id));
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn a_lost_answer_may_have_happened_and_the_token_brings_the_instance_back() {
    let page =
        |status| Answer { is_html: true, ..answer((status, "<html><p>Bad gateway</p></html>".into())) };
    let table = [
        (Fault::After(no_answer(NoAnswerReason::TimedOut)), Code::DeadlineExceeded),
        (Fault::After(no_answer(NoAnswerReason::CutOff)), Code::Unavailable),
        (Fault::After(Ok(page(502))), Code::Unavailable),
        (Fault::After(Ok(page(200))), Code::Unavailable),
        (Fault::After(Ok(answer((200, "{}".into())))), Code::Internal),
        (Fault::After(Ok(answer((200, "<RunInstancesResponse/>".into())))), Code::Internal),
        (Fault::After(Ok(answer((200, "<DescribeVolumesResponse/>".into())))), Code::Internal),
        (Fault::After(Ok(answer(super::model::refused(500, "InternalError", "x")))), Code::Unavailable),
        (Fault::After(Ok(answer(super::model::refused(503, "ServiceUnavailable", "x")))), Code::Unavailable),
        (Fault::Cut(300), Code::Unavailable),
    ];
    for (fault, code) in table {
        let harness = Harness::new();
        harness.fault("RunInstances", fault);
        let error = harness.begin(&request(1)).unwrap_err();
        assert_eq!(
            (error.code, error.may_have_happened, error.terminal),
            (code, true, false),
            "{}",
            error.message
        );
        assert!(!error.message.contains('<') && error.message.len() < 400, "{}", error.message);
        harness.create(&request(1)).unwrap();
        assert_eq!(harness.live().len(), 1, "{}", error.message);
    }
}

#[test]
fn a_name_that_is_not_there_yet_is_looked_for_once_and_then_left_to_another_call() {
    let harness = Harness::new();
    harness.set(|model| {
        model.names = false;
        model.lags = true;
    });
    let progress = in_progress(&harness, &request(1));
    assert_eq!(harness.sent(), ["DescribeImages", "RunInstances", "DescribeInstances"]);
    assert!(progress.message.contains("i-00000001"), "{}", progress.message);
    assert_eq!(progress.ask_again_ms, 2_000);

    // Reads do not show it: the token finds it.
    let resumed = with_state(&request(1), Some(&progress.resume_token));
    in_progress(&harness, &resumed);
    assert_eq!(harness.sent(), ["DescribeInstances", "DescribeImages", "RunInstances", "DescribeInstances"]);
    // Reads show it, without a name: it is not launched again.
    harness.set(|model| model.lags = false);
    in_progress(&harness, &resumed);
    assert_eq!(harness.sent(), ["DescribeInstances"]);
    harness.change(0, |vm| vm.node_name = "ip-10-0-0-1".into());
    assert_eq!(harness.create(&resumed).unwrap().node_name, "ip-10-0-0-1");
    assert_eq!((harness.sent().len(), harness.live().len()), (1, 1));
}

#[test]
fn a_look_that_fails_after_the_launch_does_not_lose_the_instance() {
    for (status, code, is_passing) in
        [(503, "RequestLimitExceeded", true), (403, "UnauthorizedOperation", false)]
    {
        let harness = Harness::new();
        harness.set(|model| model.names = false);
        harness.refuse("DescribeInstances", status, code);
        let state = match harness.begin(&request(1)) {
            Ok(Creation::InProgress(progress)) if is_passing => Some(progress.resume_token),
            Err(error) if !is_passing => {
                assert_eq!((error.code, error.may_have_happened), (Code::PermissionDenied, true));
                error.into_record().last_known_state
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(state_of(state.as_ref()).instance.as_deref(), Some("i-00000001"), "{code}");
    }
    // No time is left for a read.
    let harness = Harness::new();
    harness.set(|model| model.names = false);
    harness.fault("DescribeInstances", Fault::Instead(no_answer(NoAnswerReason::NoTimeLeft)));
    in_progress(&harness, &request(1));
}

#[test]
fn another_class_under_the_same_token_adopts_the_instance_that_is_there() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    harness.sent();
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    assert_eq!(harness.create(&changed).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.sent(), ["DescribeImages", "RunInstances", "DescribeInstances"]);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn an_instance_that_lost_its_tags_is_adopted_by_its_token() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    harness.change(0, |vm| vm.tags.clear());
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    assert_eq!(harness.create(&changed).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn an_instance_that_another_cluster_launched_under_the_token_is_left_alone() {
    let harness = Harness::new();
    let mut theirs = request(1);
    theirs.cluster = "c2".into();
    harness.create(&theirs).unwrap();
    let error = harness.begin(&request(1)).unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition);
    let says = |part: &str| error.message.contains(part);
    assert!(says("i-00000001") && says("start the host with --cluster-id=c2"), "{}", error.message);
    harness.delete(&request(1)).unwrap_err();
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn an_instance_that_reads_do_not_show_yet_is_waited_for_and_never_made_twice() {
    let harness = Harness::new();
    harness.set(|model| model.lags = true);
    let vm = harness.create(&request(1)).unwrap();
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    let error = harness.begin(&changed).unwrap_err();
    assert_eq!(
        (error.code, error.may_have_happened, error.retry_after_ms),
        (Code::Aborted, true, Some(2_000))
    );
    harness.set(|model| model.lags = false);
    assert_eq!(harness.create(&changed).unwrap().provider_id, vm.provider_id);
    assert_eq!(harness.live().len(), 1);
}

#[test]
fn only_a_token_whose_instance_is_proven_gone_is_followed_by_the_next() {
    for state in ["terminated", "shutting-down"] {
        let harness = Harness::new();
        harness.create(&request(1)).unwrap();
        harness.change(0, |vm| vm.state = state);
        let vm = harness.create(&request(1)).unwrap();
        assert_eq!(state_of(vm.last_known_state.as_ref()).attempt, 1);
        assert_eq!(harness.live()[0].token, "uid-1-1");
        // Nothing is lost if nobody stored the count: the tokens lead to it again.
        assert_eq!(harness.create(&request(1)).unwrap().provider_id, vm.provider_id);
        assert_eq!(harness.live().len(), 1);
    }
    for state in ["pending", "running", "stopping", "stopped"] {
        let harness = Harness::new();
        let vm = harness.create(&request(1)).unwrap();
        harness.change(0, |vm| vm.state = state);
        assert_eq!(harness.create(&request(1)).unwrap().provider_id, vm.provider_id, "{state}");
        assert_eq!(harness.live().len(), 1);
    }
}

#[test]
fn a_token_whose_instance_is_gone_is_followed_by_the_next_with_another_class_too() {
    let harness = Harness::new();
    harness.create(&request(1)).unwrap();
    harness.change(0, |vm| vm.state = "terminated");
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    let vm = harness.create(&changed).unwrap();
    assert_eq!((vm.provider_id.as_str(), harness.live().len()), ("aws:///eu-west-1/i-00000002", 1));
}

#[test]
fn the_count_of_tokens_goes_from_call_to_call() {
    let harness = Harness::new();
    let mut request = request(1);
    let first = harness.create(&request).unwrap();
    harness.change(0, |vm| vm.state = "terminated");
    // The driver reads the known instance, and its end increases the count.
    request = with_state(&request, first.last_known_state.as_ref());
    harness.sent();
    let second = harness.create(&request).unwrap();
    assert_eq!(harness.sent(), ["DescribeInstances", "DescribeImages", "RunInstances"]);
    assert_eq!(state_of(second.last_known_state.as_ref()).attempt, 1);
    harness.change(1, |vm| vm.state = "terminated");
    request = with_state(&request, second.last_known_state.as_ref());
    harness.refuse("RunInstances", 500, "InsufficientInstanceCapacity");
    let error = harness.begin(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::ResourceExhausted, false));
    let state = state_of(error.last_known_state.as_ref());
    assert_eq!((state.attempt, state.instance), (2, None));
    let third = harness.create(&with_state(&request, error.last_known_state.as_ref())).unwrap();
    assert_eq!(state_of(third.last_known_state.as_ref()).attempt, 2);
    assert_eq!(harness.live()[0].token, "uid-1-2");
}

#[test]
fn a_machine_whose_instances_all_end_is_not_tried_for_ever_in_one_call() {
    let harness = Harness::new();
    let mut state = None;
    for _ in 0..5 {
        harness.create(&with_state(&request(1), state.as_ref().or(Some(&String::new())))).unwrap();
        harness.set(|model| model.vms.iter_mut().for_each(|vm| vm.state = "terminated"));
    }
    let error = harness.begin(&request(1)).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::Aborted, false));
    state = error.into_record().last_known_state;
    assert_eq!(state_of(state.as_ref()).attempt, 5);
    assert_eq!(
        state_of(harness.create(&with_state(&request(1), state.as_ref())).unwrap().last_known_state.as_ref())
            .attempt,
        5
    );
}

#[test]
fn a_create_that_began_in_another_region_ends_there_first() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    let moved = request_of(1, &spec_with(json!({ "region": "us-east-1" })));
    let moved = with_state(&moved, vm.last_known_state.as_ref());
    assert_eq!(region_of_create(&moved).unwrap(), "eu-west-1");
    assert_eq!(harness.create(&moved).unwrap().provider_id, vm.provider_id);
    harness.change(0, |vm| vm.state = "terminated");
    let error = harness.begin(&moved).unwrap_err();
    assert_eq!(error.code, Code::Aborted);
    assert_eq!(region_of_create(&with_state(&moved, error.last_known_state.as_ref())).unwrap(), "us-east-1");
    assert!(harness.live().is_empty());
}

#[test]
fn an_image_that_is_not_there_is_the_class_s_fault() {
    let table = [
        Fault::Instead(Ok(answer((200, super::model::wrapped("DescribeImages", "<imagesSet/>"))))),
        Fault::Instead(Ok(answer(super::model::refused(400, "InvalidAMIID.NotFound", "no")))),
        Fault::Instead(Ok(answer(super::model::refused(400, "InvalidAMIID.Malformed", "no")))),
    ];
    for fault in table {
        let harness = Harness::new();
        harness.fault("DescribeImages", fault);
        let error = harness.begin(&request(1)).unwrap_err();
        assert_eq!(
            (error.code, error.terminal, error.may_have_happened),
            (Code::InvalidArgument, true, false)
        );
        assert!(error.message.contains("correct ami"), "{}", error.message);
    }
}

#[test]
fn an_annotation_that_is_no_placement_is_named() {
    let harness = Harness::new();
    let mut annotated = request(1);
    let annotations = json!({ "machine.sapcloud.io/awsPlacement": "near" });
    annotated.machine.node_template = Some(json!({ "metadata": { "annotations": annotations } }).to_string());
    let error = harness.begin(&annotated).unwrap_err();
    assert_eq!((error.code, error.terminal), (Code::InvalidArgument, true));
    assert!(error.message.contains("awsPlacement"), "{}", error.message);
    assert!(harness.sent().is_empty());
}

#[test]
fn a_created_instance_is_known_with_a_broken_class() {
    let harness = Harness::new();
    let vm = harness.create(&request(1)).unwrap();
    let mut broken = with_id(&request_of(1, &spec()), &vm);
    broken.class.spec = "{".into();
    assert_eq!(harness.status(&broken).unwrap().provider_id, vm.provider_id);
}

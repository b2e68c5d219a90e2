//! From a request to exactly one instance, whatever comes in between.

use machinist_sdk::driver::{Code, Creation, Progress, Request, Trouble};
use serde_json::json;

use super::world::{
    Fault, World, answer, request, request_of, spec, spec_with, state_of, trouble, with_id, with_state,
};
use crate::ec2::Answer;
use crate::machine::region_of_create;

fn in_progress(world: &World, request: &Request) -> Progress {
    match world.begin(request).unwrap() {
        Creation::InProgress(progress) => progress,
        Creation::Created(vm) => panic!("created {}", vm.provider_id),
    }
}

#[test]
fn an_ordinary_create_takes_two_requests() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    assert_eq!(world.sent(), ["DescribeImages", "RunInstances"]);
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
    let tags = &world.live()[0].tags;
    assert_eq!((tags["Name"].as_str(), tags["machinist.dev/machine-uid"].as_str()), ("machine-1", "uid-1"));
}

#[test]
fn a_create_repeated_is_the_same_instance() {
    let world = World::new();
    let first = world.create(&request(1)).unwrap();
    let second = world.create(&request(1)).unwrap();
    // Also with the state of the first call.
    let third = world.create(&with_state(&request(1), first.last_known_state.as_ref())).unwrap();
    assert_eq!((&first.provider_id, &second.provider_id), (&second.provider_id, &third.provider_id));
    assert_eq!(world.live().len(), 1);
}

#[test]
fn a_lost_answer_may_have_happened_and_the_token_brings_the_instance_back() {
    let page =
        |status| Answer { is_html: true, ..answer((status, "<html><p>Bad gateway</p></html>".into())) };
    let table = [
        (Fault::After(trouble(Trouble::TimedOut)), Code::DeadlineExceeded),
        (Fault::After(trouble(Trouble::CutOff)), Code::Unavailable),
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
        let world = World::new();
        world.fault("RunInstances", fault);
        let error = world.begin(&request(1)).unwrap_err();
        assert_eq!(
            (error.code, error.may_have_happened, error.terminal),
            (code, true, false),
            "{}",
            error.message
        );
        assert!(!error.message.contains('<') && error.message.len() < 400, "{}", error.message);
        world.create(&request(1)).unwrap();
        assert_eq!(world.live().len(), 1, "{}", error.message);
    }
}

#[test]
fn a_name_that_is_not_there_yet_is_looked_for_once_and_then_left_to_another_call() {
    let world = World::new();
    world.set(|model| {
        model.names = false;
        model.lags = true;
    });
    let progress = in_progress(&world, &request(1));
    assert_eq!(world.sent(), ["DescribeImages", "RunInstances", "DescribeInstances"]);
    assert!(progress.message.contains("i-00000001"), "{}", progress.message);
    assert_eq!(progress.ask_again_ms, 2_000);

    // Reads do not show it: the token finds it.
    let resumed = with_state(&request(1), Some(&progress.resume_token));
    in_progress(&world, &resumed);
    assert_eq!(world.sent(), ["DescribeInstances", "DescribeImages", "RunInstances", "DescribeInstances"]);
    // Reads show it, without a name: it is not launched again.
    world.set(|model| model.lags = false);
    in_progress(&world, &resumed);
    assert_eq!(world.sent(), ["DescribeInstances"]);
    world.change(0, |vm| vm.node_name = "ip-10-0-0-1".into());
    assert_eq!(world.create(&resumed).unwrap().node_name, "ip-10-0-0-1");
    assert_eq!((world.sent().len(), world.live().len()), (1, 1));
}

#[test]
fn a_look_that_fails_after_the_launch_does_not_lose_the_instance() {
    for (status, code, is_passing) in
        [(503, "RequestLimitExceeded", true), (403, "UnauthorizedOperation", false)]
    {
        let world = World::new();
        world.set(|model| model.names = false);
        world.refuse("DescribeInstances", status, code);
        let state = match world.begin(&request(1)) {
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
    let world = World::new();
    world.set(|model| model.names = false);
    world.fault("DescribeInstances", Fault::Instead(trouble(Trouble::NoTimeLeft)));
    in_progress(&world, &request(1));
}

#[test]
fn another_class_under_the_same_token_adopts_the_instance_that_is_there() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    world.sent();
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    assert_eq!(world.create(&changed).unwrap().provider_id, vm.provider_id);
    assert_eq!(world.sent(), ["DescribeImages", "RunInstances", "DescribeInstances"]);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn an_instance_that_lost_its_tags_is_adopted_by_its_token() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    world.change(0, |vm| vm.tags.clear());
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    assert_eq!(world.create(&changed).unwrap().provider_id, vm.provider_id);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn an_instance_that_another_cluster_launched_under_the_token_is_left_alone() {
    let world = World::new();
    let mut theirs = request(1);
    theirs.cluster = "c2".into();
    world.create(&theirs).unwrap();
    let error = world.begin(&request(1)).unwrap_err();
    assert_eq!(error.code, Code::FailedPrecondition);
    let says = |part: &str| error.message.contains(part);
    assert!(says("i-00000001") && says("start the host with --cluster-id=c2"), "{}", error.message);
    world.delete(&request(1)).unwrap_err();
    assert_eq!(world.live().len(), 1);
}

#[test]
fn an_instance_that_reads_do_not_show_yet_is_waited_for_and_never_made_twice() {
    let world = World::new();
    world.set(|model| model.lags = true);
    let vm = world.create(&request(1)).unwrap();
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    let error = world.begin(&changed).unwrap_err();
    assert_eq!(
        (error.code, error.may_have_happened, error.retry_after_ms),
        (Code::Aborted, true, Some(2_000))
    );
    world.set(|model| model.lags = false);
    assert_eq!(world.create(&changed).unwrap().provider_id, vm.provider_id);
    assert_eq!(world.live().len(), 1);
}

#[test]
fn only_a_token_whose_instance_is_proven_gone_is_followed_by_the_next() {
    for state in ["terminated", "shutting-down"] {
        let world = World::new();
        world.create(&request(1)).unwrap();
        world.change(0, |vm| vm.state = state);
        let vm = world.create(&request(1)).unwrap();
        assert_eq!(state_of(vm.last_known_state.as_ref()).attempt, 1);
        assert_eq!(world.live()[0].token, "uid-1-1");
        // Nothing is lost if nobody stored the count: the tokens lead to it again.
        assert_eq!(world.create(&request(1)).unwrap().provider_id, vm.provider_id);
        assert_eq!(world.live().len(), 1);
    }
    for state in ["pending", "running", "stopping", "stopped"] {
        let world = World::new();
        let vm = world.create(&request(1)).unwrap();
        world.change(0, |vm| vm.state = state);
        assert_eq!(world.create(&request(1)).unwrap().provider_id, vm.provider_id, "{state}");
        assert_eq!(world.live().len(), 1);
    }
}

#[test]
fn a_token_whose_instance_is_gone_is_followed_by_the_next_with_another_class_too() {
    let world = World::new();
    world.create(&request(1)).unwrap();
    world.change(0, |vm| vm.state = "terminated");
    let changed = request_of(1, &spec_with(json!({ "machineType": "m5.xlarge" })));
    let vm = world.create(&changed).unwrap();
    assert_eq!((vm.provider_id.as_str(), world.live().len()), ("aws:///eu-west-1/i-00000002", 1));
}

#[test]
fn the_count_of_tokens_goes_from_call_to_call() {
    let world = World::new();
    let mut request = request(1);
    let first = world.create(&request).unwrap();
    world.change(0, |vm| vm.state = "terminated");
    // The driver reads the known instance, and its end increases the count.
    request = with_state(&request, first.last_known_state.as_ref());
    world.sent();
    let second = world.create(&request).unwrap();
    assert_eq!(world.sent(), ["DescribeInstances", "DescribeImages", "RunInstances"]);
    assert_eq!(state_of(second.last_known_state.as_ref()).attempt, 1);
    world.change(1, |vm| vm.state = "terminated");
    request = with_state(&request, second.last_known_state.as_ref());
    world.refuse("RunInstances", 500, "InsufficientInstanceCapacity");
    let error = world.begin(&request).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::ResourceExhausted, false));
    let state = state_of(error.last_known_state.as_ref());
    assert_eq!((state.attempt, state.instance), (2, None));
    let third = world.create(&with_state(&request, error.last_known_state.as_ref())).unwrap();
    assert_eq!(state_of(third.last_known_state.as_ref()).attempt, 2);
    assert_eq!(world.live()[0].token, "uid-1-2");
}

#[test]
fn a_machine_whose_instances_all_end_is_not_tried_for_ever_in_one_call() {
    let world = World::new();
    let mut state = None;
    for _ in 0..5 {
        world.create(&with_state(&request(1), state.as_ref().or(Some(&String::new())))).unwrap();
        world.set(|model| model.vms.iter_mut().for_each(|vm| vm.state = "terminated"));
    }
    let error = world.begin(&request(1)).unwrap_err();
    assert_eq!((error.code, error.may_have_happened), (Code::Aborted, false));
    state = error.into_record().last_known_state;
    assert_eq!(state_of(state.as_ref()).attempt, 5);
    assert_eq!(
        state_of(world.create(&with_state(&request(1), state.as_ref())).unwrap().last_known_state.as_ref())
            .attempt,
        5
    );
}

#[test]
fn a_create_that_began_in_another_region_ends_there_first() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    let moved = request_of(1, &spec_with(json!({ "region": "us-east-1" })));
    let moved = with_state(&moved, vm.last_known_state.as_ref());
    assert_eq!(region_of_create(&moved).unwrap(), "eu-west-1");
    assert_eq!(world.create(&moved).unwrap().provider_id, vm.provider_id);
    world.change(0, |vm| vm.state = "terminated");
    let error = world.begin(&moved).unwrap_err();
    assert_eq!(error.code, Code::Aborted);
    assert_eq!(region_of_create(&with_state(&moved, error.last_known_state.as_ref())).unwrap(), "us-east-1");
    assert!(world.live().is_empty());
}

#[test]
fn an_image_that_is_not_there_is_the_class_s_fault() {
    let table = [
        Fault::Instead(Ok(answer((200, super::model::wrapped("DescribeImages", "<imagesSet/>"))))),
        Fault::Instead(Ok(answer(super::model::refused(400, "InvalidAMIID.NotFound", "no")))),
        Fault::Instead(Ok(answer(super::model::refused(400, "InvalidAMIID.Malformed", "no")))),
    ];
    for fault in table {
        let world = World::new();
        world.fault("DescribeImages", fault);
        let error = world.begin(&request(1)).unwrap_err();
        assert_eq!(
            (error.code, error.terminal, error.may_have_happened),
            (Code::InvalidArgument, true, false)
        );
        assert!(error.message.contains("correct ami"), "{}", error.message);
    }
}

#[test]
fn an_annotation_that_is_no_placement_is_named() {
    let world = World::new();
    let mut annotated = request(1);
    let annotations = json!({ "machine.sapcloud.io/awsPlacement": "near" });
    annotated.machine.node_template = Some(json!({ "metadata": { "annotations": annotations } }).to_string());
    let error = world.begin(&annotated).unwrap_err();
    assert_eq!((error.code, error.terminal), (Code::InvalidArgument, true));
    assert!(error.message.contains("awsPlacement"), "{}", error.message);
    assert!(world.sent().is_empty());
}

#[test]
fn a_created_instance_is_known_with_a_broken_class() {
    let world = World::new();
    let vm = world.create(&request(1)).unwrap();
    let mut broken = with_id(&request_of(1, &spec()), &vm);
    broken.class.spec = "{".into();
    assert_eq!(world.status(&broken).unwrap().provider_id, vm.provider_id);
}

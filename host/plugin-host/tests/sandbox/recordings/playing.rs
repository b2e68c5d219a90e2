//! Results of a replay: equal, or the differences.

use machinist_plugin_host::testing::{Body, End, ExchangeOutcome, WireError};
use machinist_plugin_host::{Difference, Recording};
use serde_json::json;

use super::{declared, differences, life, play, player, recorded, recording_into, with_secrets};
use crate::fixture::{Fixture, Map, request};

fn text_of(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn of<'a>(recordings: &'a [Recording], operation: &str) -> &'a Recording {
    recordings.iter().find(|recording| recording.operation == operation).expect("is recorded")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_life_is_replayed_bit_for_bit_without_its_cloud() {
    let (recordings, _) = life().await;
    let operations: Vec<&str> = recordings.iter().map(|recording| recording.operation.as_str()).collect();
    let expected = [
        "CreateMachine", "GetMachineStatus", "ListMachines", "RebootMachine", "ValidateClass",
        "GetVolumeIDs", "GetNodeID", "PlaceClass", "IsInterruptible", "GetNodeCapacity", "DeleteMachine",
    ];
    assert_eq!(operations, expected);
    assert!(of(&recordings, "CreateMachine").http.iter().any(|exchange| exchange.method == "POST"));
    for (recording, played) in recordings.iter().zip(play("sim", &recordings).await) {
        let played = played.expect("plays");
        assert_eq!(text_of(&played.differences), "", "{}", recording.operation);
        let again = &played.recording;
        assert_eq!(again.http, recording.http, "requests and what came back");
        assert_eq!((&again.end, &again.log), (&recording.end, &recording.log));
        assert_eq!((&again.clocks, &again.seed), (&recording.clocks, &recording.seed));
        assert_eq!((&again.question, &again.secrets), (&recording.question, &recording.secrets));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn differences_of_another_version_are_reported_by_their_place() {
    let (recordings, url) = life().await;
    // As if an older version had asked otherwise.
    let mut create = of(&recordings, "CreateMachine").clone();
    let post = create.http.iter().position(|exchange| exchange.method == "POST").expect("a POST");
    create.http[post].headers.push(("x-older".to_owned(), "1".to_owned()));
    let Body::Text(text) = &create.http[post].body else { panic!("text") };
    create.http[post].body = Body::Text(text.replace("sim.small", "sim.large"));
    let differing = text_of(&differences("sim", &create).await);
    assert!(differing.contains(&format!("request made otherwise: POST {url}/v1/vms")), "{differing}");
    assert!(
        differing.contains("header x-older: 1 -> absent") && differing.contains("sim.large\" -> \"sim.small"),
        "{differing}"
    );
    assert!(!differing.contains("answer differs"), "it was answered all the same: {differing}");

    let mut fewer = of(&recordings, "CreateMachine").clone();
    fewer.http.remove(post);
    let played = play("sim", &[fewer]).await.remove(0).expect("plays");
    let differing = text_of(&played.differences);
    assert!(differing.contains(&format!("request additional: POST {url}/v1/vms")), "{differing}");
    assert!(differing.contains("answer differs"), "{differing}");
    let End::Answered { answer, .. } = played.recording.end else { panic!("answered") };
    let message = format!("not in the recording: POST {url}/v1/vms");
    assert!(answer.to_string().contains(&message), "the driver is told, and tells: {answer}");

    let mut more = of(&recordings, "DeleteMachine").clone();
    let mut extra = more.http[0].clone();
    extra.url = format!("{url}/v1/older");
    more.http.push(extra);
    let differing = text_of(&differences("sim", &more).await);
    assert_eq!(differing, format!("request missing: {} {url}/v1/older", more.http[0].method));

    let mut answer = of(&recordings, "GetMachineStatus").clone();
    let End::Answered { answer: end, .. } = &mut answer.end else { panic!("answered") };
    end["Ok"]["node_name"] = json!("older");
    answer.log.clear();
    let differing = text_of(&differences("sim", &answer).await);
    assert!(differing.starts_with("answer differs:\n  answer.Ok.node_name: \"older\" -> "), "{differing}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_differs_reaches_the_driver() {
    let (recordings, _) = life().await;
    let mut status = of(&recordings, "GetMachineStatus").clone();
    let ExchangeOutcome::Answer { status: code, body, .. } = &mut status.http[0].outcome else {
        panic!("answered")
    };
    (*code, *body) = (500, Body::Text("out of order".to_owned()));
    let played = play("sim", &[status]).await.remove(0).expect("plays");
    let End::Answered { answer, .. } = played.recording.end else { panic!("{:?}", played.recording.end) };
    assert_eq!(answer["Err"]["code"], "Unavailable");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_a_call_ends_it_ends_so_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let grants = "egress: [{ host: a.invalid }]\nlimits: { memory_mib: 24, cpu_ms: 300 }\nreveal: [token]\n\
                  secrets: [{ key: token, places: [{ header: authorization }] }]";
    world.ready(Map::new("hostile", hostile).data("grants.yaml", grants)).await;
    for plan in [
        json!({ "do": "trap", "message": "oh" }),
        json!({ "do": "loop" }),
        json!({ "do": "allocate" }),
        json!({ "do": "log", "lines": 20 }),
        json!({ "do": "fetch", "url": "https://a.invalid/x", "method": "POST", "body": "b" }),
        json!({ "do": "placeholders", "key": "token", "count": 3 }),
        json!({ "do": "placeholders", "key": "userData", "count": 3 }),
        json!({ "do": "say", "text": "", "field": "provider-id" }),
        json!({ "do": "fail", "code": "resource-exhausted", "message": "none left" }),
        json!({ "do": "sleep", "ms": 20 }),
    ] {
        let _either_way = world.host.create(with_secrets(request("hostile", &plan.to_string()))).await;
    }
    let recordings = recorded(&world, folder.path()).await;
    assert_eq!(recordings.len(), 10);
    let ends: Vec<&End> = recordings.iter().map(|recording| &recording.end).collect();
    assert!(matches!(ends[0], End::Trapped { .. }), "{ends:?}");
    assert!(matches!(ends[1], End::Limit { limit, .. } if limit == "cpu-time"), "{ends:?}");
    assert!(matches!(ends[2], End::Limit { limit, .. } if limit == "memory"), "{ends:?}");
    assert_eq!(recordings[3].log.len(), 20);
    assert!(matches!(recordings[4].http[0].outcome, ExchangeOutcome::Failed(_)), "{:?}", recordings[4].http);
    for (recording, played) in recordings.iter().zip(play("hostile", &recordings).await) {
        let played = played.expect("plays");
        assert_eq!(text_of(&played.differences), "", "{}", recording.question);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_the_host_refused_is_refused_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    world.ready(Map::new("hostile", hostile).data("grants.yaml", "egress: [{ host: a.invalid }]")).await;
    let plan = json!({ "do": "fetch", "url": "https://b.invalid/x", "method": "POST", "body": "b" });
    world.host.create(request("hostile", &plan.to_string())).await.expect("reports");
    let recordings = recorded(&world, folder.path()).await;
    assert_eq!(recordings[0].http[0].outcome, ExchangeOutcome::Failed(WireError::HttpRequestDenied));
    let played = play("hostile", &recordings).await.remove(0).expect("plays");
    // Whether it learns of that while it writes the body or afterwards is a matter of moments, then and now.
    assert_eq!(played.recording.http[0].outcome, recordings[0].http[0].outcome);
    assert!(!text_of(&played.differences).contains("request"), "{:?}", played.differences);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waited_for_its_cloud_until_the_end_is_cut_off_again_at_once() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let folder = tempfile::tempdir().expect("a folder");
    let world = Fixture::with(recording_into(folder.path()));
    let hostile = guests::bytes("hostile-driver").expect("the driver builds");
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n\
         limits: {{ deadline_ms: 700 }}"
    );
    world.ready(Map::new("hostile", hostile).data("grants.yaml", &grants)).await;
    let plan = json!({ "do": "fetch", "url": format!("http://127.0.0.1:{port}/") });
    let _cut_off = world.host.create(request("hostile", &plan.to_string())).await;
    let mut recordings = recorded(&world, folder.path()).await;
    assert!(matches!(&recordings[0].end, End::Limit { limit, .. } if limit == "deadline"), "{recordings:?}");
    assert_eq!(recordings[0].http[0].outcome, ExchangeOutcome::Unanswered);
    // The deadline of a create: no caller waits for that.
    recordings[0].limits.deadline_ms = 300_000;
    let played = play("hostile", &recordings).await.remove(0).expect("plays");
    assert!(matches!(&played.recording.end, End::Limit { limit, .. } if limit == "deadline"));
    assert!(played.recording.took_ms < 60_000);
}

#[tokio::test]
async fn a_component_that_does_not_load_says_so_once() {
    let mut broken = declared("sim");
    broken.digest = Some(machinist_plugin_host::Digest::of(b"another"));
    let error = player().replay(broken, Vec::new()).await.expect_err("does not load");
    assert!(error.to_string().contains("cannot be loaded: the component's digest is"), "{error}");
}

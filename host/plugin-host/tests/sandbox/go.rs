//! Components of the SDK for Go: Go's runtime needs more of its host than others do.

use jiff::SignedDuration;
use machinist_core::driver::error::{CallError, Code};
use machinist_core::driver::{Creation, ListRequest, MachineRequest, SecretValues};
use machinist_core::health_policy::{Action, PolicyVerdict};
use machinist_core::value::id::{Name, ProviderName, Uid};

use crate::fixture::{Fixture, Map, class, request, settings};
use crate::policies::{ask, before, now, policy, question};

const TOKEN: &str = "sim-token";
const SPEC: &str = r#"{"zone":"sim-1a","type":"sim.small","image":"linux-1"}"#;

fn secrets() -> SecretValues {
    let values = [("token".to_owned(), TOKEN.as_bytes().to_vec())].into();
    SecretValues { values, user_data: Some(b"#cloud-config\n".to_vec()), ..SecretValues::default() }
}

fn machine(number: usize) -> MachineRequest {
    let mut asked = request("sim", SPEC);
    asked.machine.name = Name::new(format!("machine-{number}"));
    asked.machine.uid = Uid::new(format!("uid-{number}"));
    asked.idempotency_key = format!("key-{number}");
    asked.secrets = secrets();
    asked
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_in_go_makes_finds_lists_restarts_and_deletes_machines() {
    let config = simcloud::Config { latency: simcloud::Latency::ZERO, ..simcloud::Config::default() };
    let cloud = simcloud::Server::start(config).expect("starts");
    let world = Fixture::new();
    let grants = include_str!("../../../../sdk/go/examples/driver-sim/grants.yaml")
        .replace("PORT", &cloud.addr().port().to_string());
    let map = Map::new("sim", guests::go_bytes("examples/driver-sim").expect("the driver builds"))
        .data("grants.yaml", &grants)
        .data("settings.json", &format!(r#"{{"endpoint":"{}"}}"#, cloud.url()));
    world.ready(map).await;
    let facts = world.host.facts(&ProviderName::from("sim"), None).expect("is served");
    assert!(
        facts.capabilities.status && facts.capabilities.listing && facts.capabilities.idempotency_key,
        "{facts:?}"
    );

    // More than one page of VMs, so that answers of hundreds of kilobytes come back.
    let mut ids = Vec::new();
    for number in 0..230 {
        let Ok(Creation::Created(vm)) = world.host.create(machine(number)).await else {
            panic!("no machine")
        };
        ids.push(vm.provider_id);
    }
    assert_eq!(cloud.live_vms().len(), 230);
    let mut known = machine(7);
    known.machine.provider_id = Some(ids[7].clone());
    assert_eq!(world.host.get_status(known.clone()).await.expect("is there").provider_id, ids[7]);
    assert_eq!(world.host.get_status(machine(7)).await.expect("is found by its uid").provider_id, ids[7]);
    world.host.reboot(known.clone()).await.expect("starts anew");

    let mut list = ListRequest {
        class: class("sim", SPEC),
        cluster: "cluster-1".to_owned(),
        token: None,
        secrets: secrets(),
    };
    let first = world.host.list(list.clone()).await.expect("lists");
    list.token = first.next.clone();
    let second = world.host.list(list).await.expect("lists");
    assert_eq!((first.machines.len(), second.machines.len(), second.next), (200, 30, None));

    world.host.delete(known.clone()).await.expect("goes");
    assert_eq!(cloud.live_vms().len(), 229);
    let error = world.host.validate_class(class("sim", "[]")).await.expect_err("is no class");
    assert_eq!(
        (error.code(), error.to_string().contains("providerSpec")),
        (Code::InvalidArgument, true),
        "{error}"
    );
    let mut without = machine(500);
    without.secrets = SecretValues::default();
    let error = world.host.create(without).await.expect_err("has no token");
    assert!(error.to_string().contains("has no key token"), "{error}");
}

#[tokio::test]
async fn a_policy_in_go_answers_while_its_clocks_stand() {
    let world = Fixture::new();
    let component = guests::go_bytes("examples/policy-zone").expect("the policy builds");
    let report = world.ready(policy("zone", component.clone())).await;
    assert_eq!(report.held.expect("is Ready").version, "0.1.0");
    let answer = ask(&world, "zone", question()).await.expect("answers");
    assert_eq!(
        (answer.verdict, answer.action),
        (PolicyVerdict::Unhealthy { since: before(300) }, Action::Replace)
    );
    assert_eq!(answer.reason, "Ready is Unknown");
    assert_eq!(answer.holds_until, now() + SignedDuration::from_secs(30));
    let mut silent = question();
    silent.domain.silent = 7;
    assert_eq!(ask(&world, "zone", silent).await.expect("answers").verdict, PolicyVerdict::Unknown);
    let mut calm = question();
    calm.node = None;
    assert_eq!(ask(&world, "zone", calm).await.expect("answers").reason, "the Node is gone");

    let wrong = policy("other", component).data("settings.json", r#"{"silentPercent": 0}"#);
    let reason = world.rejected(wrong).await;
    assert!(reason.contains("silentPercent is 0, and must be from 1 to 100"), "{reason}");
}

/// A Go program can end in many ways. Each is an error of this driver or a guest failure, in one line, counted under
/// its name, and the next call is answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_driver_in_go_may_end_in_any_way() {
    let mut settings = settings();
    settings.quarantine.broken_calls = 1_000;
    let world = Fixture::with(settings);
    let component = guests::go_bytes("internal/panics").expect("the driver builds");
    let grants = "limits: { memory_mib: 64, cpu_ms: 2000, deadline_ms: 10000 }";
    world.ready(Map::new("panics", component).data("grants.yaml", grants)).await;
    let (mut failed, mut broken) = (0, 0);
    for (way, expected) in [
        ("text", "out of cheese"),
        ("error", "an error"),
        ("nil", "nil"),
        ("worse", ""),
        ("map", "nil map"),
        ("index", "out of range"),
        ("pointer", "nil pointer"),
        ("exit", "exited with status"),
        ("goexit", ""),
        ("deadlock", ""),
        ("recursion", ""),
        ("hoard", "memory"),
    ] {
        let message = match world.create("panics", way).await {
            Err(CallError::Guest(error)) => {
                failed += 1;
                assert_eq!(error.code, Code::Internal, "{way}");
                error.message
            }
            Err(CallError::Broken(failure)) => {
                broken += 1;
                failure.to_string()
            }
            other => panic!("{way}: {other:?}"),
        };
        assert!(
            message.contains(expected) && !message.contains(char::is_control) && message.len() < 4_300,
            "{way}: {message}"
        );
        assert!(world.create("panics", "{}").await.is_ok(), "after {way}");
    }
    let counted = |outcome: &str| {
        let labels = format!("{{plugin=\"panics\",operation=\"CreateMachine\",outcome=\"{outcome}\"");
        world.metric(&format!("machinist_plugin_calls_total{labels}"))
    };
    assert_eq!((counted("guest"), counted("broken"), counted("ok")), (failed, broken, 12));
    assert!(failed >= 5 && broken >= 3, "{failed} {broken}");
}

use std::time::Duration;

use serde_json::{Value, json};
use simcloud::{Config, Delivery, Latency, Method, Request};

use super::{Harness, account, code, wanted};

fn faulty(faults: &Value) -> Harness {
    let mut harness = Harness::new();
    assert_eq!(harness.admin(Method::Put, "/admin/faults", faults).0, 200);
    harness
}

#[test]
fn an_error_before_the_commit_does_nothing_and_one_after_it_does_the_work() {
    for (after_commit, created) in [(false, 0), (true, 1)] {
        let mut harness =
            faulty(&json!({"rules": [{"match": {"method": "POST", "path": "/v1/vms"}, "effect":
            {"type": "error", "code": "unavailable", "status": 502, "retryAfter": 7,
             "afterCommit": after_commit}}]}));
        let request = Request::new(Method::Post, "/v1/vms").with_key("a").with_json(&wanted("a")).unwrap();
        let answer = harness.send(request);
        assert_eq!((answer.status, answer.header("retry-after")), (502, Some("7")));
        assert_eq!(answer.json::<Value>().unwrap()["code"], "unavailable");
        assert_eq!(harness.cloud.stats().created, created);
    }
}

#[test]
fn spoiled_answers_arrive_spoiled() {
    let mut harness = faulty(&json!({"rules": [
        {"match": {"nth": 1}, "effect": {"type": "truncate"}},
        {"match": {"nth": 1}, "effect": {"type": "garbage"}},
        {"match": {"nth": 1}, "effect": {"type": "html", "status": 503}},
        {"match": {"nth": 1}, "effect": {"type": "delay", "ms": 250}},
    ]}));
    let mut get = || harness.send(Request::new(Method::Get, "/v1/vms"));
    let truncated = get();
    assert_eq!(truncated.delivery, Delivery::Truncated { bytes: truncated.body.len() / 2 });
    let garbage = get();
    assert_eq!(garbage.status, 200);
    assert!(garbage.json::<Value>().is_err());
    let html = get();
    assert_eq!((html.status, html.content_type), (503, "text/html"));
    assert_eq!(get().delay, Duration::from_millis(250));
    assert_eq!(get().delay, Duration::ZERO);
}

#[test]
fn capacity_and_quota_are_given_back_by_terminated_vms() {
    let mut harness = faulty(&json!({"capacity": [{"zone": "sim-1a", "type": "*", "limit": 1}]}));
    let id = harness.vm("a");
    assert_eq!(code(&harness.create("b", &wanted("b"))), (409, "capacity_exhausted"));
    let mut elsewhere = wanted("c");
    elsewhere["zone"] = json!("sim-1b");
    assert_eq!(harness.create("c", &elsewhere).0, 201);
    harness.call(Method::Delete, &format!("/v1/vms/{id}"), &Value::Null);
    assert_eq!(code(&harness.create("b", &wanted("b"))), (409, "capacity_exhausted"));
    harness.pass(1000);
    assert_eq!(harness.create("b", &wanted("b")).0, 201);

    let tokens = json!([{"token": "one", "role": "read-write"}]);
    harness.admin(Method::Put, "/admin/accounts/one", &json!({"tokens": tokens, "quota": 2}));
    assert_eq!(code(&harness.create("d", &elsewhere)), (403, "quota_exceeded"));
    harness.token = "two";
    assert_eq!(harness.create("d", &elsewhere).0, 201);
}

#[test]
fn a_replaced_token_is_refused() {
    let mut harness = Harness::new();
    let tokens = json!([{"token": "fresh", "role": "read-write"}]);
    harness.admin(Method::Put, "/admin/accounts/one", &json!({"tokens": tokens}));
    assert_eq!(code(&harness.get("/v1/vms")), (401, "unauthorized"));
    harness.token = "fresh";
    assert_eq!(harness.get("/v1/vms").0, 200);
}

#[test]
fn a_doomed_vm_dies_instead_of_booting() {
    let mut harness = faulty(&json!({"bootFailureProbability": 1.0}));
    let id = harness.vm("a");
    harness.pass(1000);
    let (_, vm) = harness.get(&format!("/v1/vms/{id}"));
    assert_eq!((&vm["state"], &vm["stateReason"]), (&json!("terminated"), &json!("boot failed")));
}

#[test]
fn the_date_header_shows_the_skewed_clock() {
    let mut harness = Harness::new();
    let mut date =
        || harness.send(Request::new(Method::Get, "/v1/regions")).header("date").unwrap().to_owned();
    assert_eq!(date(), "Tue, 14 Nov 2023 22:13:20 GMT");
    harness.admin(Method::Put, "/admin/faults", &json!({"clockSkewMs": -300_000}));
    let skewed = harness.send(Request::new(Method::Get, "/v1/regions"));
    assert_eq!(skewed.header("date"), Some("Tue, 14 Nov 2023 22:08:20 GMT"));
}

#[test]
fn faults_spare_the_admin_and_wrong_ones_are_refused() {
    let always = json!({"rules": [{"name": "all", "effect": {"type": "error", "code": "internal"}}]});
    let mut harness = faulty(&always);
    assert_eq!(harness.get("/v1/regions").0, 500);
    assert_eq!(
        harness.admin(Method::Get, "/admin/faults", &Value::Null),
        (200, {
            let mut shown =
                json!({"readLagMs": 0, "capacity": [], "clockSkewMs": 0, "bootFailureProbability": 0.0});
            shown["rules"] = json!([{"name": "all", "match": {},
            "effect": {"type": "error", "code": "internal", "afterCommit": false}}]);
            shown
        })
    );
    for flaw in [
        json!({"rules": [{"effect": {"type": "throttle", "rate": 0, "burst": 1}}]}),
        json!({"rules": [{"effect": {"type": "html", "status": 42}}]}),
        json!({"rules": [{"match": {"probability": 2}, "effect": {"type": "garbage"}}]}),
        json!({"rules": [{"match": {"method": "get"}, "effect": {"type": "garbage"}}]}),
        json!({"rules": [{"effect": {"type": "unheard"}}]}),
        json!({"surprise": 1}),
    ] {
        assert_eq!(
            code(&harness.admin(Method::Put, "/admin/faults", &flaw)),
            (400, "invalid_parameter"),
            "{flaw}"
        );
    }
    assert_eq!(harness.cloud.stats().faults_fired["all"], 1);
    assert_eq!(harness.admin(Method::Put, "/admin/faults", &json!({})).0, 200);
    assert_eq!(harness.get("/v1/regions").0, 200);
}

#[test]
fn equal_seeds_give_equal_worlds() {
    let run = |seed| {
        let latency = Latency { create_ms: 100, jitter_percent: 50, ..Latency::ZERO };
        let mut harness =
            Harness::with(Config { seed, latency, accounts: vec![account("one")], ..Config::default() });
        let rule = json!({"match": {"probability": 0.3}, "effect": {"type": "error", "code": "internal"}});
        harness.admin(Method::Put, "/admin/faults", &json!({"rules": [rule]}));
        (0..50)
            .map(|number| {
                let name = format!("vm-{number}");
                let request = Request::new(Method::Post, "/v1/vms").with_key(&name);
                let answer = harness.send(request.with_json(&wanted(&name)).unwrap());
                (answer.status, answer.delay, answer.body)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let delays: Vec<Duration> = run(1).into_iter().map(|(_, delay, _)| delay).collect();
    assert!(delays.iter().all(|delay| (50..=150).contains(&delay.as_millis())), "{delays:?}");
}

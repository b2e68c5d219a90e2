//! What belongs to all is used up, and texts that break careless code.

use machinist_core::driver_error::CallError;
use serde_json::json;

use super::scene::Scene;

async fn breaks(plan: serde_json::Value, kind: &str) {
    Scene::new().await.breaks(&plan, kind).await;
}

#[tokio::test]
async fn attack_loop() {
    breaks(json!({ "do": "loop" }), "cpu-time").await;
}

#[tokio::test]
async fn attack_loop_of_calls_of_the_host() {
    breaks(json!({ "do": "loop-in-host" }), "cpu-time").await;
}

#[tokio::test]
async fn attack_memory_flood() {
    breaks(json!({ "do": "allocate" }), "memory").await;
    breaks(json!({ "do": "allocate-at-once" }), "memory").await;
}

#[tokio::test]
async fn attack_stack_flood() {
    breaks(json!({ "do": "recurse" }), "stack").await;
}

#[tokio::test]
async fn attack_handle_flood() {
    for what in ["fields", "pollable", "secret", "request"] {
        breaks(json!({ "do": "leak", "what": what }), "handles").await;
    }
}

#[tokio::test]
async fn attack_flood_of_an_answer() {
    breaks(json!({ "do": "huge-answer", "bytes": 6_000_000 }), "copied-bytes").await;
}

#[tokio::test]
async fn attack_sleep_for_ever() {
    breaks(json!({ "do": "sleep" }), "deadline").await;
}

#[tokio::test]
async fn attack_log_flood() {
    let scene = Scene::new().await;
    for plan in [
        json!({ "do": "log", "lines": 3_000, "bytes": 100 }),
        json!({ "do": "log", "lines": 5, "bytes": 200_000 }),
        json!({ "do": "log", "lines": 100, "pairs": 200 }),
        json!({ "do": "stderr", "lines": 3_000, "bytes": 100 }),
    ] {
        // Lines beyond the budget are dropped; one that is slower than its processor time breaks by name.
        match scene.call(&plan).await {
            Ok(_) | Err(CallError::Broken(_)) => {}
            Err(other) => panic!("{plan}: {other:?}"),
        }
    }
    let ended =
        "machinist_plugin_call_duration_seconds_count{plugin=\"hostile\",operation=\"CreateMachine\"}";
    assert_eq!(scene.world.metric(ended), 4, "each ended");
    // What is kept for `plugin logs` has its bounds too, and says what was dropped and in which call it was logged.
    let kept = scene.world.host.logs(&"hostile".into(), 0).expect("has logged");
    let bytes: usize = kept.lines.iter().map(|line| line.message.len() + line.fields.len()).sum();
    assert!((1..=500).contains(&kept.lines.len()) && bytes <= 256 << 10, "{} lines", kept.lines.len());
    assert!(kept.dropped >= 500, "{}", kept.dropped);
    let last = kept.lines.last().expect("a line");
    assert_eq!((last.level.as_str(), last.call.split(' ').next()), ("error", Some("CreateMachine")));
    assert!(scene.world.host.logs(&"hostile".into(), last.number).expect("has logged").lines.is_empty());
}

#[tokio::test]
async fn attack_trap_abort_and_exit() {
    for plan in [json!({ "do": "trap" }), json!({ "do": "abort" }), json!({ "do": "exit", "status": 0 })] {
        breaks(plan, "trap").await;
    }
}

const ODD: [&str; 14] = [
    "nul",
    "newlines",
    "ansi",
    "rtl",
    "non-character",
    "combining",
    "emoji",
    "byte-order-mark",
    "quotes",
    "format",
    "html",
    "path",
    "long",
    "blanks",
];

/// Neither a field of an answer nor a panic's message harms whoever reads it.
#[tokio::test]
async fn attack_odd_texts_in_every_field() {
    let scene = Scene::new().await;
    let fields = ["provider-id", "node-name", "address", "failure-domain", "condition", "last-known-state"];
    for kind in ODD {
        for field in fields {
            let plan = json!({ "do": "odd-text", "kind": kind, "field": field });
            if let Err(error) = scene.call(&plan).await {
                assert!(matches!(error, CallError::Broken(_)), "{plan}: {error:?}");
                assert!(error.to_string().len() < 4_096, "{plan}");
            }
        }
        for plan in [
            json!({ "do": "fail", "message": { "odd": kind }, "cloud-code": { "odd": kind }, "provider-id": { "odd": kind } }),
            json!({ "do": "in-progress", "token": { "odd": kind }, "message": { "odd": kind } }),
            json!({ "do": "trap", "message": { "odd": kind } }),
        ] {
            if let Err(error) = scene.call(&plan).await {
                assert!(!matches!(error, CallError::Refused(_)), "{plan}");
            }
        }
    }
    let ended =
        "machinist_plugin_call_duration_seconds_count{plugin=\"hostile\",operation=\"CreateMachine\"}";
    assert_eq!(scene.world.metric(ended), (ODD.len() * (fields.len() + 3)) as u64, "each ended");
}

#[tokio::test]
async fn attack_odd_texts_in_requests_and_settings() {
    let scene = Scene::new().await;
    for kind in ODD {
        let plan = json!({ "do": "fetch", "method": "POST", "url": scene.url("cloud.test", "/"), "body": { "odd": kind } });
        scene.report(&plan).await;
    }
    let sent = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"2xx\"}";
    assert_eq!(scene.world.metric(sent), ODD.len() as u64);
}

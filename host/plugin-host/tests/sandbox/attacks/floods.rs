//! Floods of common resources, and texts that break careless code.

use machinist_core::driver::Creation;
use machinist_core::driver::error::{Broken, CallError, GuestFailure};
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

const DROPPED: &str = "machinist_plugin_log_lines_dropped_total{plugin=\"hostile\"}";

#[tokio::test]
async fn attack_log_flood() {
    let scene = Scene::new().await;
    for plan in [
        json!({ "do": "log", "lines": 3_000, "bytes": 100 }),
        json!({ "do": "log", "lines": 5, "bytes": 200_000 }),
        json!({ "do": "log", "lines": 100, "pairs": 200 }),
        json!({ "do": "stderr", "lines": 3_000, "bytes": 100 }),
    ] {
        let before = scene.world.metric(DROPPED);
        // Lines beyond the budget are dropped; one that is slower than its processor time breaks by name.
        match scene.call(&plan).await {
            Ok(_) | Err(CallError::Broken(_)) => {}
            Err(other) => panic!("{plan}: {other:?}"),
        }
        let dropped = scene.world.metric(DROPPED) - before;
        assert_eq!(
            dropped > 0,
            plan["do"] == "log",
            "{plan}: {dropped} lines; of what is printed the end is kept"
        );
    }
    let ended =
        "machinist_plugin_call_duration_seconds_count{plugin=\"hostile\",operation=\"CreateMachine\"}";
    assert_eq!(scene.world.metric(ended), 4, "each ended");
    // The lines for `plugin logs` are bounded, too; the result says how many were dropped, and in which call a line was
    // logged.
    let kept = scene.world.host.logs(&"hostile".into(), 0).expect("has logged");
    let bytes: usize = kept.lines.iter().map(|line| line.message.len() + line.fields.len()).sum();
    assert!((1..=500).contains(&kept.lines.len()) && bytes <= 256 << 10, "{} lines", kept.lines.len());
    assert!(kept.dropped >= 100, "{}", kept.dropped);
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

/// In a row, and with an instance each, they would take a processor's time from others.
#[tokio::test]
async fn attack_faults_in_a_row_run_at_low_priority() {
    let fails = json!({ "do": "fail", "message": "there is no such image" });
    for plan in [
        json!({ "do": "trap" }),
        json!({ "do": "recurse" }),
        json!({ "do": "grow-table", "elements": 30_000 }),
        json!({ "do": "log", "lines": 3_000 }),
    ] {
        let scene = Scene::new().await;
        let low = || scene.world.metric("machinist_plugin_low_priority_calls_total{plugin=\"hostile\"}");
        for call in [&fails, &fails, &plan] {
            let _ended = scene.call(call).await;
            assert_eq!(low(), 0, "{call}: a call that fails as calls may has no penalty");
        }
        let _ended = scene.call(&fails).await;
        assert_eq!(low(), 1, "{plan}: the next call begins at low priority");
    }
}

const UNUSUAL: [&str; 14] = [
    "nul", "newlines", "ansi", "rtl", "non-character", "combining", "emoji", "byte-order-mark", "quotes",
    "format", "html", "path", "long", "blanks",
];

/// Neither a field of an answer nor a panic's message harms its readers.
#[tokio::test]
async fn attack_unusual_texts_in_every_field() {
    let scene = Scene::new().await;
    let fields = ["provider-id", "node-name", "address", "failure-domain", "condition", "last-known-state"];
    for kind in UNUSUAL {
        for field in fields {
            let plan = json!({ "do": "odd-text", "kind": kind, "field": field });
            if let Err(error) = scene.call(&plan).await {
                assert!(
                    matches!(error, CallError::Broken(Broken { failure: GuestFailure::Contract { .. }, .. })),
                    "{plan}: {error:?}"
                );
                assert!(error.to_string().len() < 1_024, "{plan}");
            }
        }
        for plan in [
            json!({ "do": "fail", "message": { "odd": kind }, "cloud-code": { "odd": kind }, "provider-id": { "odd": kind } }),
            json!({ "do": "in-progress", "token": { "odd": kind }, "message": { "odd": kind } }),
            json!({ "do": "trap", "message": { "odd": kind } }),
        ] {
            if let Err(error) = scene.call(&plan).await {
                assert!(!matches!(error, CallError::Refused(_)), "{plan}");
                let shown = error.to_string();
                assert!(shown.len() < 6_000 && !shown.contains(char::is_control), "{plan}: {shown:?}");
            }
        }
    }
    let ended =
        "machinist_plugin_call_duration_seconds_count{plugin=\"hostile\",operation=\"CreateMachine\"}";
    assert_eq!(scene.world.metric(ended), (UNUSUAL.len() * (fields.len() + 3)) as u64, "each ended");
    let contract = "machinist_plugin_breakages_total{plugin=\"hostile\",kind=\"contract\"}";
    // Six kinds hide characters or have too many, in four fields that are names, and in the id of an error.
    assert!(scene.world.metric(contract) >= 5 * 6, "{}", scene.world.metric(contract));
}

/// Texts for people are cut and in one line; names are complete or refused.
#[tokio::test]
async fn attack_endless_and_forged_texts() {
    let scene = Scene::new().await;
    let forged = "gone\n2026-01-01T00:00:00Z ERROR forged\0\u{202e}";
    let shown = "gone\\n2026-01-01T00:00:00Z ERROR forged\\u{0}\\u{202e}";
    for (message, shown) in [
        (json!(forged), shown.to_owned()),
        (json!({ "odd": "long" }), format!("{}… (295904 bytes left out)", "x".repeat(4_096))),
        (
            json!({ "repeat": "long ", "times": 400_000 }),
            format!("{}l… (1995904 bytes left out)", "long ".repeat(819)),
        ),
    ] {
        let error = scene.call(&json!({ "do": "fail", "message": message, "cloud-code": message })).await;
        let Err(CallError::Guest(error)) = error else { panic!("{error:?}") };
        assert_eq!(error.message, shown);
        assert!(error.cloud_code.is_some_and(|code| code.len() < 300 && !code.contains('\n')));
        let waiting = scene.call(&json!({ "do": "in-progress", "message": message })).await;
        let Ok(Creation::InProgress(waiting)) = waiting else { panic!("{waiting:?}") };
        assert_eq!(waiting.message, shown);
        let trapped =
            scene.call(&json!({ "do": "trap", "message": message })).await.expect_err("traps").to_string();
        assert!(trapped.len() < 4_300 && !trapped.contains(char::is_control), "{trapped:?}");
    }
    for plan in [
        json!({ "do": "say", "field": "provider-id", "text": { "repeat": "x", "times": 1_025 } }),
        json!({ "do": "say", "field": "provider-id", "text": "a\nb" }),
        json!({ "do": "say", "field": "node-name", "text": { "repeat": "x", "times": 254 } }),
        json!({ "do": "say", "field": "node-name", "text": "node\u{202e}1" }),
        json!({ "do": "say", "field": "address", "text": forged }),
        json!({ "do": "say", "field": "failure-domain", "text": forged }),
        json!({ "do": "say", "field": "condition", "text": forged }),
        json!({ "do": "say", "field": "last-known-state", "text": { "repeat": "x", "times": 65_537 } }),
        json!({ "do": "in-progress", "token": { "repeat": "x", "times": 65_537 } }),
        json!({ "do": "fail", "provider-id": forged }),
        json!({ "do": "fail", "node-name": { "repeat": "x", "times": 254 } }),
        json!({ "do": "fail", "last-known-state": { "repeat": "x", "times": 65_537 } }),
    ] {
        scene.breaks(&plan, "contract").await;
    }
    let kept =
        json!({ "do": "say", "field": "last-known-state", "text": { "repeat": "\0", "times": 65_536 } });
    assert!(scene.call(&kept).await.is_ok(), "only the driver reads it");
}

#[tokio::test]
async fn attack_unusual_texts_in_requests_and_settings() {
    let scene = Scene::new().await;
    for kind in UNUSUAL {
        let plan = json!({ "do": "fetch", "method": "POST", "url": scene.url("cloud.test", "/"), "body": { "odd": kind } });
        scene.report(&plan).await;
    }
    let sent = "machinist_plugin_http_requests_total{plugin=\"hostile\",outcome=\"2xx\"}";
    assert_eq!(scene.world.metric(sent), UNUSUAL.len() as u64);
}

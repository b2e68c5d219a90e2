//! Drivers that break: each call ends at its limit, says which one it was, and nobody else notices.

use anyhow::{Context, Result, ensure};
use e2e::{Host, Lab, LabOptions, manifests};
use serde_json::{Value, json};

use crate::plugins::hostile_servers::Server;
use crate::scene::{HOSTILE, has_phase, installed, patch_class, runs};

/// Installs a hostile driver under a name of its own, with a class and a Machine of the same name.
async fn install(lab: &Lab, name: &str, spec: &Value, grants: &Value) -> Result<()> {
    let settings = json!({ "providers": [name] });
    lab.put_plugin(&manifests::plugin_granted(name, &HOSTILE, &settings, grants)?).await?;
    lab.put_class(&manifests::class_of(name, "sim", name, spec)).await?;
    lab.plugin_state(name, "Ready").await
}

/// The call broke as expected, and everyone can see it.
async fn breaks(lab: &Lab, host: &Host, name: &str, kind: &str, part: &str) -> Result<()> {
    lab.create_machine(name, name).await?;
    let condition = lab.machine_reason(name, "DriverBroken", part).await?;
    ensure!(condition.status == "False", "{condition:?}");
    has_phase(lab, name, "CrashLoopBackOff").await?;
    lab.event("Machine", name, "DriverBroken", part).await?;
    let metrics = host.metrics().await?;
    let labels = [format!("plugin=\"{name}\""), format!("kind=\"{kind}\"")];
    let counted = metrics.sum("machinist_plugin_breakages_total", &[&labels[0], &labels[1]]);
    let all: Vec<_> = metrics.matching("machinist_plugin_breakages_total", &[]).collect();
    ensure!(counted >= 1.0, "{name} is not counted as {kind}: {all:?}");
    Ok(())
}

#[tokio::test]
async fn each_limit_is_named_and_the_other_drivers_machines_go_on() {
    installed(LabOptions::default(), async |lab, host| {
        let slow = Server::silent().await?;
        let to_slow = json!([{ "host": "127.0.0.1", "scheme": "http", "ports": [slow.port()], "addresses": ["loopback"] }]);
        let act = |what: &str| json!({ "do": what, "in": ["create"] });
        let cases = [
            ("traps", act("trap"), json!({}), "trap", "the plugin trapped"),
            ("exits", act("exit"), json!({}), "trap", "it exited with status 0"),
            ("loops", act("loop"), json!({ "limits": { "cpu_ms": 300 } }), "cpu-time", "cpu-time limit (300 ms)"),
            ("allocates", act("allocate"), json!({ "limits": { "memory_mib": 16 } }), "memory", "memory limit (16 MiB)"),
            ("recurses", act("recurse"), json!({}), "stack", "stack limit"),
            ("talks", json!({ "do": "huge-answer", "bytes": 8_000_000, "in": ["create"] }), json!({}), "copied-bytes", "copied-bytes limit"),
            ("talks-much", act("huge-answer"), json!({}), "", "limit"),
            ("leaks", act("leak"), json!({}), "handles", "handles limit"),
            ("sleeps", act("sleep"), json!({ "limits": { "deadline_ms": 700 } }), "deadline", "deadline limit (700 ms)"),
            (
                "hangs",
                json!({ "do": "hang", "url": slow.url(), "in": ["create"] }),
                json!({ "limits": { "deadline_ms": 1_500 }, "egress": to_slow }),
                "deadline",
                "deadline limit (1500 ms)",
            ),
        ];
        for (name, spec, grants, kind, part) in &cases {
            install(lab, name, spec, grants).await?;
            if kind.is_empty() {
                lab.create_machine(name, name).await?;
                lab.machine_reason(name, "DriverBroken", part).await?;
                continue;
            }
            breaks(lab, host, name, kind, part).await.with_context(|| format!("driver {name}"))?;
        }
        ensure!(slow.requests() >= 1, "the slow server was asked");
        lab.event("Machine", "traps", "DriverBroken", "hostile by order").await?;
        runs(lab, "beside").await?;
        let broken = host.metrics().await?.sum("machinist_plugin_calls_total", &["plugin=\"sim\"", "outcome=\"broken\""]);
        ensure!(broken == 0.0, "no call of the other driver broke: {broken}");
        let panics = host.metrics().await?.sum("machinist_pass_panics_total", &[]);
        ensure!(panics == 0.0, "{panics}");
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_driver_that_breaks_again_and_again_is_left_alone_for_a_while() {
    installed(LabOptions::default(), async |lab, _| {
        install(lab, "traps", &json!({ "do": "trap", "in": ["create"] }), &json!({})).await?;
        for number in 0..12 {
            lab.create_machine(&format!("trapped-{number}"), "traps").await?;
        }
        lab.event("ConfigMap", "traps", "PluginQuarantined", "not called until").await?;
        lab.create_machine("later", "traps").await?;
        lab.machine_reason("later", "DriverNotReady", "traps is not ready").await?;
        runs(lab, "beside").await?;
        // Once corrected, they continue when the quarantine is over. The driver's VM is not found any more, so that the
        // Machine can be deleted.
        let corrected =
            json!({ "providerSpec": { "do": "fail", "code": "not-found", "in": ["get-status"] } });
        patch_class(lab, "traps", &corrected).await?;
        e2e::eventually("the Machines go on", async || {
            let machines = lab.machines().list(&Default::default()).await?.items;
            let made = machines.iter().filter(|machine| machine.provider_id().is_some()).count();
            Ok((made == 14).then_some(()))
        })
        .await?;
        lab.plugin_state("traps", "Ready").await
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn a_description_that_breaks_is_no_driver() {
    installed(LabOptions::default(), async |lab, _| {
        for (name, action, part) in [("panics", "trap", "trapped"), ("never-ends", "loop", "cpu-time")] {
            let settings = json!({ "providers": [name], "describe": { "do": action } });
            let grants = json!({ "limits": { "cpu_ms": 300 } });
            lab.put_plugin(&manifests::plugin_granted(name, &HOSTILE, &settings, &grants)?).await?;
            lab.plugin_state(name, "Rejected").await?;
            lab.event("ConfigMap", name, "PluginRejected", part).await?;
        }
        runs(lab, "beside").await.map(drop)
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn answers_that_no_honest_driver_gives_are_named() {
    installed(LabOptions::default(), async |lab, _| {
        let named = |bytes: u64| {
            let name = json!({ "repeat": "n", "times": bytes });
            json!({ "do": "say", "field": "node-name", "text": name, "in": ["create"] })
        };
        let cases = [
            (
                "nameless",
                json!({ "do": "say", "field": "provider-id", "text": "", "in": ["create"] }),
                "DriverBroken",
                "a machine without a provider id",
            ),
            // No Node can have it, and so no label.
            ("endless", named(300), "DriverBroken", "a node name of 300 bytes, at most 253 are taken"),
            ("long", named(100), "WriteFailed", "must be no more than 63 bytes"),
        ];
        for (name, spec, reason, part) in &cases {
            install(lab, name, spec, &json!({})).await?;
            lab.create_machine(name, name).await?;
            lab.machine_reason(name, reason, part).await?;
        }
        runs(lab, "beside").await.map(drop)
    })
    .await;
}

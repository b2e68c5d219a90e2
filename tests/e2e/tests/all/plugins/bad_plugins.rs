//! Bad content in a plugin's ConfigMap: rejected with its reason, and what served before goes on serving.

use std::io::Write as _;

use anyhow::{Context, Result, ensure};
use e2e::{Lab, LabOptions, manifests};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

use crate::scene::{HOSTILE, SIM, delete_plugin, installed, is_running, runs, soon};

const RAW: &str = "plugin.wasm";
const PACKED: &str = "plugin.wasm.zst";

/// The good ConfigMap with other bytes under another key; the digest that it claims goes.
fn with(lab: &Lab, key: &str, bytes: Vec<u8>) -> Result<ConfigMap> {
    let mut map = manifests::plugin("sim", &SIM, &lab.cloud.url())?;
    map.binary_data = Some([(key.to_owned(), ByteString(bytes))].into());
    map.data.get_or_insert_default().remove("sha256");
    Ok(map)
}

/// A component whose parts have other names of the same length.
fn renamed(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> =
        (0..component.len()).filter(|&at| component[at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "{from} is in the component");
    let mut renamed = component.to_vec();
    for place in places {
        renamed[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    renamed
}

/// With a checksum: without one, damage to what was stored as it is unpacks to another component.
fn checked_archive(component: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
    encoder.include_checksum(true)?;
    encoder.write_all(component)?;
    Ok(encoder.finish()?)
}

/// The ConfigMap is rejected, everyone can see why, and a Machine of the driver that served before runs.
async fn is_rejected(lab: &Lab, name: &str, map: &ConfigMap, part: &str) -> Result<()> {
    lab.put_plugin(map).await?;
    e2e::eventually(&format!("{name} is rejected with {part:?}"), async || {
        let status = lab.plugin_status("sim").await?.context("there is a status")?;
        let is_so = status["state"] == "Rejected"
            && status["reason"].as_str().is_some_and(|reason| reason.contains(part));
        Ok(is_so.then_some(()))
    })
    .await
    .with_context(|| format!("{name} was to be rejected with {part:?}"))?;
    let status = lab.plugin_status("sim").await?.context("there is a status")?;
    ensure!(status["serving"] == true && status["held"]["driver"] == "sim", "{status}");
    lab.event("ConfigMap", "sim", "PluginRejected", part).await?;
    lab.event("ConfigMap", "sim", "PluginRejected", "goes on serving").await?;
    let name = name.replace(' ', "-");
    runs(lab, &name).await?;
    lab.delete_machine(&name).await
}

#[tokio::test]
async fn bad_content_never_replaces_a_driver_that_serves() {
    installed(LabOptions::default(), async |lab, host| {
        let packed = checked_archive(&SIM)?;
        let mut damaged = packed.clone();
        let middle = damaged.len() / 2;
        damaged[middle..middle + 64].fill(0xff);
        let mut wrong_digest = manifests::plugin("sim", &SIM, &lab.cloud.url())?;
        wrong_digest.data.get_or_insert_default().insert("sha256".into(), "ab".repeat(32));
        let mut no_grants = with(lab, PACKED, packed.clone())?;
        no_grants.data.get_or_insert_default().insert("grants.yaml".into(), "egress: all".into());
        let contract = "machinist:provider/driver@0.1.0";
        let cases = [
            ("garbage", with(lab, RAW, b"#!/bin/sh\nexit 0\n".to_vec())?, "it is not WebAssembly"),
            (
                "core module",
                with(lab, RAW, b"\0asm\x01\0\0\0".to_vec())?,
                "it is a core module, not a component",
            ),
            ("empty component", with(lab, RAW, b"\0asm\x0d\0\x01\0".to_vec())?, "it exports nothing"),
            (
                "other world",
                with(lab, RAW, renamed(&SIM, "machinist:provider/driver", "machinist:provider/healer"))?,
                "it exports no machinist:provider/driver",
            ),
            (
                "new version",
                with(lab, RAW, renamed(&SIM, contract, "machinist:provider/driver@0.2.0"))?,
                "this host serves 0.1.0",
            ),
            ("truncated", with(lab, RAW, SIM[..SIM.len() / 2].to_vec())?, "it is damaged or truncated"),
            ("damaged archive", with(lab, PACKED, damaged)?, "the zstd data is damaged"),
            ("truncated archive", with(lab, PACKED, packed[..middle].to_vec())?, "the zstd data is damaged"),
            ("wrong digest", wrong_digest, "sha256"),
            ("wrong grants", no_grants, "the grants are wrong"),
            ("nothing", with(lab, "driver.wasm", SIM.clone())?, "binaryData has neither"),
        ];
        for (name, map, part) in &cases {
            is_rejected(lab, name, map, part).await?;
        }
        let rejected =
            host.metrics().await?.sum("machinist_plugin_state", &["plugin=\"sim\"", "state=\"Rejected\""]);
        ensure!(rejected == 1.0, "{rejected}");
        lab.no_machines().await?;
        // And it can be corrected in place.
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        lab.plugin_state("sim", "Ready").await?;
        runs(lab, "mended").await.map(drop)
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn of_two_plugins_for_a_provider_the_first_stays_and_the_second_follows_it_when_it_is_edited() {
    installed(LabOptions::default(), async |lab, host| {
        let mut second = manifests::plugin("second", &SIM, &lab.cloud.url())?;
        second
            .metadata
            .labels
            .get_or_insert_default()
            .insert("machinist.dev/plugin-name".into(), "rival".into());
        lab.put_plugin(&second).await?;
        lab.plugin_state("second", "Rejected").await?;
        let part = "provider sim is served by plugin sim, and the first stays";
        lab.event("ConfigMap", "second", "PluginRejected", part).await?;
        let status = lab.plugin_status("second").await?.context("there is a status")?;
        ensure!(status["serving"] == false && status["plugin"] == "rival", "{status}");
        runs(lab, "by-the-first").await?;
        delete_plugin(lab, "sim").await?;
        // Waiting does not help it; an edit of its grants does.
        let data = second.data.get_or_insert_default();
        let grants = data.get_mut("grants.yaml").context("there are grants")?;
        grants.push_str("providers: [sim]\n");
        lab.put_plugin(&second).await?;
        lab.plugin_state("second", "Ready").await?;
        runs(lab, "by-the-second").await?;
        let calls = host
            .metrics()
            .await?
            .sum("machinist_plugin_calls_total", &["plugin=\"rival\"", "outcome=\"ok\""]);
        ensure!(calls >= 1.0, "{calls}");
        Ok(())
    })
    .await;
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn a_bad_plugin_that_never_served_is_no_driver_and_disturbs_nobody() {
    installed(LabOptions::default(), async |lab, _| {
        let bad = manifests::plugin_with("bad", RAW, HOSTILE[..HOSTILE.len() / 3].to_vec());
        lab.put_plugin(&bad).await?;
        lab.plugin_state("bad", "Rejected").await?;
        let status = lab.plugin_status("bad").await?.context("there is a status")?;
        ensure!(status["serving"] == false && status["held"].is_null(), "{status}");
        // A driver that makes machines and never finds them, so that they can go.
        let spec = json!({ "do": "fail", "code": "not-found", "in": ["get-status"] });
        lab.put_class(&manifests::class_of("other", "sim", "hostile", &spec)).await?;
        lab.create_machine("waits", "other").await?;
        lab.machine_reason("waits", "DriverNotReady", "no plugin serves provider \"hostile\"").await?;
        lab.create_machine("runs", "small").await?;
        is_running(lab, "runs").await?;
        lab.put_plugin(&manifests::plugin_with("bad", RAW, HOSTILE.clone())).await?;
        lab.plugin_state("bad", "Ready").await?;
        soon("the Machine goes on at once", async || {
            Ok(lab.machines().get("waits").await?.provider_id().map(drop))
        })
        .await
    })
    .await;
}

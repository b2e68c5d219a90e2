//! Parts that are missing, doubled or mixed: rejected by name, and the version before serves on.

use anyhow::{Context, Result, ensure};
use bytes_of::{cut, part_of};
use e2e::{Lab, LabOptions, manifests};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, PostParams};

use crate::plugins::push::{maps, parts};
use crate::scene::{SIM, installed, runs};

/// Objects as an operator writes them by hand.
mod bytes_of {
    use e2e::manifests;
    use k8s_openapi::api::core::v1::ConfigMap;
    use serde_json::json;
    use sha2::{Digest, Sha256};

    fn sha256(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// A part with this place and content.
    pub(super) fn part_of(name: &str, place: &str, bytes: &[u8]) -> ConfigMap {
        let mut part = manifests::plugin_with(name, "plugin.wasm.part", bytes.to_vec());
        part.metadata.labels.get_or_insert_default().insert("machinist.dev/plugin".into(), "part".into());
        part.data.get_or_insert_default().insert("part".into(), place.into());
        part
    }

    /// The component as index and three parts.
    pub(super) fn cut(
        component: &[u8],
        prefix: &str,
        endpoint: &str,
    ) -> anyhow::Result<(ConfigMap, Vec<ConfigMap>)> {
        let packed = zstd::encode_all(component, 3)?;
        let size = packed.len().div_ceil(3);
        let pieces: Vec<&[u8]> = packed.chunks(size).collect();
        let named = |number: usize| format!("{prefix}-{number}");
        let refs: Vec<_> = (1..)
            .zip(&pieces)
            .map(|(number, piece)| json!({ "configMap": named(number), "sha256": sha256(piece) }))
            .collect();
        let mut index = manifests::plugin("sim", component, endpoint)?;
        index.binary_data = None;
        let data = index.data.get_or_insert_default();
        data.insert("parts.json".into(), json!({ "encoding": "zstd", "parts": refs }).to_string());
        let parts =
            (1..).zip(&pieces).map(|(number, piece)| part_of(&named(number), &format!("{number}/3"), piece));
        Ok((index, parts.collect()))
    }
}

/// The status has this state and its reason contains `part`; what served before serves.
async fn status(lab: &Lab, state: &str, part: &str) -> Result<()> {
    e2e::eventually(&format!("{state} with {part:?}"), async || {
        let status = lab.plugin_status("sim").await?.context("there is a status")?;
        let says = status["reason"].as_str().is_some_and(|reason| reason.contains(part));
        Ok((status["state"] == state && says && status["serving"] == true).then_some(()))
    })
    .await
    .with_context(|| format!("{state} with {part:?}"))
}

async fn put(lab: &Lab, part: &ConfigMap) -> Result<()> {
    let name = part.metadata.name.as_deref().context("a name")?;
    if maps(lab).get_opt(name).await?.is_some() {
        maps(lab).delete(name, &DeleteParams::default()).await?;
    }
    maps(lab).create(&PostParams::default(), part).await?;
    Ok(())
}

#[tokio::test]
#[ignore = "nightly: tests of the plugin host show it on each change"]
async fn broken_parts_are_rejected_by_name_while_the_old_version_makes_machines() {
    installed(LabOptions::default(), async |lab, _| {
        let (index, pieces) = cut(&SIM, "sim-a", &lab.cloud.url())?;
        let [first, second, third] = &pieces[..] else { anyhow::bail!("three parts") };
        put(lab, first).await?;
        put(lab, third).await?;
        lab.put_plugin(&index).await?;
        status(lab, "Declared", "waits for part 2 of 3, ConfigMap sim-a-2").await?;
        runs(lab, "while-it-waits").await?;

        // Doubled: a second first part.
        let bytes =
            |part: &ConfigMap| part.binary_data.as_ref().expect("bytes")["plugin.wasm.part"].0.clone();
        put(lab, &part_of("sim-a-2", "1/3", &bytes(second))).await?;
        status(lab, "Rejected", "part 2 of 3, ConfigMap sim-a-2, says that it is part 1/3").await?;
        lab.event("ConfigMap", "sim", "PluginRejected", "goes on serving").await?;
        // Mixed: the second part of something else.
        put(lab, &part_of("sim-a-2", "2/3", &bytes(first))).await?;
        status(lab, "Rejected", "part 2 of 3, ConfigMap sim-a-2, has digest sha256:").await?;
        runs(lab, "while-it-is-rejected").await?;

        put(lab, second).await?;
        lab.plugin_state("sim", "Ready").await?;
        runs(lab, "by-parts").await?;

        // A loaded plugin needs its parts no more.
        maps(lab).delete("sim-a-3", &DeleteParams::default()).await?;
        e2e::eventually("the part is missed aloud", async || {
            let status = lab.plugin_status("sim").await?.context("there is a status")?;
            let warning = status["warnings"].to_string().contains("part 3 of 3, ConfigMap sim-a-3");
            Ok((warning && status["state"] == "Ready").then_some(()))
        })
        .await?;
        runs(lab, "without-a-part").await?;
        ensure!(parts(lab).await? == ["sim-a-1", "sim-a-2"]);
        lab.put_plugin(&manifests::plugin("sim", &SIM, &lab.cloud.url())?).await?;
        runs(lab, "by-one-again").await.map(drop)
    })
    .await;
}

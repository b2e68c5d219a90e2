//! ConfigMaps of plugins: whoever may write them in the plugin namespace writes all of them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use machinist_plugin_host::component::Contract;
use machinist_plugin_host::parts::Part;
use machinist_plugin_host::status::PluginStatus;
use machinist_plugin_host::testing::Resolved;
use machinist_plugin_host::testing::VersionDecision;
use machinist_plugin_host::testing::fuzz::{is_visible, reason};
use machinist_plugin_host::{Content, RawConfigMap, component};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mutate::Grammar;
use crate::samples;
use crate::target::{Shape, Target, Verdict, promise};

pub(crate) const TARGET: Target = Target {
    name: "configmap",
    about: "a ConfigMap in the plugin namespace: what is wrong with it is told in bounded, visible words",
    grammar: Grammar::Json,
    samples,
    words: &[
        "machinist.dev/plugin", "machinist.dev/plugin-name", "machinist.dev/plugin-version",
        "machinist.dev/rollout", "machinist.dev/resolve", "machinist.dev/status", "driver", "health-policy",
        "part", "plugin.wasm", "plugin.wasm.gz", "plugin.wasm.zst", "plugin.wasm.part", "parts.json", "oci",
        "oci-pull-secret", "signature", "sha256", "settings.json", "grants.yaml", "grants.json",
        "rollout.yaml", "policy.yaml", "policy.json", "1.4.0",
    ],
    share: 60,
    check,
};

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawObject {
    metadata: Meta,
    data: BTreeMap<String, String>,
    #[serde(rename = "binaryData")]
    binary_data: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Meta {
    name: String,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
}

fn samples() -> Vec<Vec<u8>> {
    let files = ["aws/10-plugin", "sim/10-plugin", "policy/10-zone", "policy/20-ladder"];
    let shipped = files.iter().flat_map(|file| samples::documents(&format!("deploy/samples/{file}.yaml")));
    let mut all: Vec<Value> = shipped.filter(|object| object["kind"] == "ConfigMap").collect();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut map = all.first().cloned().unwrap_or_default();
        change(&mut map);
        map
    };
    let digest = "0".repeat(64);
    let more = [
        with(&|map| {
            map["binaryData"] = json!({ "plugin.wasm": STANDARD.encode(super::component::COMPONENT) });
        }),
        with(&|map| {
            let parts = json!({ "encoding": "zstd", "parts": [{ "configMap": "aws-1", "sha256": digest }] });
            map["data"]["parts.json"] = parts.to_string().into();
            map["data"]["sha256"] = digest.clone().into();
        }),
        with(&|map| {
            map["data"]["oci"] = "registry.example/acme/aws:1.2.3".into();
            map["data"]["rollout.yaml"] = "mode: canary\nshare: 10%\n".into();
            let status = json!({ "resolved": { "reference": "registry.example/acme/aws:1.2.3", "asked": "",
                "manifest": format!("sha256:{digest}") } });
            map["metadata"]["annotations"] = json!({ "machinist.dev/status": status.to_string() });
        }),
        json!({ "metadata": { "name": "aws-1", "labels": { "machinist.dev/plugin": "part" } },
            "data": { "part": "1/2" }, "binaryData": { "plugin.wasm.part": "AAAA" } }),
    ];
    all.extend(more);
    all.iter().map(|map| map.to_string().into_bytes()).collect()
}

fn check(input: &[u8]) -> Verdict {
    let Ok(raw) = serde_json::from_slice::<RawObject>(input) else { return Ok(Shape::of("no object")) };
    let decoded = raw
        .binary_data
        .into_iter()
        .filter_map(|(key, text)| Some((key, Bytes::from(STANDARD.decode(text).ok()?))));
    let map = RawConfigMap {
        namespace: "plugins".to_owned(),
        name: raw.metadata.name,
        labels: raw.metadata.labels,
        annotations: raw.metadata.annotations,
        data: raw.data,
        binary_data: decoded.collect(),
        ..RawConfigMap::default()
    };
    promise(map.fingerprint() == map.clone().fingerprint(), || {
        "a fingerprint is not of its content".to_owned()
    })?;
    let _said = (VersionDecision::of(&map.annotations), Part::read(&map).is_ok());
    let statuses = map.annotations.values().filter_map(|text| PluginStatus::parse(text).ok());
    let _resolved = statuses.filter_map(|status| Resolved::of_status(status.resolved?)).count();
    let declared = match map.declared() {
        Ok(declared) => declared,
        Err(error) => return error_is_readable(&error),
    };
    promise(!declared.plugin.is_empty(), || "a plugin has no name".to_owned())?;
    let settings =
        serde_json::from_str::<Value>(&declared.settings).is_ok_and(|settings| settings.is_object());
    promise(settings, || "settings are no object".to_owned())?;
    let shape = Shape::of(&format!("{:?} {:?}", declared.kind, declared.warnings.len()));
    let Content::Whole(packed) = &declared.component else { return Ok(shape) };
    match packed.unpack() {
        Err(error) => error_is_readable(&error),
        Ok(bytes) => match component::inspect(&bytes, Contract::of(&bytes)) {
            Ok(inspection) => Ok(shape.and(Shape::of(&format!("{inspection:?}")))),
            Err(error) => error_is_readable(&error),
        },
    }
}

/// Checks that reports of it are bounded and visible.
pub(crate) fn error_is_readable(error: &(dyn std::error::Error + 'static)) -> Verdict {
    let message = reason(error);
    promise(message.len() <= 4096 && is_visible(&message), || {
        format!("a reason commands or floods: {message:?}")
    })?;
    Ok(Shape::of(&message))
}

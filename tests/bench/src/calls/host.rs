//! A plugin host with two drivers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use e2e::manifests;
use machinist_core::driver::{ClassSpec, MachineIdentity, MachineRequest, SecretValues};
use machinist_core::id::{Name, ProviderId, Uid};
use machinist_plugin_host::source::configmap::{KIND_LABEL, RawConfigMap};
use machinist_plugin_host::{CacheKey, HostSettings, PluginHost, PluginState};

/// With the settings that the program has.
pub(crate) fn start(folder: &Path) -> Result<PluginHost> {
    let compile = [OsString::from("compile-component")];
    let settings = HostSettings::new(folder, CacheKey::Bytes([1; 32]), e2e::binary()?, compile);
    PluginHost::start(settings).context("failed to start the plugin host")
}

/// The driver without network.
pub(crate) fn plain(component: Vec<u8>) -> RawConfigMap {
    RawConfigMap {
        namespace: "bench".to_owned(),
        name: "plain".to_owned(),
        labels: BTreeMap::from([(KIND_LABEL.to_owned(), "driver".to_owned())]),
        binary_data: BTreeMap::from([("plugin.wasm".to_owned(), Bytes::from(component))]),
        ..RawConfigMap::default()
    }
}

/// The driver of the simulated cloud, as a user declares it.
pub(crate) fn sim(component: &[u8], endpoint: &str) -> Result<RawConfigMap> {
    let map = manifests::plugin("sim", component, endpoint)?;
    let binary = map.binary_data.unwrap_or_default();
    Ok(RawConfigMap {
        namespace: map.metadata.namespace.unwrap_or_default(),
        name: map.metadata.name.unwrap_or_default(),
        labels: map.metadata.labels.unwrap_or_default(),
        data: map.data.unwrap_or_default(),
        binary_data: binary.into_iter().map(|(key, value)| (key, Bytes::from(value.0))).collect(),
        ..RawConfigMap::default()
    })
}

/// Waits until it serves.
pub(crate) async fn load(host: &PluginHost, map: RawConfigMap) -> Result<()> {
    let source = map.source();
    host.declare(map).await;
    loop {
        let report = host.plugins().into_iter().find(|report| report.source == source);
        match report.context("a declared plugin is known")? {
            report if report.state == PluginState::Ready => return Ok(()),
            report if report.state == PluginState::Rejected => {
                bail!("{} is rejected: {:?}", report.plugin, report.reason)
            }
            _ => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// A request about one machine, with what a Machine usually has.
pub(crate) fn request(provider: &str, provider_id: &str) -> MachineRequest {
    let text =
        |pairs: &[(&str, &str)]| pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    MachineRequest {
        machine: MachineIdentity {
            namespace: "shoot".into(),
            name: Name::new("machine-1"),
            uid: Uid::new("uid-1"),
            labels: text(&[
                ("pool", "workers"),
                ("node", "machine-1"),
                ("machine-template-hash", "5d8f7c9b6"),
            ]),
            annotations: text(&[("machinepriority.machine.sapcloud.io", "3")]),
            provider_id: Some(ProviderId::new(provider_id)),
            node_template: Some(r#"{"metadata":{"labels":{"pool":"workers"}}}"#.to_owned()),
            last_known_state: None,
        },
        class: ClassSpec {
            name: "small".into(),
            provider: provider.into(),
            spec: r#"{"zone":"sim-1a","type":"sim.small","image":"linux-1"}"#.to_owned(),
            node_template: None,
            zones: Vec::new(),
            driver_digest: None,
        },
        idempotency_key: "key-1".to_owned(),
        cluster: "cluster-1".to_owned(),
        secrets: SecretValues {
            values: BTreeMap::from([("token".to_owned(), b"a-token-as-clouds-have-them".to_vec())]),
            user_data: None,
        },
    }
}

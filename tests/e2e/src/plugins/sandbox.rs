//! A plugin host in this process, for what needs no API server.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::pin::pin;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use machinist_core::driver::{ClassSpec, MachineIdentity, MachineRequest, SecretValues};
use machinist_core::value::id::{Name, Uid};
use machinist_plugin_host::{CacheKey, HostSettings, PluginHost, PluginReport, PluginState, RawConfigMap};

use crate::host::binary;

/// The key of a Secret under which user data lies.
const USER_DATA: &str = "userData";

/// The settings that the program has, with compiled code in this folder.
pub fn settings(folder: &Path) -> Result<HostSettings> {
    let compile = [OsString::from("compile-component")];
    Ok(HostSettings::new(folder, CacheKey::Bytes([1; 32]), binary()?, compile))
}

/// A ConfigMap as the plugin host gets it.
pub fn raw(map: ConfigMap) -> RawConfigMap {
    let binary = map.binary_data.unwrap_or_default();
    RawConfigMap {
        namespace: map.metadata.namespace.unwrap_or_default(),
        name: map.metadata.name.unwrap_or_default(),
        labels: map.metadata.labels.unwrap_or_default(),
        data: map.data.unwrap_or_default(),
        binary_data: binary.into_iter().map(|(key, value)| (key, Bytes::from(value.0))).collect(),
        ..RawConfigMap::default()
    }
}

/// Declares a plugin and waits until it serves.
pub async fn load(host: &PluginHost, map: RawConfigMap) -> Result<PluginReport> {
    let source = map.source();
    let mut changes = pin!(host.changes());
    host.declare(map).await;
    loop {
        let report = host.plugins().into_iter().find(|report| report.source == source);
        let report = report.context("a declared plugin is known")?;
        match report.state {
            PluginState::Ready | PluginState::Trial => return Ok(report),
            PluginState::Rejected | PluginState::Withdrawn | PluginState::Quarantined { .. } => {
                bail!("{} is {}: {:?}", report.plugin, report.state.name(), report.reason)
            }
            PluginState::Declared | PluginState::Fetched | PluginState::Verified => {}
        }
        changes.next().await.context("the plugin host has ended")?;
    }
}

/// The same component with another digest: a custom section changes nothing else.
/// Panics if the mark is longer than a hundred bytes.
pub fn marked(component: &[u8], mark: &str) -> Vec<u8> {
    const NAME: &[u8] = b"mark";
    assert!(mark.len() < 100, "the length is one byte of LEB128");
    let length = 1 + NAME.len() + mark.len();
    let section = [&[0, length as u8, NAME.len() as u8][..], NAME, mark.as_bytes()].concat();
    [component, &section].concat()
}

/// A class as a driver sees it.
pub fn class(class: &MachineClass) -> ClassSpec {
    ClassSpec {
        name: class.metadata.name.clone().unwrap_or_default().as_str().into(),
        provider: class.provider.clone().unwrap_or_default().as_str().into(),
        spec: class.provider_spec.as_ref().map(ToString::to_string).unwrap_or_default(),
        node_template: None,
        zones: Vec::new(),
        driver_digest: None,
    }
}

/// A Secret's values, with user data as it is.
pub fn secrets(secret: &Secret) -> SecretValues {
    let data = secret.data.clone().unwrap_or_default().into_iter().map(|(key, value)| (key, value.0));
    let mut values: BTreeMap<String, Vec<u8>> = data.collect();
    let user_data = values.remove(USER_DATA);
    SecretValues { values, user_data, ..SecretValues::default() }
}

/// A request about a machine that nothing is known about.
pub fn request(name: &str, of: &MachineClass, secret: &Secret, cluster: &str) -> MachineRequest {
    let uid = format!("uid-of-{name}");
    MachineRequest {
        machine: MachineIdentity {
            namespace: "shoot".into(),
            name: Name::new(name),
            uid: Uid::new(&uid),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            provider_id: None,
            node_template: None,
            last_known_state: None,
        },
        class: class(of),
        idempotency_key: uid,
        cluster: cluster.to_owned(),
        secrets: secrets(secret),
    }
}

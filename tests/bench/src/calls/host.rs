//! A plugin host with two drivers.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use e2e::manifests;
use e2e::plugins::sandbox;
use machinist_core::driver::{ClassSpec, MachineIdentity, MachineRequest, SecretValues};
use machinist_core::value::id::{Name, ProviderId, Uid};
use machinist_plugin_host::{PluginHost, RawConfigMap};

/// With the settings that the program has.
pub(crate) fn start(folder: &Path) -> Result<PluginHost> {
    PluginHost::start(sandbox::settings(folder)?).context("failed to start the plugin host")
}

/// The driver without network.
pub(crate) fn plain(component: Vec<u8>) -> RawConfigMap {
    sandbox::raw(manifests::plugin_with("plain", "plugin.wasm", component))
}

/// The driver of the simulated cloud, as a user declares it.
pub(crate) fn sim(component: &[u8], endpoint: &str) -> Result<RawConfigMap> {
    Ok(sandbox::raw(manifests::plugin("sim", component, endpoint)?))
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
            ..SecretValues::default()
        },
    }
}

/// With user data of 16 KiB that the driver must not see.
pub(crate) fn hiding_user_data(mut request: MachineRequest) -> MachineRequest {
    let line =
        |number: usize| format!("write_files: {{ path: /etc/file-{number}, content: number {number} }}\n");
    let text: String = (0..250).map(line).collect();
    request.secrets.hidden.rendered = Some(text.into_bytes());
    request
}

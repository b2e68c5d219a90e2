//! The objects that a user writes.
//!
//! | module | content |
//! | --- | --- |
//! | `aws` | manifests of a user of AWS |
//! | `azure` | manifests of a user of Azure |
//! | `gcp` | manifests of a user of Google Compute Engine |
//! | `hcloud` | manifests of a user of Hetzner Cloud |
//! | `lxd` | manifests of a user of LXD |
//! | `openstack` | manifests of a user of OpenStack |
//! | `parts` | plugins that are larger than a ConfigMap |
//! | `deployments` | MachineDeployments of the labs of tests |
//! | `workloads` | pods and their controllers, budgets and volumes |

pub mod aws;
pub mod azure;
pub mod deployments;
pub mod gcp;
pub mod hcloud;
pub mod lxd;
pub mod openstack;
pub mod parts;
pub mod workloads;

use anyhow::{Context, Result};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::ObjectMeta;
use machinist_api::{Machine, MachineClass};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub const NAMESPACE: &str = "machinist-system";

/// The user data of a VM, as a user's Secret has it.
pub const USER_DATA: &str = "#cloud-config
write_files:
  - path: /var/lib/kubelet/bootstrap-token
    content: <<BOOTSTRAP_TOKEN>>
  - path: /etc/hostname
    content: <<MACHINE_NAME>>
";

/// The ConfigMap of a driver for the simulated cloud at `endpoint`: compressed, with digest, settings and grants.
pub fn plugin(name: &str, component: &[u8], endpoint: &str) -> Result<ConfigMap> {
    packed(name, component, &json!({ "endpoint": endpoint }), &grants(endpoint))
}

/// The same driver for a cloud that keeps no idempotency keys and whose reads lag for at most this long.
pub fn plugin_without_keys(
    name: &str,
    component: &[u8],
    endpoint: &str,
    window: std::time::Duration,
) -> Result<ConfigMap> {
    let window = u64::try_from(window.as_millis()).unwrap_or(u64::MAX);
    let settings = json!({ "endpoint": endpoint, "idempotencyKeys": false, "consistencyWindowMs": window });
    packed(name, component, &settings, &grants(endpoint))
}

fn packed(name: &str, component: &[u8], settings: &Value, grants: &str) -> Result<ConfigMap> {
    let packed = zstd::encode_all(component, 19).context("failed to compress the driver")?;
    let digest = Sha256::digest(component).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut map = plugin_with(name, "plugin.wasm.zst", packed);
    map.data = Some(
        [("sha256", digest), ("settings.json", settings.to_string()), ("grants.yaml", grants.to_owned())]
            .map(|(key, value)| (key.to_owned(), value))
            .into(),
    );
    Ok(map)
}

/// The ConfigMap of a driver with other settings and grants than those of the simulated cloud's.
pub fn plugin_granted(name: &str, component: &[u8], settings: &Value, grants: &Value) -> Result<ConfigMap> {
    let packed = zstd::encode_all(component, 3).context("failed to compress the driver")?;
    let mut map = plugin_with(name, "plugin.wasm.zst", packed);
    map.data = Some(
        [("settings.json", settings), ("grants.json", grants)]
            .map(|(key, value)| (key.to_owned(), value.to_string()))
            .into(),
    );
    Ok(map)
}

/// A ConfigMap that claims to be a driver, with these bytes under this key.
pub fn plugin_with(name: &str, key: &str, bytes: Vec<u8>) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            labels: Some([("machinist.dev/plugin".to_owned(), "driver".to_owned())].into()),
            ..ObjectMeta::default()
        },
        binary_data: Some([(key.to_owned(), ByteString(bytes))].into()),
        ..ConfigMap::default()
    }
}

/// The grants of the driver: reach the cloud, which is on loopback here, and use two secrets in two places.
pub fn grants(endpoint: &str) -> String {
    let authority = endpoint.trim_start_matches("http://");
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    format!(
        "egress:
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
secrets:
  - key: token
    places:
      - header: authorization
        prefix: \"Bearer \"
  - key: userData
    places:
      - json: /userData
"
    )
}

/// Credentials and user data.
pub fn secret(name: &str, token: &str) -> Secret {
    secret_with(name, &[("token", token), ("userData", USER_DATA)])
}

/// A Secret with these values.
pub fn secret_with(name: &str, values: &[(&str, &str)]) -> Secret {
    let value = |(key, value): &(&str, &str)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()));
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(values.iter().map(value).collect()),
        ..Secret::default()
    }
}

/// A class of the simulated cloud's machines whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str) -> MachineClass {
    serde_json::from_value(json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "MachineClass",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "provider": "sim",
        "secretRef": { "name": secret, "namespace": NAMESPACE },
        "providerSpec": { "zone": "sim-1a", "type": "sim.small", "image": "linux-1" },
    }))
    .expect("the class is right")
}

/// A class of another provider, whose Secret has the name `secret`.
pub fn class_of(name: &str, secret: &str, provider: &str, spec: &Value) -> MachineClass {
    let mut class = class(name, secret);
    class.provider = Some(provider.to_owned());
    class.provider_spec = Some(spec.clone());
    class
}

/// A Machine of a class.
pub fn machine(name: &str, class: &str) -> Machine {
    serde_json::from_value(json!({
        "apiVersion": "machine.sapcloud.io/v1alpha1",
        "kind": "Machine",
        "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": {
            "class": { "kind": "MachineClass", "name": class },
            "nodeTemplate": { "metadata": { "labels": { "pool": "workers" } } },
        },
    }))
    .expect("the Machine is right")
}

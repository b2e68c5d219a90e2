//! Manifests of a user of Hetzner Cloud.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use serde_json::json;

use super::{USER_DATA, class_of, packed, secret_with};

/// The fingerprint of the SSH key that the project has.
const KEY: &str = "b0:62:0f:6f:0c:ab:79:0f:b7:5b:00:c0:ad:d6:4c:3d";

/// The driver's ConfigMap, with the API at `endpoint`, which is on loopback.
pub fn plugin(name: &str, component: &[u8], endpoint: &str) -> Result<ConfigMap> {
    let authority = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').context("an endpoint of a test has a port")?;
    let grants = format!(
        "providers: [hcloud]
egress:
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [GET]
    paths:
      - {{ exact: /v1/actions }}
      - {{ exact: /v1/firewalls }}
      - {{ exact: /v1/images }}
      - {{ exact: /v1/networks }}
      - {{ exact: /v1/server_types }}
      - {{ exact: /v1/ssh_keys }}
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [GET, POST, DELETE]
    paths: [/v1/servers, /v1/floating_ips]
auth:
  - scheme: bearer
    hosts: [{host}]
    keys: {{ token: [token] }}
secrets:
  - key: userData
    places: [{{ json: /user_data }}]
    hosts: [{host}]
"
    );
    packed(name, component, &json!({ "endpoint": format!("http://{authority}/v1") }), &grants)
}

/// A token and user data.
pub fn secret(name: &str, token: &str) -> Secret {
    secret_with(name, &[("token", token), ("userData", USER_DATA)])
}

/// A class of small servers whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str) -> MachineClass {
    let spec = json!({
        "cluster": "lab",
        "zone": "hel1",
        "serverType": "cx23",
        "imageName": "ubuntu-24.04",
        "sshFingerprint": KEY,
    });
    class_of(name, secret, "hcloud", &spec)
}

//! Manifests of a user of LXD.

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use serde_json::json;

use super::{USER_DATA, class_of, packed, secret_with};

/// The driver's ConfigMap, with LXD at `endpoint`: a proxy on loopback that holds the client certificate.
pub fn plugin(name: &str, component: &[u8], endpoint: &str) -> Result<ConfigMap> {
    let authority = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').context("an endpoint of a test has a port")?;
    let grants = format!(
        "providers: [lxd]
egress:
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [GET, POST, PUT, DELETE]
    paths: [/1.0/instances]
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [GET]
    paths: [/1.0/operations/, /1.0/profiles/, {{ exact: /1.0/resources }}]
secrets:
  - key: userData
    places: [{{ json: /config/cloud-init.user-data }}, {{ json: /config/user.user-data }}]
    hosts: [{host}]
"
    );
    packed(name, component, &json!({ "endpoint": format!("http://{authority}") }), &grants)
}

/// User data. The certificate is the proxy's.
pub fn secret(name: &str) -> Secret {
    secret_with(name, &[("userData", USER_DATA)])
}

/// A class of small containers of an image, whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str, image: &str) -> MachineClass {
    let spec = json!({
        "image": { "alias": image },
        "config": { "limits.cpu": "1", "limits.memory": "512MiB" },
    });
    class_of(name, secret, "lxd", &spec)
}

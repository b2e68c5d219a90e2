//! Manifests of a user of Google Compute Engine.

use anyhow::{Context, Result};
use gcp::identity::TOKEN_URL;
use gcp::test_key::TestAccount;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use serde_json::json;

use super::{USER_DATA, class_of, packed, secret_with};

/// The driver's ConfigMap, with Compute Engine and the token service at `endpoint`, which is on loopback.
pub fn plugin(name: &str, component: &[u8], endpoint: &str, project: &str) -> Result<ConfigMap> {
    let authority = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').context("an endpoint of a test has a port")?;
    let grants = format!(
        "providers: [GCP]
egress:
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [GET, POST, DELETE]
    paths: [/compute/v1/projects/{project}/]
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [POST]
    paths: [{{ exact: /token }}]
auth:
  - scheme: jwt-bearer
    hosts: [{host}]
    token-url: http://{authority}/token
    audience: {TOKEN_URL}
    scopes: [https://www.googleapis.com/auth/compute]
    keys: {{ service-account: [serviceAccountJSON] }}
secrets:
  - key: userData
    places: [{{ json: /metadata/items/0/value }}]
    hosts: [{host}]
"
    );
    let settings = json!({ "endpoint": format!("http://{authority}"), "project": project });
    packed(name, component, &settings, &grants)
}

/// The file of a service account, and user data.
pub fn secret(name: &str, account: &TestAccount) -> Secret {
    let file = account.json();
    secret_with(name, &[("serviceAccountJSON", file.as_str()), ("userData", USER_DATA)])
}

/// A class of small instances whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str) -> MachineClass {
    let spec = json!({
        "region": "europe-west1",
        "zone": "europe-west1-b",
        "machineType": "n1-standard-2",
        "disks": [{
            "boot": true,
            "type": "pd-balanced",
            "sizeGb": 20,
            "image": "projects/debian-cloud/global/images/family/debian-12",
        }],
        "networkInterfaces": [{ "subnetwork": "nodes", "disableExternalIP": true }],
        "scheduling": { "onHostMaintenance": "MIGRATE", "automaticRestart": true },
        "tags": ["kubernetes-io-cluster-lab", "kubernetes-io-role-node"],
    });
    class_of(name, secret, "GCP", &spec)
}

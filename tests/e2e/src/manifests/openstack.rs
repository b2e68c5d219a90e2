//! Manifests of a user of OpenStack.

use ::openstack::Facts;
use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use serde_json::json;

use super::{USER_DATA, class_of, packed, secret_with};

/// The driver's ConfigMap, with all services at `endpoint`, which is on loopback.
pub fn plugin(name: &str, component: &[u8], endpoint: &str) -> Result<ConfigMap> {
    let authority = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').context("an endpoint of a test has a port")?;
    let rule = |methods: &str, paths: &str| {
        format!(
            "  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [{methods}]
    paths: [{paths}]
"
        )
    };
    let reads = "{ exact: /identity/v3/auth/catalog }, /compute/v2.1/flavors, /network/v2.0/networks, \
                 /network/v2.0/security-groups, /image/v2/images";
    let rules = [
        rule("POST", "{ exact: /identity/v3/auth/tokens }"),
        rule("GET", reads),
        rule("GET, POST, DELETE", "/compute/v2.1/servers"),
        rule("GET, POST, PUT, DELETE", "/network/v2.0/ports"),
        rule("GET, POST, DELETE", "/volume/v3/"),
    ];
    let grants = format!(
        "providers: [OpenStack]
egress:
{rules}auth:
  - scheme: keystone
secrets:
  - key: userData
    places: [{{ json: /server/user_data }}]
    hosts: [{host}]
reveal: [authURL]
limits: {{ memory_mib: 128 }}
",
        rules = rules.concat()
    );
    packed(name, component, &json!({ "authURL": auth_url(endpoint) }), &grants)
}

fn auth_url(endpoint: &str) -> String {
    format!("{}/identity/v3", endpoint.trim_end_matches('/'))
}

/// An application credential and user data. The credential's own values alone: the host masks each value of a Secret in
/// answers, the name of a project too.
pub fn secret(name: &str, endpoint: &str, facts: &Facts) -> Secret {
    let url = auth_url(endpoint);
    let values = [
        ("authURL", url.as_str()),
        ("applicationCredentialID", facts.application_credential_id.as_str()),
        ("applicationCredentialSecret", facts.application_credential_secret.as_str()),
        ("userData", USER_DATA),
    ];
    secret_with(name, &values)
}

/// A class of small servers with a port of their own, whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str, facts: &Facts) -> MachineClass {
    let spec = json!({
        "apiVersion": "openstack.machine.gardener.cloud/v1alpha1",
        "kind": "MachineProviderConfig",
        "spec": {
            "region": facts.region,
            "availabilityZone": "nova",
            "flavorName": "m1.small",
            "keyName": "nodes",
            "imageID": facts.image_id,
            "networkID": facts.nodes_network_id,
            "subnetIDs": [facts.nodes_subnet_id],
            "podNetworkCIDRs": ["100.64.0.0/11"],
            "securityGroups": ["nodes"],
            "tags": { "kubernetes.io-cluster-lab": "1", "kubernetes.io-role-node": "1" },
        },
    });
    class_of(name, secret, "OpenStack", &spec)
}

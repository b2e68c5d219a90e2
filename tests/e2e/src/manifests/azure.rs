//! Manifests of a user of Azure.

use anyhow::{Context, Result};
use azure_cloud::Options;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use serde_json::json;

use super::{USER_DATA, class_of, packed, secret_with};

/// The driver's ConfigMap, with Azure Resource Manager and the token service of `tenant` at `endpoint`, which is on
/// loopback.
pub fn plugin(name: &str, component: &[u8], endpoint: &str, tenant: &str) -> Result<ConfigMap> {
    let authority = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').context("an endpoint of a test has a port")?;
    let grants = format!(
        "providers: [Azure]
egress:
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [GET, HEAD, PUT, PATCH, DELETE]
    paths: [/subscriptions/]
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
    methods: [POST]
    paths:
      - /subscriptions/
      - {{ exact: /providers/Microsoft.ResourceGraph/resources }}
      - {{ exact: /{tenant}/oauth2/v2.0/token }}
auth:
  - scheme: oauth2-client-credentials
    hosts: [{host}]
    token-url: http://{authority}/{{tenantID}}/oauth2/v2.0/token
    scopes: [https://management.azure.com/.default]
    client-auth: form
    keys: {{ client-id: [clientID], client-secret: [clientSecret] }}
secrets:
  - key: userData
    places: [{{ json: /properties/osProfile/customData }}]
    hosts: [{host}]
reveal: [subscriptionID]
"
    );
    packed(name, component, &json!({ "endpoint": format!("http://{authority}") }), &grants)
}

/// A service principal with its subscription, and user data.
pub fn secret(name: &str, options: &Options) -> Secret {
    let secrets = options.secrets();
    let mut values: Vec<(&str, &str)> =
        secrets.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    values.push(("userData", USER_DATA));
    secret_with(name, &values)
}

/// A class of small VMs whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str, options: &Options) -> MachineClass {
    class_of(name, secret, "Azure", &options.provider_spec())
}

//! Manifests of a user of AWS.

use std::path::Path;

use anyhow::{Context, Result};
use ec2::{Credentials, Ec2};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use machinist_api::MachineClass;
use serde_json::{Value, json};

use super::{USER_DATA, class_of, packed, secret_with};

/// The driver's ConfigMap, with EC2 and STS at `endpoint`.
pub fn plugin(name: &str, component: &[u8], endpoint: &str, grants: &str) -> Result<ConfigMap> {
    packed(name, component, &json!({ "endpoint": endpoint }), grants)
}

/// The grants of the driver: reach EC2, which is on loopback here, have its requests signed with the keys of the
/// Secret, and put the user data where RunInstances has it.
pub fn grants(endpoint: &str) -> Result<String> {
    let authority = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':').context("an endpoint of a test has a port")?;
    Ok(format!(
        "egress:
  - host: {host}
    scheme: http
    ports: [{port}]
    addresses: [loopback]
auth:
  - scheme: aws-sigv4
    services: [ec2]
    hosts: [{host}]
secrets:
  - key: userData
    places:
      - form: UserData
"
    ))
}

/// As [`grants`], with credentials that STS gives for the identity tokens in this folder.
pub fn grants_of_web_identity(endpoint: &str, tokens: &Path) -> Result<String> {
    let web_identity = format!(
        "    web-identity:\n      token-files: [{}/]\n      role-arns: ['arn:aws:iam::123456789012:role/*']\n      \
             sts: {endpoint}/\n",
        tokens.display()
    );
    Ok(grants(endpoint)?.replace("secrets:\n", &format!("{web_identity}secrets:\n")))
}

/// Keys and user data.
pub fn secret(name: &str, credentials: &Credentials) -> Secret {
    let mut data = vec![
        ("providerAccessKeyId", credentials.access_key_id.as_str()),
        ("providerSecretAccessKey", credentials.secret_access_key.as_str()),
        ("userData", USER_DATA),
    ];
    if let Some(token) = &credentials.session_token {
        data.push(("providerSessionToken", token));
    }
    secret_with(name, &data)
}

/// A role to be taken on with the identity token in a file, and user data.
pub fn secret_of_web_identity(name: &str, token_file: &Path, role: &str) -> Secret {
    let file = token_file.to_string_lossy();
    secret_with(name, &[("workloadIdentityTokenFile", &file), ("roleARN", role), ("userData", USER_DATA)])
}

/// A class of small instances whose Secret has the name `secret`.
pub fn class(name: &str, secret: &str, ec2: &Ec2) -> MachineClass {
    class_of(name, secret, "AWS", &spec(ec2))
}

pub fn spec(ec2: &Ec2) -> Value {
    let fixture = ec2.fixture();
    json!({
        "apiVersion": "mcm.gardener.cloud/v1alpha1",
        "ami": fixture.image_id,
        "region": ec2.region(),
        "machineType": fixture.instance_type,
        "iam": { "name": fixture.profile_name },
        "blockDevices": [{ "ebs": { "volumeSize": 20, "volumeType": "gp3", "encrypted": true } }],
        "networkInterfaces": [{
            "subnetID": fixture.subnet_id(),
            "securityGroupIDs": [fixture.security_group_id],
        }],
        "tags": {
            "kubernetes.io/cluster/lab": "1",
            "kubernetes.io/role/node": "1",
            "team": "blue",
        },
    })
}

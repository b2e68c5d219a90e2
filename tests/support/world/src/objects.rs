//! Objects that users create before their Machines.

use memory_api::encode;
use serde_json::{Value, json};

/// The Secret `account` with credentials, and with user data that joins.
pub fn account(namespace: &str) -> Value {
    json!({
        "metadata": { "name": "account", "namespace": namespace },
        "data": {
            "key": encode(b"123"),
            "userData": encode(b"#!/bin/sh\njoin --token=<<BOOTSTRAP_TOKEN>> --name=<<MACHINE_NAME>>\n"),
        },
    })
}

/// A class of the provider `sim` with that Secret.
pub fn class(namespace: &str, name: &str, spec: &Value) -> Value {
    json!({
        "metadata": { "name": name, "namespace": namespace },
        "provider": "sim",
        "providerSpec": spec,
        "secretRef": { "name": "account", "namespace": namespace },
    })
}

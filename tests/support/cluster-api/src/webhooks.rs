//! Webhooks that an API server reaches by an address instead of a Service.

use std::path::Path;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Writes a certificate of 127.0.0.1 and its key where a manager looks for them, and returns the certificate.
pub(crate) fn certificate(folder: &Path) -> Result<String> {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
    let certificate = own.cert.pem();
    for (name, content) in [("tls.crt", &certificate), ("tls.key", &own.signing_key.serialize_pem())] {
        std::fs::write(folder.join(name), content).with_context(|| format!("failed to write {name}"))?;
    }
    Ok(certificate)
}

/// The configuration with the port of loopback in the place of each Service, and a name of its own.
pub(crate) fn at(mut configuration: Value, prefix: &str, port: u16, certificate: &str) -> Value {
    let name = configuration["metadata"]["name"].as_str().unwrap_or_default();
    configuration["metadata"]["name"] = json!(format!("{prefix}-{name}"));
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
        webhook["clientConfig"] = json!({
            "url": format!("https://127.0.0.1:{port}{path}"),
            "caBundle": STANDARD.encode(certificate),
        });
    }
    configuration
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_becomes_an_address_with_the_same_path() {
        let service = json!({ "name": "webhook-service", "namespace": "system", "path": "/validate-a" });
        let configuration = json!({
            "metadata": { "name": "validating" },
            "webhooks": [{ "name": "a", "clientConfig": { "service": service } }],
        });
        let own = at(configuration, "capi-system", 7, "PEM");
        assert_eq!(own["metadata"]["name"], "capi-system-validating");
        assert_eq!(
            own["webhooks"][0]["clientConfig"],
            json!({ "url": "https://127.0.0.1:7/validate-a", "caBundle": "UEVN" })
        );
    }
}

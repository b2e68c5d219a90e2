//! A service account whose key is made for the run: no key is kept in the tree.

use std::process::Command;

use anyhow::{Context, ensure};
use ring::signature::{KeyPair, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

/// A service account with its private key.
#[derive(Clone, Debug)]
pub struct TestAccount {
    pub email: String,
    pub project: String,
    /// PKCS #8, in PEM.
    pub private_key: String,
    /// PKCS #1, in DER.
    pub public_key: Vec<u8>,
}

impl TestAccount {
    /// Makes a key with `openssl`, which must be on the PATH.
    pub fn make(project: &str) -> anyhow::Result<Self> {
        let output = Command::new("openssl")
            .args(["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"])
            .output()
            .context("failed to run openssl: install it (Debian: apt-get install openssl)")?;
        ensure!(output.status.success(), "openssl made no key: {}", String::from_utf8_lossy(&output.stderr));
        let private_key = String::from_utf8(output.stdout).context("openssl wrote no PEM")?;
        let der =
            PrivatePkcs8KeyDer::from_pem_slice(private_key.as_bytes()).context("openssl wrote no PKCS #8")?;
        let pair = RsaKeyPair::from_pkcs8(der.secret_pkcs8_der())
            .map_err(|rejected| anyhow::anyhow!("the key is of no use: {rejected}"))?;
        Ok(Self {
            email: format!("machinist@{project}.iam.gserviceaccount.com"),
            project: project.to_owned(),
            public_key: pair.public_key().as_ref().to_vec(),
            private_key,
        })
    }

    /// Returns the JSON file as Google gives it.
    pub fn json(&self) -> String {
        json!({
            "type": "service_account",
            "project_id": self.project,
            "private_key_id": "key-1",
            "private_key": self.private_key,
            "client_email": self.email,
            "client_id": "1",
            "auth_uri": "https://accounts.google.com/o/oauth2/auth",
            "token_uri": "https://oauth2.googleapis.com/token",
        })
        .to_string()
    }
}

/// Fills the JSON of the service account into a profile of the conformance kit, in place of `SERVICE_ACCOUNT`.
pub fn filled_profile(profile: &str, account: &TestAccount) -> String {
    // A string of JSON is one of YAML.
    profile.replace("SERVICE_ACCOUNT", &serde_json::Value::from(account.json()).to_string())
}

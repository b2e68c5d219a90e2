//! The client certificate of the tests.

use anyhow::Context;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};

/// A certificate that LXD trusts, and LXD's own, all in PEM.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub client_cert: String,
    pub client_key: String,
    pub server_cert: String,
}

/// Makes a self-signed client certificate with its key, in PEM.
pub fn client_certificate(name: &str) -> anyhow::Result<(String, String)> {
    let key = KeyPair::generate().context("failed to make a key")?;
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    params.distinguished_name = subject;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let certificate = params.self_signed(&key).context("failed to make a client certificate")?;
    Ok((certificate.pem(), key.serialize_pem()))
}

//! The certificate authority of one control plane, and what it signs.

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};

/// The object identifier of the organization attribute, for the second group of a client certificate: rcgen keeps one
/// attribute of a kind, but takes a custom kind for another.
const ORGANIZATION: [u64; 4] = [2, 5, 4, 10];

/// A certificate and its private key, both PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// Signs the server's certificate and those of the users.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn generate() -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name("machinist-test-ca", &[])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().context("failed to generate the key of the certificate authority")?;
        let issuer =
            CertifiedIssuer::self_signed(params, key).context("failed to sign the certificate authority")?;
        Ok(Self { issuer })
    }

    /// The certificate that clients trust.
    pub(crate) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// The key that signs, for another signer of the same cluster.
    pub(crate) fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A serving certificate for 127.0.0.1 and the names under which pods know the API server.
    pub(crate) fn server(&self) -> anyhow::Result<Pair> {
        let names = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(str::to_owned))?;
        params.distinguished_name = name("kube-apiserver", &[])?;
        self.sign(params, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client certificate: the common name is the user, the organizations are the groups.
    pub(crate) fn client(&self, user: &str, groups: &[&str]) -> anyhow::Result<Pair> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, groups)?;
        self.sign(params, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, mut params: CertificateParams, usage: ExtendedKeyUsagePurpose) -> anyhow::Result<Pair> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().context("failed to generate a key")?;
        let certificate = params.signed_by(&key, &self.issuer).context("failed to sign a certificate")?;
        Ok(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// The key pair that signs the tokens of service accounts.
pub(crate) fn service_account_keys() -> anyhow::Result<(String, String)> {
    let key = KeyPair::generate().context("failed to generate the key of the service accounts")?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}

fn name(user: &str, groups: &[&str]) -> anyhow::Result<DistinguishedName> {
    let kinds = [DnType::OrganizationName, DnType::CustomDnType(ORGANIZATION.to_vec())];
    anyhow::ensure!(
        groups.len() <= kinds.len(),
        "a client certificate of this control plane holds at most {} groups, and {user} is to have {}",
        kinds.len(),
        groups.len()
    );
    let mut name = DistinguishedName::new();
    for (kind, group) in kinds.into_iter().zip(groups) {
        name.push(kind, *group);
    }
    name.push(DnType::CommonName, user);
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_group_is_refused_by_name() {
        let authority = Authority::generate().unwrap();
        assert!(authority.client("anna", &["a", "b"]).is_ok());
        let error = authority.client("anna", &["a", "b", "c"]).err().unwrap().to_string();
        assert!(error.contains("anna") && error.contains("at most 2 groups"), "{error}");
    }
}

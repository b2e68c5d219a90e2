//! `client-certificate`: the host shows a certificate of the Secret when it connects (mutual TLS).
//!
//! The key stays in the host, and no header carries anything. If the Secret has the server's certificate, the host
//! talks to exactly that server; without it, the usual authorities count.

use http::HeaderName;
use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use serde::Deserialize;

use super::grant::keys::secret_keys;
use super::scheme::AuthScheme;
use super::tls::{SecretTls, TlsKeys};
use super::{AuthReason, Credential, CredentialSource, SchemeError, Unauthenticated};
use crate::auth::credential::SecretReader;
use crate::target::{Error, Regions, Scheme};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawClientCertificate {
    #[serde(default)]
    keys: RawCertificateKeys,
}

secret_keys! {
    CertificateKeys, RawCertificateKeys {
        certificate: "certificate" = ["clientCert"],
        key: "key" = ["clientKey"],
        server_certificate: "server-certificate" = ["serverCert"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCertificateGrant {
    keys: CertificateKeys,
}

impl ClientCertificateGrant {
    fn read(&self, secret: SecretReader<'_>) -> Result<SecretTls, SchemeError> {
        let keys = TlsKeys {
            certificate: &self.keys.certificate,
            key: &self.keys.key,
            authorities: &[],
            pinned: &self.keys.server_certificate,
            insecure: &[],
            may_be_insecure: false,
        };
        let tls = SecretTls::of(secret, keys)?;
        tls.filter(SecretTls::has_client_certificate).ok_or_else(|| AuthReason::Keys.into())
    }
}

impl AuthScheme for ClientCertificateGrant {
    const NAME: &'static str = "client-certificate";
    type Raw = RawClientCertificate;
    type Parameters = ();

    fn parse(raw: RawClientCertificate, _: &Regions, at: &str) -> Result<Self, Error> {
        Ok(Self { keys: CertificateKeys::parse(raw.keys, at)? })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        self.keys.beyond(&ceiling.keys)
    }

    fn summary(&self) -> String {
        "in TLS".to_owned()
    }

    fn headers(&self) -> Vec<HeaderName> {
        Vec::new()
    }

    fn source(
        &self,
        _: &Self::Parameters,
        secret: SecretReader<'_>,
        _: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        let holder = self.read(secret)?.holder();
        Ok(CredentialSource::Secret(Credential::Connection, holder))
    }

    /// A request over plain HTTP would show no certificate.
    fn authenticate(
        _: &Self::Parameters,
        _: &Credential,
        request: Unauthenticated<'_>,
        _: Timestamp,
    ) -> Result<Option<String>, AuthReason> {
        match request.target.scheme() {
            Scheme::Https => Ok(None),
            Scheme::Http => Err(AuthReason::Plain),
        }
    }

    fn tls(&self, secret: SecretReader<'_>) -> Result<Option<SecretTls>, SchemeError> {
        self.read(secret).map(Some)
    }
}

//! `basic`: name and password of the Secret in the header `authorization` (RFC 7617).

use machinist_core::value::id::PluginName;
use serde::Deserialize;

use super::credential::{CredentialHeader, Holder};
use super::grant::keys::secret_keys;
use super::scheme::AuthScheme;
use super::{AuthReason, Credential, CredentialSource, SchemeError};
use crate::auth::credential::SecretReader;
use crate::target::Error;
use crate::target::Regions;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RawBasic {
    #[serde(default)]
    keys: RawBasicKeys,
}

secret_keys! {
    BasicKeys, RawBasicKeys {
        username: "username" = ["username"],
        password: "password" = ["password"],
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BasicGrant {
    keys: BasicKeys,
}

impl AuthScheme for BasicGrant {
    const NAME: &'static str = "basic";
    type Raw = RawBasic;
    type Parameters = ();

    fn parse(raw: RawBasic, _: &Regions, at: &str) -> Result<Self, Error> {
        Ok(Self { keys: BasicKeys::parse(raw.keys, at)? })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        self.keys.beyond(&ceiling.keys)
    }

    fn summary(&self) -> String {
        "in header authorization".to_owned()
    }

    fn source(
        &self,
        _: &Self::Parameters,
        secret: SecretReader<'_>,
        _: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        let name = secret.one(&self.keys.username)?;
        let password = secret.one(&self.keys.password)?;
        let header = CredentialHeader::basic(&name, &password).ok_or(AuthReason::Keys)?;
        let holder = Holder::of(&[name.as_bytes(), password.as_bytes()]);
        Ok(CredentialSource::Secret(Credential::Header(header), holder))
    }
}

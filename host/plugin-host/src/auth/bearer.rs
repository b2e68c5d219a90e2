//! `bearer`: a value of the Secret in a header.

use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use machinist_core::value::id::PluginName;
use serde::Deserialize;

use super::credential::{CredentialHeader, Holder};
use super::grant::keys::secret_keys;
use super::scheme::AuthScheme;
use super::{AuthReason, Credential, CredentialSource, SchemeError};
use crate::auth::credential::SecretReader;
use crate::auth::grant::unless;
use crate::target::Error;
use crate::target::{Regions, is_connection_header};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawBearer {
    header: Option<String>,
    prefix: Option<String>,
    #[serde(default)]
    keys: RawBearerKeys,
}

secret_keys! {
    BearerKeys, RawBearerKeys {
        token: "token" = ["token"],
    }
}

/// A header with a value of the Secret behind a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BearerGrant {
    header: HeaderName,
    prefix: String,
    keys: BearerKeys,
}

impl AuthScheme for BearerGrant {
    const NAME: &'static str = "bearer";
    type Raw = RawBearer;
    type Parameters = ();

    fn parse(raw: RawBearer, _: &Regions, at: &str) -> Result<Self, Error> {
        let header = raw.header.as_deref().map_or(Ok(AUTHORIZATION), |text| header(text, at))?;
        let default = if header == AUTHORIZATION { "Bearer " } else { "" };
        let prefix = raw.prefix.unwrap_or_else(|| default.to_owned());
        // The value begins with no blank, so blanks at the end of the prefix survive.
        if HeaderValue::from_str(&prefix).is_err() || !prefix.is_ascii() || prefix.starts_with(' ') {
            return Err(Error::invalid(format!("{at}.prefix"), "has characters that no header has"));
        }
        Ok(Self { keys: BearerKeys::parse(raw.keys, at)?, header, prefix })
    }

    fn used_keys(&self) -> Vec<&String> {
        self.keys.used()
    }

    fn beyond(&self, ceiling: &Self) -> Option<String> {
        unless(self.header == ceiling.header && self.prefix == ceiling.prefix, || {
            format!("in another header or with another prefix than {}", self.header)
        })
        .or_else(|| self.keys.beyond(&ceiling.keys))
    }

    fn summary(&self) -> String {
        format!("in header {}", self.header)
    }

    fn headers(&self) -> Vec<HeaderName> {
        vec![self.header.clone()]
    }

    fn source(
        &self,
        _: &Self::Parameters,
        secret: SecretReader<'_>,
        _: &PluginName,
    ) -> Result<CredentialSource, SchemeError> {
        let token = secret.one(&self.keys.token)?;
        let header = CredentialHeader::new(self.header.clone(), &self.prefix, &token);
        let header = header.ok_or(AuthReason::Keys)?;
        Ok(CredentialSource::Secret(Credential::Header(header), Holder::of(&[token.as_bytes()])))
    }
}

fn header(text: &str, at: &str) -> Result<HeaderName, Error> {
    let place = || format!("{at}.header");
    match HeaderName::from_bytes(text.as_bytes()) {
        Ok(name) if is_connection_header(&name) || name.as_str().starts_with("machinist-") => {
            Err(Error::invalid(place(), format!("header {name} belongs to the host")))
        }
        Ok(name) => Ok(name),
        Err(_) => Err(Error::invalid(place(), format!("{text:?} is no header name"))),
    }
}

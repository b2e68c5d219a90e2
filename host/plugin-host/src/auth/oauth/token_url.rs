//! The URL of a token service.

use std::fmt;

use http::Method;

use crate::auth::AuthReason;
use crate::auth::credential::secret::SecretReader;
use crate::target::Error;
use crate::target::RequestTarget;

/// The URL of a token service. `{KEY}` in its path is replaced by the value of that key of the Secret, such as a
/// tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TokenUrl {
    text: String,
    keys: Vec<String>,
}

impl TokenUrl {
    /// Parses the URL in `field` of the line `at`.
    pub(in crate::auth) fn of_field(text: &str, at: &str, field: &str) -> Result<Self, Error> {
        Self::parse(text).map_err(|problem| Error::invalid(format!("{at}.{field}"), problem))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let path_at = text.match_indices('/').nth(2).map_or(text.len(), |(at, _)| at);
        let mut keys = Vec::new();
        let mut rest = text;
        while let Some((_, behind)) = rest.split_once('{') {
            let (key, behind) = behind.split_once('}').ok_or_else(|| format!("{text:?} has no }}"))?;
            keys.push(key.to_owned());
            rest = behind;
        }
        let sample = keys.iter().fold(text.to_owned(), |url, key| url.replace(&format!("{{{key}}}"), "x"));
        let is_invalid = sample.contains(['{', '}', '#', '?'])
            || text.get(..path_at).unwrap_or_default().contains('{')
            || keys.iter().any(String::is_empty);
        if is_invalid {
            return Err(format!(
                "{text:?} is no URL of a service: only {{KEY}} in the path, for a key of the Secret, and no query"
            ));
        }
        RequestTarget::parse(&Method::POST, &sample)
            .map_err(|error| format!("{text:?} is no URL: {error}"))?;
        Ok(Self { text: text.to_owned(), keys })
    }

    /// The keys of the Secret whose values are in the path.
    pub(in crate::auth) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Returns the target of a request to the service of this Secret.
    pub(in crate::auth) fn target(&self, secret: SecretReader<'_>) -> Result<RequestTarget, AuthReason> {
        let values = secret.segments(&self.keys)?;
        let keyed = self.keys.iter().zip(values);
        let url =
            keyed.fold(self.text.clone(), |url, (key, value)| url.replace(&format!("{{{key}}}"), &value));
        RequestTarget::parse(&Method::POST, &url).map_err(|_| AuthReason::Keys)
    }
}

impl fmt::Display for TokenUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! Logins for registries, as `docker login` and Secrets of type `kubernetes.io/dockerconfigjson` keep them.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::reference::Reference;

/// Who we are towards a registry.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Credentials({})", self.user)
    }
}

/// Logins by registry.
#[derive(Clone, Debug, Default)]
pub struct Logins(BTreeMap<String, Credentials>);

/// Why there are no logins in it. Never shows what it was in.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    /// No JSON with `auths`.
    #[error("it is not a configuration of docker: JSON with `auths`")]
    Shape,
    /// An entry is wrong.
    #[error(
        "the login for {registry} is neither base64 of USER:PASSWORD in `auth` nor `username` and `password`"
    )]
    Login {
        /// Of this registry.
        registry: String,
    },
}

#[derive(Deserialize)]
struct Raw {
    auths: BTreeMap<String, RawLogin>,
}

#[derive(Deserialize)]
struct RawLogin {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
}

impl Logins {
    /// Reads `.dockerconfigjson`, or docker's `config.json`. Entries that a credential helper keeps are passed over.
    pub fn parse(bytes: &[u8]) -> Result<Self, LoginsError> {
        // serde's messages quote what they stumble over.
        let raw: Raw = serde_json::from_slice(bytes).map_err(|_| LoginsError::Shape)?;
        let mut logins = BTreeMap::new();
        for (registry, login) in raw.auths {
            let wrong = || LoginsError::Login { registry: registry.chars().take(300).collect() };
            let credentials = match login {
                RawLogin { username: Some(user), password: Some(password), .. } => {
                    Credentials { user, password }
                }
                RawLogin { auth: Some(auth), .. } => decoded(&auth).ok_or_else(wrong)?,
                RawLogin { auth: None, username: None, password: None } => continue,
                RawLogin { .. } => return Err(wrong()),
            };
            logins.insert(place(&registry).to_owned(), credentials);
        }
        Ok(Self(logins))
    }

    /// The login for this artifact: the one whose place is the longest beginning of `registry/repository`.
    pub fn find(&self, reference: &Reference) -> Option<&Credentials> {
        let whole = format!("{}/{}", reference.registry, reference.repository);
        let fits = |place: &str| {
            whole.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        };
        self.0
            .iter()
            .filter(|(place, _)| fits(place))
            .max_by_key(|(place, _)| place.len())
            .map(|(_, login)| login)
    }
}

/// `https://registry/v1/` as docker writes it, or `registry`, or `registry/repository`.
fn place(key: &str) -> &str {
    let key = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://")).unwrap_or(key);
    let key = key.trim_end_matches('/');
    key.strip_suffix("/v1").or_else(|| key.strip_suffix("/v2")).unwrap_or(key)
}

fn decoded(auth: &str) -> Option<Credentials> {
    let text = String::from_utf8(BASE64_STANDARD.decode(auth.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some(Credentials { user: user.to_owned(), password: password.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(config: &str, reference: &str) -> Option<String> {
        let logins = Logins::parse(config.as_bytes()).expect("logins");
        logins.find(&reference.parse().expect("a reference")).map(|login| login.user.clone())
    }

    #[test]
    fn the_login_with_the_longest_fitting_place_is_taken() {
        // `bTp4` is m:x, `bjp5` is n:y.
        let config = r#"{"auths":{"ghcr.io":{"auth":"bTp4"},"https://ghcr.io/acme":{"auth":"bjp5"},
            "https://other.io/v1/":{"username":"o","password":"z"},"helped.io":{}}}"#;
        assert_eq!(user(config, "ghcr.io/other/x:1").as_deref(), Some("m"));
        assert_eq!(user(config, "ghcr.io/acme/x:1").as_deref(), Some("n"));
        assert_eq!(user(config, "ghcr.io/acmex/x:1").as_deref(), Some("m"));
        assert_eq!(user(config, "other.io/x:1").as_deref(), Some("o"));
        assert_eq!(user(config, "ghcr.io.example.com/x:1"), None);
        assert_eq!(user(config, "helped.io/x:1"), None);
    }

    #[test]
    fn what_is_wrong_is_told_without_the_secret() {
        for config in [
            "",
            "{}",
            r#"{"auths":"hunter2"}"#,
            r#"{"auths":{"a.io":{"auth":"hunter2"}}}"#,
            r#"{"auths":{"a.io":{"username":"hunter2"}}}"#,
            r#"{"auths":{"a.io":{"auth":"aHVudGVyMg=="}}}"#,
        ] {
            let error = Logins::parse(config.as_bytes()).expect_err("wrong");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
        let login = Credentials { user: "u".to_owned(), password: "hunter2".to_owned() };
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}

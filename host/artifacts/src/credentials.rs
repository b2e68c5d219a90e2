//! Logins for registries, as `docker login` and Secrets of type `kubernetes.io/dockerconfigjson` keep them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use crate::helper::Helper;
pub use crate::login::Credentials;
use crate::reference::Reference;

/// Logins by registry, and the programs that keep others.
#[derive(Clone, Debug, Default)]
pub struct Logins {
    kept: BTreeMap<String, Credentials>,
    helpers: BTreeMap<String, String>,
    store: Option<String>,
}

/// Why there are no logins in it. Never shows what it was in.
#[derive(Debug, thiserror::Error)]
pub enum LoginsError {
    /// No JSON object, or with fields of other types.
    #[error("it is not a configuration of docker: JSON with `auths`, `credHelpers` or `credsStore`")]
    Shape,
    /// An entry is wrong.
    #[error(
        "the login for {registry} is neither base64 of USER:PASSWORD in `auth` nor `username` and `password` nor `identitytoken`"
    )]
    Login { registry: String },
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RawConfig {
    auths: Option<BTreeMap<String, Option<RawLogin>>>,
    cred_helpers: Option<BTreeMap<String, String>>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
struct RawLogin {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

impl Logins {
    /// Reads `.dockerconfigjson`, or docker's `config.json`. Without `auths` it has no logins of its own, which is no
    /// error: helpers may keep them. An entry that is `null`, or whose fields are empty, leaves its login to them too.
    pub fn parse(bytes: &[u8]) -> Result<Self, LoginsError> {
        // serde's messages quote what they stumble over.
        let raw: RawConfig = serde_json::from_slice(bytes).map_err(|_| LoginsError::Shape)?;
        let mut kept = BTreeMap::new();
        for (registry, login) in raw.auths.unwrap_or_default() {
            let login = login.unwrap_or_default();
            let wrong = || LoginsError::Login { registry: registry.chars().take(300).collect() };
            let token = login.identitytoken.filter(|token| !token.is_empty());
            let auth = login.auth.filter(|auth| !auth.trim().is_empty());
            let is_blank = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
            let (user, password) = match (login.username, login.password) {
                (user, password) if is_blank(&user) && is_blank(&password) => (None, None),
                both => both,
            };
            let credentials = match (token, user, password, auth) {
                (Some(token), ..) => Credentials::identity_token(token),
                (None, Some(user), Some(password), _) => Credentials::password(user, password),
                (None, _, _, Some(auth)) => decoded(&auth).ok_or_else(wrong)?,
                // A helper keeps it.
                (None, None, None, None) => continue,
                (None, ..) => return Err(wrong()),
            };
            kept.insert(place(&registry).to_owned(), credentials);
        }
        let helpers = raw
            .cred_helpers
            .unwrap_or_default()
            .into_iter()
            .map(|(registry, name)| (place(&registry).to_owned(), name));
        let store = raw.creds_store.filter(|name| !name.is_empty());
        Ok(Self { kept, helpers: helpers.collect(), store })
    }

    /// The login for this artifact: the one whose place is the longest beginning of `registry/repository`.
    pub fn find(&self, reference: &Reference) -> Option<&Credentials> {
        let names = reference.registry_names();
        let wholes: Vec<String> =
            names.iter().map(|registry| format!("{registry}/{}", reference.repository)).collect();
        let fits = |place: &str| {
            let begins = |whole: &String| {
                whole.strip_prefix(place).is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
            };
            wholes.iter().any(begins)
        };
        self.kept
            .iter()
            .filter(|(place, _)| fits(place))
            .max_by_key(|(place, _)| place.len())
            .map(|(_, login)| login)
    }

    /// The program that keeps the login for this artifact: the one that is named for its registry, else, where the
    /// configuration has no login of its own, the one for all registries. Its name is for
    /// [`Helper::ask`](crate::helper::Helper::ask).
    pub fn helper(&self, reference: &Reference) -> Option<Helper> {
        let names = reference.registry_names();
        let named = names.iter().find_map(|registry| self.helpers.get(*registry));
        let store = || self.store.as_ref().filter(|_| self.find(reference).is_none());
        let name = named.or_else(store)?;
        Some(Helper::new(name, reference))
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
    Some(Credentials::password(user.to_owned(), password.to_owned()))
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

    fn helper(config: &str, reference: &str) -> Option<String> {
        let logins = Logins::parse(config.as_bytes()).expect("logins");
        let helper = logins.helper(&reference.parse().expect("a reference"))?;
        Some(format!("{} {}", helper.program(), helper.server()))
    }

    #[test]
    fn a_helper_keeps_the_logins_of_its_registry_and_a_store_all_others() {
        let own = r#"{"credHelpers":{"1.dkr.ecr.example.com":"ecr-login"}}"#;
        let expected = "docker-credential-ecr-login 1.dkr.ecr.example.com";
        assert_eq!(helper(own, "1.dkr.ecr.example.com/x:1").as_deref(), Some(expected));
        assert_eq!((helper(own, "ghcr.io/x:1"), user(own, "ghcr.io/x:1")), (None, None));
        let store = r#"{"auths":{"ghcr.io":{"auth":"bTp4"},"docker.io":{}},"credsStore":"desktop"}"#;
        assert_eq!(helper(store, "ghcr.io/x:1"), None, "its login is there");
        let expected = "docker-credential-desktop https://index.docker.io/v1/";
        assert_eq!(helper(store, "docker.io/acme/x:1").as_deref(), Some(expected));
        assert_eq!(helper("{}", "ghcr.io/x:1"), None);
    }

    #[test]
    fn an_entry_without_a_login_leaves_it_to_helpers_or_to_nobody() {
        for entry in [
            r#"{"auth":""}"#,
            r#"{"auth":" "}"#,
            r#"{"auth":null}"#,
            r#"{"auth":"","username":"","password":"","identitytoken":""}"#,
            r#"{"email":"a@b.c"}"#,
            "{}",
            "null",
        ] {
            let alone = format!(r#"{{"auths":{{"a.io":{entry},"b.io":{{"auth":"bTp4"}}}}}}"#);
            assert_eq!(user(&alone, "a.io/x:1"), None, "{entry}");
            assert_eq!(helper(&alone, "a.io/x:1"), None, "{entry}");
            assert_eq!(user(&alone, "b.io/x:1").as_deref(), Some("m"), "{entry}");
            let kept = format!(r#"{{"auths":{{"a.io":{entry}}},"credsStore":"desktop"}}"#);
            let expected = "docker-credential-desktop a.io";
            assert_eq!(helper(&kept, "a.io/x:1").as_deref(), Some(expected), "{entry}");
        }
        let named = r#"{"auths":{"a.io":{"auth":"","username":"o","password":"z"}}}"#;
        assert_eq!(user(named, "a.io/x:1").as_deref(), Some("o"), "it has a login");
    }

    #[test]
    fn null_counts_as_absent() {
        let config = r#"{"auths":null,"credHelpers":null,"credsStore":null}"#;
        assert_eq!((user(config, "a.io/x:1"), helper(config, "a.io/x:1")), (None, None));
        let config = r#"{"auths":null,"credHelpers":{"a.io":"own"}}"#;
        assert_eq!(helper(config, "a.io/x:1").as_deref(), Some("docker-credential-own a.io"));
        let config = r#"{"auths":{"a.io":{"auth":"bTp4"}},"credHelpers":null}"#;
        assert_eq!(user(config, "a.io/x:1").as_deref(), Some("m"));
    }

    #[test]
    fn the_public_registry_of_docker_is_known_by_each_of_its_names() {
        let config = r#"{"auths":{"https://index.docker.io/v1/":{"auth":"bTp4"}}}"#;
        for registry in ["docker.io", "index.docker.io", "registry-1.docker.io"] {
            assert_eq!(user(config, &format!("{registry}/acme/x:1")).as_deref(), Some("m"), "{registry}");
        }
        assert_eq!(user(config, "other.docker.io/acme/x:1"), None);
    }

    #[test]
    fn a_token_of_a_cloud_registry_counts_before_the_empty_password_beside_it() {
        // `MDA6` is 00 with an empty password.
        let config = r#"{"auths":{"a.azurecr.io":{"auth":"MDA6","identitytoken":"t"}}}"#;
        assert_eq!(user(config, "a.azurecr.io/x:1").as_deref(), Some("<token>"));
    }

    #[test]
    fn an_error_shows_no_secret() {
        for config in [
            "",
            "7",
            r#"{"credHelpers":"hunter2"}"#,
            r#"{"auths":"hunter2"}"#,
            r#"{"auths":{"a.io":{"auth":"hunter2"}}}"#,
            r#"{"auths":{"a.io":{"username":"hunter2"}}}"#,
            r#"{"auths":{"a.io":{"auth":"aHVudGVyMg=="}}}"#,
        ] {
            let error = Logins::parse(config.as_bytes()).expect_err("wrong");
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error:?}");
        }
        let login = Credentials::password("u".to_owned(), "hunter2".to_owned());
        assert!(!format!("{login:?}").contains("hunter2"));
        let login = Credentials::identity_token("hunter2".to_owned());
        assert!(!format!("{login:?}").contains("hunter2"));
    }
}

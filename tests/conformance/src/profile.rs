//! The profile of a driver for the kit: `conformance.yaml` beside it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use machinist_core::driver::error::Code;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Why a profile is none.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not YAML, or a field is missing, unknown or of another kind.
    #[error("the profile cannot be read")]
    Syntax(#[source] serde_yaml_ng::Error),
    /// A value that does not fit.
    #[error("{field} of the profile {problem}")]
    Value {
        field: String,
        /// The problem, and the text to write instead.
        problem: String,
    },
}

/// A driver under test: the cloud that it is for, what it is given, and how its cloud is looked at.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Which cloud; absent: checks that need one are skipped.
    #[serde(default)]
    pub cloud: Option<CloudChoice>,
    /// The provider that the classes name, of a driver that serves several; absent: the first in the alphabet.
    #[serde(default)]
    pub provider: Option<String>,
    /// The addresses of host names, for the address classes of the grants. Nothing is dialled there.
    #[serde(default = "public_address")]
    pub resolves_to: IpAddr,
    #[serde(default)]
    pub settings: Map<String, Value>,
    /// The plugin's grants, as in `grants.yaml`.
    #[serde(default)]
    pub grants: Map<String, Value>,
    #[serde(default, rename = "secrets")]
    given_secrets: BTreeMap<String, GivenSecret>,
    /// The values of the Secret: as the profile has them, or out of the environment.
    #[serde(skip)]
    pub secrets: BTreeMap<String, String>,
    /// The user data of VMs.
    #[serde(default = "user_data")]
    pub user_data: String,
    /// Classes, good and bad.
    pub class: Classes,
    /// Which requests make and remove a VM.
    #[serde(default)]
    pub requests: Requests,
    /// How a machine's VMs are seen without the driver.
    #[serde(default)]
    pub look: Option<Look>,
    /// How a VM is made without the driver.
    #[serde(default)]
    pub plant: Option<Plant>,
    /// How a VM is made without any cluster's mark, with a Machine's name and what classes put on VMs: as another
    /// program leaves it, or a stranger.
    #[serde(default)]
    pub unmarked: Option<Plant>,
    /// The answers of reads that do not show a VM yet: the first that fits.
    #[serde(default)]
    pub invisible: Vec<Scripted>,
    /// How listings are made to have several pages.
    #[serde(default)]
    pub paging: Option<Paging>,
    /// How the cloud says no to a create, in its own words, by a name of your own.
    #[serde(default)]
    pub refusals: BTreeMap<String, Refused>,
    /// PersistentVolume specs and the ids that the driver finds in them.
    #[serde(default)]
    pub volumes: Vec<Volume>,
    /// A failure domain in which the valid class can be, and which is not the one that it names.
    #[serde(default)]
    pub failure_domain: Option<String>,
}

/// A value of the Secret. One of a real account is in the environment, so that no file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum GivenSecret {
    Text(String),
    Environment(FromEnvironment),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FromEnvironment {
    env: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CloudChoice {
    /// The simulated cloud, started for the run.
    Simulated,
    /// One that runs already, at this URL.
    Url(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classes {
    pub valid: Value,
    /// Another that works: with it the same create is another request.
    #[serde(default)]
    pub other: Option<Value>,
    /// Some that cannot work.
    #[serde(default)]
    pub invalid: Vec<Invalid>,
    /// The field of `valid` with the cloud's URL, as a JSON pointer, where users write it into their classes.
    /// `describe` knows no class and cannot name that host.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// All that a deletion needs; absent: nothing.
    #[serde(default)]
    pub for_deletion: Option<Value>,
}

/// A `providerSpec` that the driver refuses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invalid {
    pub spec: Value,
    /// The field that the message must name.
    pub field: String,
}

/// The requests that change something. A request that matches neither is a read, or at least creates and deletes no VM.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    #[serde(default)]
    pub create: Option<Pattern>,
    #[serde(default)]
    pub delete: Option<Pattern>,
}

/// Fits a request when all that is given fits.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pattern {
    #[serde(default)]
    pub method: Option<String>,
    /// Without query; `*` matches one segment.
    #[serde(default)]
    pub path: Option<String>,
    /// A text in the query or in the body.
    #[serde(default)]
    pub contains: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Canned {
    pub status: u16,
    /// Headers beside the length.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: String,
}

/// The answer to requests that fit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scripted {
    #[serde(default)]
    pub on: Pattern,
    pub answer: Canned,
}

/// A request that shows the VMs of one machine. In URL and headers `{cloud}`, `{admin}`, `{cluster}`, `{uid}`, `{name}`
/// and `{secret.KEY}` are filled in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The text before each id in the answer.
    pub from: String,
    /// The text after it.
    pub to: String,
}

/// A request that makes a VM with the marks of a machine. The same is filled in as for [`Look`].
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plant {
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: String,
    /// The text before the id in the answer.
    pub from: String,
    /// The text after it.
    pub to: String,
    /// The provider id of such a VM, with `{id}`.
    pub provider_id: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paging {
    /// So many machines do not fit on one page.
    pub machines: usize,
    /// A parameter of the query that is set to `size` on the way.
    #[serde(default)]
    pub query: Option<String>,
    /// Entries of a page.
    #[serde(default = "two")]
    pub size: usize,
}

/// A refusal of the cloud, and what it means.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// The answer to a create.
    pub answer: Canned,
    /// The contract's code, as WIT writes it.
    pub code: String,
    /// Whether no retry helps; absent: either is right.
    #[serde(default)]
    pub terminal: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Volume {
    pub spec: Value,
    /// The driver's answer; absent for a volume of another kind.
    #[serde(default)]
    pub id: Option<String>,
}

fn public_address() -> IpAddr {
    IpAddr::from([1, 1, 1, 1])
}

/// With quotes and line ends: a driver that puts it into JSON without the encoding for it breaks its request.
fn user_data() -> String {
    "#cloud-config\n# conformance: \"boot-payload-5d1e0c77a9\"\n".to_owned()
}

fn two() -> usize {
    2
}

impl Profile {
    /// Reads YAML or JSON of which no value is in the environment.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::parse_in(text, |_| None)
    }

    /// Reads YAML or JSON, and the values of `env: NAME` out of this environment.
    pub fn parse_in(text: &str, environment: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let mut profile: Self = serde_yaml_ng::from_str(text).map_err(Error::Syntax)?;
        for (key, given) in &profile.given_secrets {
            let value = match given {
                GivenSecret::Text(text) => text.clone(),
                GivenSecret::Environment(FromEnvironment { env }) => {
                    environment(env).filter(|value| !value.is_empty()).ok_or_else(|| Error::Value {
                        field: format!("secrets.{key}"),
                        problem: format!("is in the environment, where {env} is not set: export {env}=…"),
                    })?
                }
            };
            profile.secrets.insert(key.clone(), value);
        }
        if let Some(key) = profile.unknown_secret() {
            let problem = format!("has no {key:?}, which {{secret.{key}}} in a request names");
            return Err(Error::Value { field: "secrets".to_owned(), problem });
        }
        for (name, refused) in &profile.refusals {
            if refused.code().is_none() {
                let problem = format!(
                    "is no code of the contract: {:?}; write one such as resource-exhausted",
                    refused.code
                );
                return Err(Error::Value { field: format!("refusals.{name}.code"), problem });
            }
        }
        if let Some(pointer) = &profile.class.endpoint
            && profile.class.endpoint_host().is_none()
        {
            let problem = format!(
                "must lead to a URL in class.valid; write a JSON pointer such as /authUrl, got {pointer:?}"
            );
            return Err(Error::Value { field: "class.endpoint".to_owned(), problem });
        }
        if let Some(paging) = &profile.paging
            && !(2..=1_000).contains(&paging.machines)
        {
            let problem = format!("must be from 2 to 1000, got {}", paging.machines);
            return Err(Error::Value { field: "paging.machines".to_owned(), problem });
        }
        Ok(profile)
    }

    /// A secret that a request of the kit names and that the profile does not have.
    fn unknown_secret(&self) -> Option<String> {
        let look = self.look.iter().flat_map(|look| look.headers.values().chain([&look.url]));
        let plants = self.plant.iter().chain(&self.unmarked);
        let plants = plants.flat_map(|plant| plant.headers.values().chain([&plant.url, &plant.body]));
        let named = look.chain(plants).flat_map(|text| text.split("{secret.").skip(1));
        let keys = named.filter_map(|rest| rest.split_once('}').map(|(key, _)| key));
        keys.into_iter().find(|key| !self.secrets.contains_key(*key)).map(str::to_owned)
    }

    /// Values that must not be in messages and logs: secrets and user data.
    pub fn hidden(&self) -> Vec<&str> {
        self.secrets.values().map(String::as_str).chain([self.user_data.as_str()]).collect()
    }
}

impl Classes {
    /// The host that users name in their classes.
    pub fn endpoint_host(&self) -> Option<String> {
        let url = self.valid.pointer(self.endpoint.as_deref()?)?.as_str()?;
        Some(url.parse::<http::Uri>().ok()?.host()?.to_owned())
    }
}

impl Refused {
    /// The code of the contract.
    pub fn code(&self) -> Option<Code> {
        let plain = |text: &str| text.replace('-', "").to_ascii_lowercase();
        Code::ALL.into_iter().find(|code| plain(code.name()) == plain(&self.code))
    }
}

impl Pattern {
    /// Whether a request fits.
    pub fn fits(&self, method: &str, target: &str, body: &[u8]) -> bool {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.method.as_ref().is_none_or(|wanted| wanted == method)
            && self.path.as_ref().is_none_or(|wanted| is_path(wanted, path))
            && self
                .contains
                .as_ref()
                .is_none_or(|text| query.contains(text.as_str()) || contains(body, text.as_bytes()))
    }
}

fn is_path(pattern: &str, path: &str) -> bool {
    let (wanted, given): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    wanted.len() == given.len()
        && wanted.iter().zip(given).all(|(wanted, given)| *wanted == "*" || *wanted == given)
}

/// Returns true if `text` is somewhere in `bytes`.
pub(crate) fn contains(bytes: &[u8], text: &[u8]) -> bool {
    text.is_empty() || bytes.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_fits_when_all_that_it_names_fits() {
        let pattern: Pattern =
            serde_yaml_ng::from_str("{method: POST, path: /v1/vms/*, contains: Action=Run}").unwrap();
        assert!(pattern.fits("POST", "/v1/vms/1?x=1", b"a&Action=RunInstances"));
        assert!(pattern.fits("POST", "/v1/vms/1?Action=Run", b""));
        assert!(!pattern.fits("GET", "/v1/vms/1?Action=Run", b""));
        assert!(!pattern.fits("POST", "/v1/vms?Action=Run", b""));
        assert!(!pattern.fits("POST", "/v1/vms/1", b"Action=Stop"));
    }

    #[test]
    fn a_secret_can_be_in_the_environment_and_in_the_requests_of_the_kit() {
        let text = "{class: {valid: {}}, secrets: {token: {env: TOKEN}}, \
             look: {url: x, headers: {authorization: 'Bearer {secret.token}'}, from: a, to: b}}";
        let profile = Profile::parse_in(text, |name| (name == "TOKEN").then(|| "t-1".to_owned())).unwrap();
        assert_eq!(profile.secrets["token"], "t-1");
        assert_eq!(profile.hidden().first(), Some(&"t-1"));
        let error = Profile::parse(text).unwrap_err().to_string();
        assert!(error.contains("secrets.token") && error.contains("export TOKEN="), "{error}");
        let error = Profile::parse_in(&text.replace("secret.token", "secret.key"), |_| Some("x".to_owned()));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("{secret.key}"), "{error}");
    }

    #[test]
    fn what_is_wrong_in_a_profile_is_named() {
        let error = |text: &str| {
            let error = Profile::parse(text).unwrap_err();
            let source = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            format!("{error}: {source}")
        };
        assert!(error("{}").contains("class"), "{}", error("{}"));
        assert!(error("{class: {valid: {}}, clowd: simulated}").contains("clowd"));
        let refusal = "{class: {valid: {}}, refusals: {full: {answer: {status: 409}, code: sold-out}}}";
        assert!(error(refusal).contains("refusals.full.code"), "{}", error(refusal));
        assert!(error("{class: {valid: {}}, paging: {machines: 1}}").contains("paging.machines"));
        let endpoint = error("{class: {valid: {authUrl: 7}, endpoint: /authUrl}}");
        assert!(endpoint.contains("class.endpoint"), "{endpoint}");
    }

    #[test]
    fn the_host_that_a_class_names_is_that_of_its_url() {
        let text = "{class: {valid: {auth: {url: 'https://identity.test:5000/v3'}}, endpoint: /auth/url}}";
        assert_eq!(Profile::parse(text).unwrap().class.endpoint_host().as_deref(), Some("identity.test"));
        assert_eq!(Profile::parse("{class: {valid: {}}}").unwrap().class.endpoint_host(), None);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: tier::cases(500), failure_persistence: None, ..Default::default() })]

        /// Neither nonsense nor a good profile with a piece cut out and another put in.
        #[test]
        fn no_text_makes_the_parser_panic(nonsense in ".{0,200}", place in 0..900_usize, length in 0..60_usize, insertion in "[\\{\\[&*!~\\-: \"0-9]{0,8}") {
            const GOOD: &str = include_str!("../../../plugins/sim/conformance.yaml");
            let _read = Profile::parse(&nonsense);
            let from = GOOD.floor_char_boundary(place);
            let to = GOOD.floor_char_boundary(from + length).max(from);
            let _changed = Profile::parse(&format!("{}{insertion}{}", &GOOD[..from], &GOOD[to..]));
        }
    }
}

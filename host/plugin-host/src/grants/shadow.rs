//! The requests that a shadow may send to the cloud beside its recording. An absent list allows none: only the cloud
//! and its operator know which requests write; the method does not tell.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use http::{HeaderMap, Method};
use serde::Deserialize;

use super::EgressRule;
use super::raw::{OneOrMore, RawEgressRule, RawPath, RawScheme, rule};
use crate::target::{AddressClass, Error, PathPattern, RequestTarget};

/// One line of what a shadow may read. The egress rules must grant it, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowRead {
    rule: EgressRule,
    /// Parameters of the query, with the values that they may have.
    query: BTreeMap<String, BTreeSet<String>>,
    credentials: ReadCredentials,
}

/// Whether a read of a shadow is made with credentials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReadCredentials {
    /// A request that would carry some is not sent.
    #[default]
    Never,
    /// Like requests of the version that serves.
    Allowed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawShadowRead {
    host: String,
    scheme: Option<RawScheme>,
    ports: Option<Vec<u16>>,
    methods: Option<Vec<String>>,
    paths: Vec<RawPath>,
    #[serde(default)]
    query: BTreeMap<String, BTreeSet<String>>,
    #[serde(default)]
    credentials: bool,
}

/// Methods that may be listed.
const READING: [Method; 2] = [Method::GET, Method::HEAD];

pub(super) fn shadow_read(raw: RawShadowRead, at: &str) -> Result<ShadowRead, Error> {
    let methods = raw.methods.unwrap_or_else(|| vec!["GET".to_owned(), "HEAD".to_owned()]);
    if let Some((name, _)) = raw.query.iter().find(|(_, values)| values.is_empty()) {
        return Err(Error::invalid(format!("{at}.query.{name}"), "names no value"));
    }
    let every_class = AddressClass::GRANTABLE.map(|class| class.name().to_owned()).to_vec();
    let egress = RawEgressRule {
        host: raw.host,
        scheme: raw.scheme,
        ports: raw.ports,
        methods: Some(methods),
        paths: Some(raw.paths),
        form: None,
        headers: None,
        // The egress rule that grants the request judges its addresses.
        addresses: Some(OneOrMore::More(every_class)),
    };
    let rule = rule(egress, at)?;
    if let Some(method) = rule.methods.iter().find(|method| !READING.contains(method)) {
        let problem = format!("{method} writes: a shadow reads with GET or HEAD");
        return Err(Error::invalid(format!("{at}.methods"), problem));
    }
    let credentials = if raw.credentials { ReadCredentials::Allowed } else { ReadCredentials::Never };
    Ok(ShadowRead { rule, query: raw.query, credentials })
}

impl fmt::Display for ShadowRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods: Vec<&str> = self.rule.methods.iter().map(Method::as_str).collect();
        let paths: Vec<&str> = self.rule.paths.iter().map(PathPattern::as_str).collect();
        let host = &self.rule.host;
        write!(f, "{} {}://{host} {}", methods.join(", "), self.rule.scheme.name(), paths.join(", "))?;
        for (name, values) in &self.query {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            write!(f, "; {name} is {}", values.join(" or "))?;
        }
        f.write_str(match self.credentials {
            ReadCredentials::Never => "; without credentials",
            ReadCredentials::Allowed => "; with credentials",
        })
    }
}

impl ShadowRead {
    /// Whether this line lets a request without a body pass. `has_credentials` says whether it would carry some.
    pub(crate) fn lets_pass(
        &self,
        target: &RequestTarget,
        headers: &HeaderMap,
        has_credentials: bool,
    ) -> bool {
        let may_carry = match self.credentials {
            ReadCredentials::Allowed => true,
            ReadCredentials::Never => !has_credentials,
        };
        may_carry
            && self.rule.stops_at(target).is_none()
            && !headers.keys().any(|name| names_a_method(name.as_str()))
            && self.asks_for_what_is_listed(target.query().unwrap_or_default())
    }

    /// Each listed parameter is there once, in the spelling and with a value of the list, however a server reads a
    /// query.
    fn asks_for_what_is_listed(&self, query: &str) -> bool {
        let parameters: Vec<(String, String)> =
            url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        // Some servers take it for the end of a parameter.
        let is_plain = !parameters.iter().any(|(name, value)| name.contains(';') || value.contains(';'));
        is_plain
            && self.query.iter().all(|(name, values)| {
                let mut named = parameters.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
                match (named.next(), named.next()) {
                    (Some((known, value)), None) => known == name && values.contains(value),
                    (None, _) | (Some(_), Some(_)) => false,
                }
            })
    }
}

/// Headers such as `x-http-method-override`, by which some servers take a read for a write.
fn names_a_method(header: &str) -> bool {
    header.contains("method")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grants::Grants;

    const LISTED: &str = "
        shadow-reads:
          - { host: api.test, paths: [/v1/vms/] }
          - { host: ec2.test, paths: [/], query: { Action: [DescribeInstances, DescribeImages] }, credentials: true }";

    fn passes(method: &Method, url: &str, header: &str, has_credentials: bool) -> bool {
        let grants = Grants::parse(LISTED).expect("grants");
        let target = RequestTarget::parse(method, url).expect("a target");
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header.split_once(": ") {
            let name: http::HeaderName = name.parse().expect("a name");
            headers.insert(name, value.parse().expect("a value"));
        }
        grants.shadow_reads().iter().any(|read| read.lets_pass(&target, &headers, has_credentials))
    }

    #[test]
    fn listed_requests_pass() {
        for method in [Method::GET, Method::HEAD] {
            assert!(passes(&method, "https://api.test/v1/vms/7", "", false));
        }
        assert!(passes(&Method::GET, "https://ec2.test/?Action=DescribeInstances&MaxResults=5", "", true));
    }

    #[test]
    fn a_line_says_what_it_lists() {
        let grants = Grants::parse(LISTED).expect("grants");
        let shown: Vec<String> = grants.shadow_reads().iter().map(ToString::to_string).collect();
        let ec2 =
            "GET, HEAD https://ec2.test /; Action is DescribeImages or DescribeInstances; with credentials";
        assert_eq!(shown, ["GET, HEAD https://api.test /v1/vms/; without credentials", ec2]);
    }

    #[test]
    fn attack_nothing_that_may_write_passes() {
        for (method, url, header, has_credentials) in [
            (Method::PUT, "https://api.test/v1/vms/7", "", false),
            (Method::POST, "https://api.test/v1/vms/7", "", false),
            (Method::GET, "https://api.test/v1/disks/7", "", false),
            (Method::GET, "https://api.test/v1/vms/../disks/7", "", false),
            (Method::GET, "https://other.test/v1/vms/7", "", false),
            (Method::GET, "http://api.test/v1/vms/7", "", false),
            (Method::GET, "https://api.test/v1/vms/7", "", true),
            (Method::GET, "https://api.test/v1/vms/7", "x-http-method-override: DELETE", false),
            (Method::GET, "https://ec2.test/", "", true),
            (Method::GET, "https://ec2.test/?Action=TerminateInstances&InstanceId.1=i-1", "", true),
            (Method::GET, "https://ec2.test/?Action=DescribeInstances&Action=TerminateInstances", "", true),
            (Method::GET, "https://ec2.test/?Action=DescribeInstances&%41ction=TerminateInstances", "", true),
            (Method::GET, "https://ec2.test/?Action=DescribeInstances&action=TerminateInstances", "", true),
            (
                Method::GET,
                "https://ec2.test/?x=1;Action=TerminateInstances&Action=DescribeInstances",
                "",
                true,
            ),
            (Method::GET, "https://ec2.test/?action=DescribeInstances", "", true),
        ] {
            assert!(!passes(&method, url, header, has_credentials), "{method} {url} {header}");
        }
    }

    #[test]
    fn invalid_values_are_refused_with_their_place() {
        for (text, place) in [
            ("[{ host: a.test }]", "paths"),
            ("[{ host: a.test, paths: [] }]", "shadow-reads[0].paths"),
            ("[{ host: a.test, paths: [/], methods: [POST] }]", "shadow-reads[0].methods"),
            ("[{ host: a.test, paths: [/], query: { Action: [] } }]", "shadow-reads[0].query.Action"),
            ("[{ host: '*', paths: [/] , marks: true }]", "marks"),
        ] {
            let error = Grants::parse(&format!("shadow-reads: {text}")).expect_err(text).to_string();
            assert!(error.contains(place), "{text}: {error}");
        }
    }
}

//! The header by which a driver asks to be authenticated.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::HeaderName;

use crate::auth::AuthGrant;
use crate::auth::grant::choose;
use crate::auth::scheme::Mark;
use crate::target::{Host, is_name};

/// The mark on a request; `failed` on an answer that the host gives instead of the cloud.
pub(crate) const MARK: HeaderName = HeaderName::from_static("machinist-auth");

impl Mark {
    /// Takes the mark out of the headers. Returns `None` if the request has none: it is sent as it is.
    pub(crate) fn take(headers: &mut HeaderMap) -> Result<Option<Self>, AuthReason> {
        let mut marks = headers.get_all(MARK).iter();
        let Some(value) = marks.next() else { return Ok(None) };
        if marks.next().is_some() {
            return Err(AuthReason::Mark);
        }
        let mark = Self::parse(value.to_str().map_err(|_| AuthReason::Mark)?)?;
        headers.remove(MARK);
        Ok(Some(mark))
    }

    /// Parses `SCHEME; NAME=VALUE; …`. The names depend on the scheme.
    pub(crate) fn parse(text: &str) -> Result<Self, AuthReason> {
        let mut parts = text.split(';').map(str::trim);
        let scheme = parts.next().unwrap_or_default();
        let mut parameters = RawParameters::parse(parts)?;
        let Some(read) = Self::reader(scheme) else {
            return Err(if scheme.is_empty() { AuthReason::Mark } else { AuthReason::Scheme });
        };
        let mark = read(&mut parameters)?;
        if parameters.0.is_empty() { Ok(mark) } else { Err(AuthReason::Mark) }
    }

    /// Returns the grant under which a request to this host is authenticated. Refuses a request that brings a header
    /// which the host sets.
    pub(crate) fn grant<'a>(
        &self,
        grants: &'a [AuthGrant],
        host: &Host,
        headers: &HeaderMap,
    ) -> Result<&'a AuthGrant, AuthReason> {
        let grant = choose(grants, self, host)?;
        if grant.owns_header_of(headers) { Err(AuthReason::Header) } else { Ok(grant) }
    }
}

/// The parameters of a mark that no scheme has taken.
pub(crate) struct RawParameters(BTreeMap<String, String>);

impl RawParameters {
    fn parse<'a>(parts: impl Iterator<Item = &'a str>) -> Result<Self, AuthReason> {
        let mut parameters = BTreeMap::new();
        for part in parts {
            let (name, value) = part.split_once('=').ok_or(AuthReason::Mark)?;
            let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
            if value.is_empty() || parameters.insert(name, value).is_some() {
                return Err(AuthReason::Mark);
            }
        }
        Ok(Self(parameters))
    }

    /// Takes the name of a service or region, which must be there.
    pub(super) fn name(&mut self, parameter: &str) -> Result<String, AuthReason> {
        self.text(parameter).filter(|value| is_name(value)).ok_or(AuthReason::Mark)
    }

    /// Takes a parameter, unchecked.
    pub(super) fn text(&mut self, parameter: &str) -> Option<String> {
        self.0.remove(parameter)
    }
}

/// Why the host did not authenticate a request: a closed set. Of several grants of one scheme the reason of the nearest
/// counts: from `Scheme` to `Host` they are in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuthReason {
    /// The mark cannot be read, or there are two.
    Mark,
    /// The scheme is unknown or not granted.
    Scheme,
    Service,
    Region,
    Scope,
    /// The host is not granted for this scheme.
    Host,
    /// A header that belongs to the host under this scheme, or one that cannot be signed.
    Header,
    /// The Secret has no credentials, or blank or malformed ones.
    Keys,
    /// The Secret asks for web identity and the grants do not offer it.
    WebIdentity,
    /// The Secret asks for a role that the grants do not name.
    Role,
    /// The egress rules do not allow the credential service.
    Sts,
    /// The egress rules do not allow the token service.
    TokenUrl,
    /// The request is not over https, so its connection shows no certificate.
    Plain,
}

impl AuthReason {
    /// The name in metrics and Events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mark => "auth-mark",
            Self::Scheme => "auth-scheme",
            Self::Service => "auth-service",
            Self::Region => "auth-region",
            Self::Scope => "auth-scope",
            Self::Host => "auth-host",
            Self::Header => "auth-header",
            Self::Keys => "auth-keys",
            Self::WebIdentity => "auth-web-identity",
            Self::Role => "auth-role",
            Self::Sts => "auth-sts",
            Self::TokenUrl => "auth-token-url",
            Self::Plain => "auth-plain",
        }
    }

    /// The explanation that people read.
    pub(crate) fn explanation(self) -> &'static str {
        match self {
            Self::Mark => "the mark machinist-auth cannot be read",
            Self::Scheme => "the scheme is not granted under auth",
            Self::Service => "the service is not granted under auth",
            Self::Region => "the region is not granted under auth",
            Self::Scope => "a scope is not granted under auth",
            Self::Host => "the host is not granted under auth",
            Self::Header => "a header belongs to the host under this scheme, or cannot be signed",
            Self::Keys => "the Secret has no credentials for this scheme, or blank or malformed ones",
            Self::WebIdentity => "the Secret asks for credentials by a token file, which auth does not grant",
            Self::Role => {
                "the Secret asks for a role, an account, an audience or a client that auth does not name"
            }
            Self::Sts => "the credential service is not granted under egress",
            Self::TokenUrl => "the token service is not granted under egress",
            Self::Plain => "a request over plain HTTP shows no certificate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::oauth::Scopes;
    use crate::auth::sigv4::SigningScope;
    use crate::grants::Grants;

    fn take(values: &[&'static str]) -> Result<Option<Mark>, AuthReason> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(MARK, http::HeaderValue::from_static(value));
        }
        let taken = Mark::take(&mut headers);
        assert!(taken.is_err() || headers.is_empty());
        taken
    }

    #[test]
    fn a_mark_names_scheme_service_and_region() {
        let mark = Mark::AwsSigV4(SigningScope { service: "ec2".into(), region: "eu-west-1".into() });
        for text in [
            "aws-sigv4; service=ec2; region=eu-west-1",
            "aws-sigv4;region=eu-west-1;service=ec2",
            " aws-sigv4 ; service = ec2 ; region = eu-west-1 ",
        ] {
            assert_eq!(take(&[text]), Ok(Some(mark.clone())), "{text}");
        }
        assert_eq!(take(&[]), Ok(None));
    }

    #[test]
    fn a_mark_that_cannot_be_meant_is_refused() {
        for text in [
            "",
            "aws-sigv4",
            "aws-sigv4; service=ec2",
            "aws-sigv4; region=eu-west-1",
            "aws-sigv4; service=ec2; region=eu-west-1; service=ec2",
            "aws-sigv4; service=ec2; region=eu-west-1;",
            "aws-sigv4; service=ec2; region=eu-west-1; role=x",
            "aws-sigv4; service=; region=eu-west-1",
            "aws-sigv4; service=ec2; region=evil.com/",
            "aws-sigv4; service=ec2; region=EU",
            "aws-sigv4; service=ec2, region=eu-west-1",
        ] {
            assert_eq!(take(&[text]), Err(AuthReason::Mark), "{text}");
        }
        let good = "aws-sigv4; service=ec2; region=eu-west-1";
        assert_eq!(take(&[good, good]), Err(AuthReason::Mark));
        assert_eq!(take(&["AWS4; service=ec2; region=eu-west-1"]), Err(AuthReason::Scheme));
    }

    #[test]
    fn other_schemes_name_scopes_or_nothing() {
        let scopes = vec!["https://a.example.com/.default".to_owned(), "b:c".to_owned()];
        let mark = Mark::ClientCredentials(Scopes(scopes));
        let text = "oauth2-client-credentials; scope=https://a.example.com/.default  b:c";
        assert_eq!(take(&[text]), Ok(Some(mark)));
        assert_eq!(take(&["jwt-bearer"]), Ok(Some(Mark::JwtBearer(Scopes(Vec::new())))));
        for (text, mark) in
            [("bearer", Mark::Bearer(())), ("basic", Mark::Basic(())), ("keystone", Mark::Keystone(()))]
        {
            assert_eq!(take(&[text]), Ok(Some(mark)));
        }
        for text in [
            "bearer; scope=a",
            "basic;",
            "keystone; region=r",
            "jwt-bearer; scope=",
            "jwt-bearer; scope=a*",
            "jwt-bearer; scope=a,b",
            "oauth2-client-credentials; scope=a; scope=b",
            "oauth2-client-credentials; audience=a",
        ] {
            assert_eq!(take(&[text]), Err(AuthReason::Mark), "{text}");
        }
        assert_eq!(take(&["oauth2-password; scope=a"]), Err(AuthReason::Scheme));
    }

    #[test]
    fn a_driver_must_not_bring_a_header_that_the_host_sets() {
        let host = Host::parse("a.example.com").unwrap();
        for (scheme, more, names) in [
            ("aws-sigv4", ", services: [ec2]", &["authorization", "x-amz-date", "x-amz-security-token"][..]),
            ("bearer", ", header: X-Token", &["x-token"]),
            ("bearer", "", &["authorization"]),
            ("basic", "", &["authorization"]),
            ("oauth2-client-credentials", ", token-url: 'https://a.example.com/'", &["authorization"]),
            ("jwt-bearer", "", &["authorization"]),
            ("keystone", "", &["x-auth-token"]),
        ] {
            let grants = Grants::parse(&format!("auth: [{{ scheme: {scheme}{more} }}]")).unwrap();
            let mark = if more.contains("services") { "; service=ec2; region=r" } else { "" };
            let mark = Mark::parse(&format!("{scheme}{mark}")).unwrap();
            assert!(mark.grant(grants.auth(), &host, &HeaderMap::new()).is_ok(), "{scheme}");
            for name in names {
                let name: HeaderName = name.parse().unwrap();
                let headers = HeaderMap::from_iter([(name, http::HeaderValue::from_static("x"))]);
                assert_eq!(mark.grant(grants.auth(), &host, &headers), Err(AuthReason::Header), "{scheme}");
            }
        }
    }
}

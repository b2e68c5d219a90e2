//! The header by which a component asks to be authenticated.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};

use super::keystone::X_AUTH_TOKEN;
use crate::egress::failure::AuthReason;
use crate::grants::{
    AuthDenial, AuthGrant, AuthScheme, AuthWanted, AuthWay, AuthWish, Grants, Host, is_name, is_scope,
};

/// The mark on a request; `failed` on an answer that the host gives instead of the cloud.
pub(in crate::egress) const MARK: HeaderName = HeaderName::from_static("machinist-auth");

/// `SCHEME; NAME=VALUE; …`: which names there are depends on the scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::egress) struct Mark(pub(in crate::egress) AuthWish);

impl Mark {
    /// Takes the mark out of the headers; `None` when the request goes as it is.
    pub(in crate::egress) fn take(headers: &mut HeaderMap) -> Result<Option<Self>, AuthReason> {
        let mut marks = headers.get_all(MARK).iter();
        let Some(value) = marks.next() else { return Ok(None) };
        if marks.next().is_some() {
            return Err(AuthReason::Mark);
        }
        let mark = Self::parse(value.to_str().map_err(|_| AuthReason::Mark)?)?;
        headers.remove(MARK);
        Ok(Some(mark))
    }

    fn parse(text: &str) -> Result<Self, AuthReason> {
        let mut parts = text.split(';').map(str::trim);
        let scheme = parts.next().unwrap_or_default();
        let mut parameters = Parameters::parse(parts)?;
        let Some(scheme) = AuthScheme::named(scheme) else {
            return Err(if scheme.is_empty() { AuthReason::Mark } else { AuthReason::Scheme });
        };
        let wish = match scheme {
            AuthScheme::AwsSigV4 => AuthWish::AwsSigV4 {
                service: parameters.name("service")?,
                region: parameters.name("region")?,
            },
            AuthScheme::Bearer => AuthWish::Bearer,
            AuthScheme::Basic => AuthWish::Basic,
            AuthScheme::ClientCredentials => AuthWish::ClientCredentials { scopes: parameters.scopes()? },
            AuthScheme::JwtBearer => AuthWish::JwtBearer { scopes: parameters.scopes()? },
            AuthScheme::Keystone => AuthWish::Keystone,
        };
        if parameters.0.is_empty() { Ok(Self(wish)) } else { Err(AuthReason::Mark) }
    }

    /// The grant under which a request to this host is authenticated. A header that it sets must not be the component's.
    pub(in crate::egress) fn grant<'a>(
        &self,
        grants: &'a Grants,
        host: &Host,
        headers: &HeaderMap,
    ) -> Result<&'a AuthGrant, AuthReason> {
        let grant = grants.signs(&AuthWanted { wish: &self.0, host }).map_err(|denial| match denial {
            AuthDenial::Scheme => AuthReason::Scheme,
            AuthDenial::Service => AuthReason::Service,
            AuthDenial::Region => AuthReason::Region,
            AuthDenial::Scope => AuthReason::Scope,
            AuthDenial::Host => AuthReason::Host,
        })?;
        if hosts_own(grant).iter().any(|name| headers.contains_key(name)) {
            return Err(AuthReason::Header);
        }
        Ok(grant)
    }
}

/// What the host sets, and so the component must not.
fn hosts_own(grant: &AuthGrant) -> Vec<HeaderName> {
    match grant.way() {
        AuthWay::AwsSigV4(_) => vec![
            AUTHORIZATION,
            HeaderName::from_static("x-amz-date"),
            HeaderName::from_static("x-amz-security-token"),
            HeaderName::from_static("x-amz-content-sha256"),
        ],
        AuthWay::Bearer(grant) => vec![grant.header().clone()],
        AuthWay::Basic(_) | AuthWay::ClientCredentials(_) | AuthWay::JwtBearer(_) => vec![AUTHORIZATION],
        AuthWay::Keystone(_) => vec![X_AUTH_TOKEN],
    }
}

/// What a mark says beside its scheme; what was asked for is taken out.
struct Parameters(BTreeMap<String, String>);

impl Parameters {
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

    /// The name of a service or region.
    fn name(&mut self, name: &str) -> Result<String, AuthReason> {
        self.0.remove(name).filter(|value| is_name(value)).ok_or(AuthReason::Mark)
    }

    /// Scopes with blanks between them; absent means none.
    fn scopes(&mut self) -> Result<Vec<String>, AuthReason> {
        let scopes = self.0.remove("scope").unwrap_or_default();
        let scopes: Vec<String> = scopes.split_ascii_whitespace().map(str::to_owned).collect();
        if scopes.iter().all(|scope| is_scope(scope)) { Ok(scopes) } else { Err(AuthReason::Mark) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mark = Mark(AuthWish::AwsSigV4 { service: "ec2".into(), region: "eu-west-1".into() });
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
        let wish = AuthWish::ClientCredentials { scopes };
        let text = "oauth2-client-credentials; scope=https://a.example.com/.default  b:c";
        assert_eq!(take(&[text]), Ok(Some(Mark(wish))));
        assert_eq!(take(&["jwt-bearer"]), Ok(Some(Mark(AuthWish::JwtBearer { scopes: Vec::new() }))));
        for (text, wish) in
            [("bearer", AuthWish::Bearer), ("basic", AuthWish::Basic), ("keystone", AuthWish::Keystone)]
        {
            assert_eq!(take(&[text]), Ok(Some(Mark(wish))));
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
    fn what_the_host_sets_is_not_the_components() {
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
            assert!(mark.grant(&grants, &host, &HeaderMap::new()).is_ok(), "{scheme}");
            for name in names {
                let name: HeaderName = name.parse().unwrap();
                let headers = HeaderMap::from_iter([(name, http::HeaderValue::from_static("x"))]);
                assert_eq!(mark.grant(&grants, &host, &headers), Err(AuthReason::Header), "{scheme}");
            }
        }
    }
}

//! The header by which a component asks for a signature.

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};

use crate::egress::failure::AuthReason;
use crate::grants::{AuthDenial, AuthGrant, AuthScheme, AuthWanted, Grants, Host, is_name};

/// The mark on a request; `failed` on an answer that the host gives instead of the cloud.
pub(in crate::egress) const MARK: HeaderName = HeaderName::from_static("machinist-auth");

/// What the signature sets, and so the component must not.
const HOSTS_OWN: [HeaderName; 4] = [
    AUTHORIZATION,
    HeaderName::from_static("x-amz-date"),
    HeaderName::from_static("x-amz-security-token"),
    HeaderName::from_static("x-amz-content-sha256"),
];

/// `SCHEME; service=NAME; region=NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::egress) struct Mark {
    pub(in crate::egress) scheme: AuthScheme,
    pub(in crate::egress) service: String,
    pub(in crate::egress) region: String,
}

impl Mark {
    /// Takes the mark out of the headers; `None` when the request goes unsigned.
    pub(in crate::egress) fn take(headers: &mut HeaderMap) -> Result<Option<Self>, AuthReason> {
        let mut marks = headers.get_all(MARK).iter();
        let Some(value) = marks.next() else { return Ok(None) };
        if marks.next().is_some() {
            return Err(AuthReason::Mark);
        }
        let mark = Self::parse(value.to_str().map_err(|_| AuthReason::Mark)?)?;
        headers.remove(MARK);
        if HOSTS_OWN.iter().any(|name| headers.contains_key(name)) {
            return Err(AuthReason::Header);
        }
        Ok(Some(mark))
    }

    fn parse(text: &str) -> Result<Self, AuthReason> {
        let mut parts = text.split(';').map(str::trim);
        let scheme = parts.next().unwrap_or_default();
        let (mut service, mut region) = (None, None);
        for part in parts {
            let (name, value) = part.split_once('=').ok_or(AuthReason::Mark)?;
            let place = match name.trim() {
                "service" => &mut service,
                "region" => &mut region,
                _ => return Err(AuthReason::Mark),
            };
            let value = value.trim();
            if !is_name(value) || place.replace(value.to_owned()).is_some() {
                return Err(AuthReason::Mark);
            }
        }
        let (Some(service), Some(region)) = (service, region) else { return Err(AuthReason::Mark) };
        let scheme = AuthScheme::named(scheme).ok_or(AuthReason::Scheme)?;
        Ok(Self { scheme, service, region })
    }

    /// The grant under which a request to this host is signed.
    pub(in crate::egress) fn grant<'a>(
        &self,
        grants: &'a Grants,
        host: &Host,
    ) -> Result<&'a AuthGrant, AuthReason> {
        let wanted = AuthWanted { scheme: self.scheme, service: &self.service, region: &self.region, host };
        grants.signs(&wanted).map_err(|denial| match denial {
            AuthDenial::Scheme => AuthReason::Scheme,
            AuthDenial::Service => AuthReason::Service,
            AuthDenial::Region => AuthReason::Region,
            AuthDenial::Host => AuthReason::Host,
        })
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
        let mark = Mark { scheme: AuthScheme::AwsSigV4, service: "ec2".into(), region: "eu-west-1".into() };
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
    fn what_the_signature_sets_is_not_the_components() {
        for name in HOSTS_OWN {
            let mut headers = HeaderMap::new();
            headers.insert(name.clone(), http::HeaderValue::from_static("x"));
            assert_eq!(Mark::take(&mut headers), Ok(None), "unsigned requests may have it");
            headers.insert(MARK, http::HeaderValue::from_static("aws-sigv4; service=ec2; region=eu-west-1"));
            assert_eq!(Mark::take(&mut headers), Err(AuthReason::Header), "{name}");
        }
    }
}

//! The text of grants, and its way into honest types.

use std::collections::BTreeSet;

use http::{HeaderName, Method};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::raw_auth::{self, RawAuthGrant};
use super::shadow::{RawShadowRead, shadow_read};
use super::{
    AddressClass, AddressClasses, EgressRule, Error, Grants, Host, HostPattern, JsonPointer, PathPrefix,
    Place, RawLimits, Scheme, SecretGrant, SecretKey,
};
use crate::egress::is_connection_header;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawGrants {
    egress: Vec<RawEgressRule>,
    secrets: Vec<RawSecretGrant>,
    reveal: Vec<String>,
    auth: Vec<RawAuthGrant>,
    #[serde(rename = "shadow-reads")]
    shadow_reads: Vec<RawShadowRead>,
    limits: RawLimits,
    ca: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEgressRule {
    pub(super) host: String,
    pub(super) scheme: Option<RawScheme>,
    pub(super) ports: Option<Vec<u16>>,
    pub(super) methods: Option<Vec<String>>,
    pub(super) paths: Option<Vec<String>>,
    pub(super) addresses: Option<OneOrMore>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawScheme {
    Http,
    Https,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a class of addresses or a list of classes")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSecretGrant {
    key: String,
    places: Vec<RawPlace>,
    hosts: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlace {
    header: Option<String>,
    json: Option<String>,
    form: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Grants, Error> {
    let raw: Option<RawGrants> =
        serde_yaml_ng::from_str(text).map_err(|error| Error::Syntax { detail: error.to_string() })?;
    let raw = raw.unwrap_or_default();
    let egress = each(raw.egress, "egress", rule)?;
    let secrets = each(raw.secrets, "secrets", secret)?;
    let auth = each(raw.auth, "auth", raw_auth::grant)?;
    raw_auth::check(&auth, &secrets, &raw.reveal)?;
    raw.limits.check()?;
    Ok(Grants {
        egress,
        secrets,
        auth,
        shadow_reads: each(raw.shadow_reads, "shadow-reads", shadow_read)?,
        reveal: raw.reveal.iter().map(|key| SecretKey::named(key)).collect(),
        limits: raw.limits,
        roots: raw.ca.as_deref().map(roots).transpose()?.unwrap_or_default(),
        digest: Sha256::digest(text.as_bytes()).into(),
    })
}

fn each<R, T>(raws: Vec<R>, list: &str, parse: fn(R, &str) -> Result<T, Error>) -> Result<Vec<T>, Error> {
    raws.into_iter().enumerate().map(|(index, raw)| parse(raw, &format!("{list}[{index}]"))).collect()
}

pub(super) fn rule(raw: RawEgressRule, at: &str) -> Result<EgressRule, Error> {
    let scheme = match raw.scheme {
        None | Some(RawScheme::Https) => Scheme::Https,
        Some(RawScheme::Http) => Scheme::Http,
    };
    let host =
        HostPattern::parse(&raw.host).map_err(|problem| Error::invalid(format!("{at}.host"), problem))?;
    let addresses = raw.addresses.map_or(Ok(AddressClasses::PUBLIC), |raw| addresses(raw, at))?;
    if let HostPattern::Exact(Host::Address(address)) = &host {
        let class = AddressClass::of(*address);
        if !addresses.contains(class) {
            let problem = format!("{address} is a {} address, which this rule does not grant", class.name());
            return Err(Error::invalid(format!("{at}.addresses"), problem));
        }
    }
    Ok(EgressRule {
        host,
        scheme,
        ports: ports(raw.ports, scheme, at)?,
        methods: methods(raw.methods, at)?,
        paths: paths(raw.paths, at)?,
        addresses,
    })
}

fn ports(raw: Option<Vec<u16>>, scheme: Scheme, at: &str) -> Result<BTreeSet<u16>, Error> {
    let ports: BTreeSet<u16> =
        raw.map_or_else(|| [scheme.default_port()].into(), |ports| ports.into_iter().collect());
    if ports.is_empty() || ports.contains(&0) {
        return Err(Error::invalid(format!("{at}.ports"), "needs at least one port from 1 to 65535"));
    }
    Ok(ports)
}

/// Absent means all; an empty list, which reads like "none", is refused rather than guessed.
fn methods(raw: Option<Vec<String>>, at: &str) -> Result<Vec<Method>, Error> {
    let place = || format!("{at}.methods");
    let Some(raw) = raw else { return Ok(Vec::new()) };
    if raw.is_empty() {
        return Err(Error::invalid(place(), "names no method: leave it out for all"));
    }
    let one = |text: String| match Method::from_bytes(text.as_bytes()) {
        Ok(method) if !text.bytes().any(|byte| byte.is_ascii_lowercase()) => Ok(method),
        _ => Err(Error::invalid(place(), format!("{text:?} is no method in capital letters"))),
    };
    raw.into_iter().map(one).collect()
}

fn paths(raw: Option<Vec<String>>, at: &str) -> Result<Vec<PathPrefix>, Error> {
    let place = || format!("{at}.paths");
    let Some(raw) = raw else { return Ok(Vec::new()) };
    if raw.is_empty() {
        return Err(Error::invalid(place(), "names no path: leave it out for all"));
    }
    raw.iter()
        .map(|text| PathPrefix::parse(text).map_err(|problem| Error::invalid(place(), problem)))
        .collect()
}

fn addresses(raw: OneOrMore, at: &str) -> Result<AddressClasses, Error> {
    let names = match raw {
        OneOrMore::One(name) => vec![name],
        OneOrMore::More(names) => names,
    };
    if names.is_empty() {
        return Err(Error::invalid(format!("{at}.addresses"), "names no class: leave it out for public"));
    }
    let one = |name: &String| {
        AddressClass::GRANTABLE.into_iter().find(|class| class.name() == name).ok_or_else(|| {
            let known = AddressClass::GRANTABLE.map(AddressClass::name).join(", ");
            Error::invalid(format!("{at}.addresses"), format!("{name:?} is none of {known}"))
        })
    };
    Ok(AddressClasses::new(names.iter().map(one).collect::<Result<Vec<_>, _>>()?))
}

fn secret(raw: RawSecretGrant, at: &str) -> Result<SecretGrant, Error> {
    if raw.key.is_empty() {
        return Err(Error::invalid(format!("{at}.key"), "is empty"));
    }
    if raw.places.is_empty() {
        return Err(Error::invalid(format!("{at}.places"), "names no place"));
    }
    if raw.hosts.as_ref().is_some_and(Vec::is_empty) {
        return Err(Error::invalid(
            format!("{at}.hosts"),
            "names no host: leave it out for all granted ones",
        ));
    }
    let host = |text: &String| {
        HostPattern::parse(text).map_err(|problem| Error::invalid(format!("{at}.hosts"), problem))
    };
    Ok(SecretGrant {
        key: SecretKey::named(&raw.key),
        places: each(raw.places, &format!("{at}.places"), place)?,
        hosts: raw.hosts.unwrap_or_default().iter().map(host).collect::<Result<_, _>>()?,
    })
}

fn place(raw: RawPlace, at: &str) -> Result<Place, Error> {
    match (raw.header, raw.json, raw.form) {
        (Some(header), None, None) => match HeaderName::from_bytes(header.as_bytes()) {
            Ok(name) if !is_connection_header(&name) => Ok(Place::Header(name)),
            Ok(name) => Err(Error::invalid(at, format!("header {name} belongs to the host"))),
            Err(_) => Err(Error::invalid(at, format!("{header:?} is no header name"))),
        },
        (None, Some(pointer), None) => JsonPointer::parse(&pointer)
            .map(Place::Json)
            .ok_or_else(|| Error::invalid(at, format!("{pointer:?} is no JSON pointer: it starts with /"))),
        (None, None, Some(field)) if !field.is_empty() => Ok(Place::Form(field)),
        _ => Err(Error::invalid(at, "must be exactly one of header, json and form")),
    }
}

fn roots(pem: &str) -> Result<Vec<CertificateDer<'static>>, Error> {
    let invalid = |problem: String| Error::invalid("ca", problem);
    let certificates = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| invalid(format!("cannot be read as PEM ({error})")))?;
    if certificates.is_empty() {
        return Err(invalid("has no certificate in PEM".to_owned()));
    }
    let mut store = rustls::RootCertStore::empty();
    for certificate in &certificates {
        store
            .add(certificate.clone())
            .map_err(|error| invalid(format!("has an unusable certificate ({error})")))?;
    }
    Ok(certificates)
}

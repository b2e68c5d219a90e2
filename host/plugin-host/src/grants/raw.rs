//! The text of grants, and its way into honest types.

use std::collections::{BTreeMap, BTreeSet};

use http::{HeaderName, Method};
use machinist_core::value::id::ProviderName;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_yaml_ng::Mapping;
use sha2::{Digest, Sha256};

use super::part::SEPARATOR;
use super::secret::check_host_keys;
use super::shadow::{RawShadowRead, shadow_read};
use super::{
    EgressRule, FormCondition, GrantedPlace, Grants, JsonPointer, PLACEHOLDER_PREFIX, RawLimits,
    RequestPlace, SecretGrant, SecretKey,
};
use crate::auth::AuthGrant;
use crate::grants::form::is_override;
use crate::target::{
    AddressClass, AddressClasses, Error, Host, HostPattern, METHODS, PathPattern, Regions, Scheme,
    is_connection_header,
};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawGrants {
    egress: Vec<RawEgressRule>,
    secrets: Vec<RawSecretGrant>,
    reveal: Vec<String>,
    auth: Vec<Mapping>,
    #[serde(rename = "shadow-reads")]
    shadow_reads: Vec<RawShadowRead>,
    providers: Option<Vec<String>>,
    regions: Option<Vec<String>>,
    limits: RawLimits,
    ca: Option<String>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEgressRule {
    pub(super) host: String,
    pub(super) scheme: Option<RawScheme>,
    pub(super) ports: Option<Vec<u16>>,
    pub(super) methods: Option<Vec<String>>,
    pub(super) paths: Option<Vec<RawPath>>,
    pub(super) form: Option<BTreeMap<String, OneOrMore>>,
    pub(super) headers: Option<Vec<String>>,
    pub(super) addresses: Option<OneOrMore>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "a prefix of paths, or { exact: PATH }")]
pub(super) enum RawPath {
    Prefix(String),
    Exact(RawExact),
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExact {
    exact: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RawScheme {
    Http,
    Https,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "a text or a list of texts")]
pub(super) enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn all(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
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
    prefix: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Grants, Error> {
    let raw: Option<RawGrants> =
        serde_yaml_ng::from_str(text).map_err(|error| Error::Syntax { detail: error.to_string() })?;
    let raw = raw.unwrap_or_default();
    let regions = Regions::parse(raw.regions)?;
    let egress = each(raw.egress, "egress", |raw, at| rules(&raw, &regions, at))?;
    let egress = egress.into_iter().flatten().collect();
    let secrets = each(raw.secrets, "secrets", |raw, at| secret(raw, &regions, at))?;
    let auth = each(raw.auth, "auth", |raw, at| AuthGrant::parse(raw, &regions, at))?;
    let reveal = each(raw.reveal, "reveal", |text, at| SecretKey::revealed(&text, at))?;
    check_host_keys(&auth, &secrets, &reveal)?;
    raw.limits.check()?;
    Ok(Grants {
        egress,
        secrets,
        auth,
        shadow_reads: each(raw.shadow_reads, "shadow-reads", shadow_read)?,
        reveal: reveal.into_iter().collect(),
        providers: raw.providers.as_deref().map(providers).transpose()?,
        limits: raw.limits,
        roots: raw.ca.as_deref().map(roots).transpose()?.unwrap_or_default(),
        digest: Sha256::digest(text.as_bytes()).into(),
    })
}

fn each<R, T>(
    raws: Vec<R>,
    list: &str,
    parse: impl Fn(R, &str) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    raws.into_iter().enumerate().map(|(index, raw)| parse(raw, &format!("{list}[{index}]"))).collect()
}

/// Absent: the grants name no provider. An empty list, which reads like "none", is refused: such a plugin would serve
/// nothing.
fn providers(raw: &[String]) -> Result<BTreeSet<ProviderName>, Error> {
    let is_wrong = |name: &String| name.trim() != name || name.is_empty();
    if raw.is_empty() || raw.iter().any(is_wrong) {
        return Err(Error::invalid(
            "providers",
            "names no provider: leave it out if no other plugin may claim its own",
        ));
    }
    Ok(raw.iter().map(|name| ProviderName::folded(name)).collect())
}

/// Makes a rule for each region of its host.
fn rules(raw: &RawEgressRule, regions: &Regions, at: &str) -> Result<Vec<EgressRule>, Error> {
    let hosts = regions.fill([raw.host.clone()], &format!("{at}.host"))?;
    hosts.into_iter().map(|host| rule(RawEgressRule { host, ..raw.clone() }, at)).collect()
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
        form: conditions(raw.form, at)?,
        headers: headers(raw.headers, at)?,
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
    let one = |text: String| {
        METHODS.into_iter().find(|method| method.as_str() == text).ok_or_else(|| {
            let known = METHODS.map(|method| method.to_string()).join(", ");
            Error::invalid(place(), format!("{text:?} is none of {known}"))
        })
    };
    raw.into_iter().map(one).collect()
}

fn paths(raw: Option<Vec<RawPath>>, at: &str) -> Result<Vec<PathPattern>, Error> {
    let place = || format!("{at}.paths");
    let Some(raw) = raw else { return Ok(Vec::new()) };
    if raw.is_empty() {
        return Err(Error::invalid(place(), "names no path: leave it out for all"));
    }
    raw.iter()
        .map(|raw| match raw {
            RawPath::Prefix(text) => PathPattern::prefix(text),
            RawPath::Exact(RawExact { exact }) => PathPattern::exact(exact),
        })
        .map(|pattern| pattern.map_err(|problem| Error::invalid(place(), problem)))
        .collect()
}

fn conditions(raw: Option<BTreeMap<String, OneOrMore>>, at: &str) -> Result<Vec<FormCondition>, Error> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    if raw.is_empty() {
        return Err(Error::invalid(format!("{at}.form"), "names no field: leave it out for anything"));
    }
    let one = |(field, values): (String, OneOrMore)| {
        let values: BTreeSet<String> = values.all().into_iter().collect();
        if values.is_empty() || !field.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
            let problem = "needs the name of a field and at least one value";
            return Err(Error::invalid(format!("{at}.form.{field}"), problem));
        }
        Ok(FormCondition { field, values })
    };
    raw.into_iter().map(one).collect()
}

fn headers(raw: Option<Vec<String>>, at: &str) -> Result<Vec<HeaderName>, Error> {
    let place = || format!("{at}.headers");
    let Some(raw) = raw else { return Ok(Vec::new()) };
    let one = |text: &String| match HeaderName::from_bytes(text.as_bytes()) {
        Ok(name) if is_override(&name) => Ok(name),
        Ok(name) => Err(Error::invalid(place(), format!("{name} needs no grant: take it out"))),
        Err(_) => Err(Error::invalid(place(), format!("{text:?} is no header name"))),
    };
    raw.iter().map(one).collect()
}

fn addresses(raw: OneOrMore, at: &str) -> Result<AddressClasses, Error> {
    let names = raw.all();
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

fn secret(raw: RawSecretGrant, regions: &Regions, at: &str) -> Result<SecretGrant, Error> {
    if raw.key.is_empty() {
        return Err(Error::invalid(format!("{at}.key"), "is empty"));
    }
    if raw.key.contains(SEPARATOR) {
        let problem = format!("{:?} is a part of a document, which has no placeholder", raw.key);
        return Err(Error::invalid(format!("{at}.key"), problem));
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
        places: each(raw.places, &format!("{at}.places"), granted_place)?,
        hosts: regions
            .fill(raw.hosts.unwrap_or_default(), &format!("{at}.hosts"))?
            .iter()
            .map(host)
            .collect::<Result<_, _>>()?,
    })
}

fn granted_place(mut raw: RawPlace, at: &str) -> Result<GrantedPlace, Error> {
    let prefix = raw.prefix.take();
    let is_plain = |text: &String| {
        let is_printable = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        (1..=PREFIX_BYTES).contains(&text.len()) && is_printable && !text.contains(PLACEHOLDER_PREFIX)
    };
    if prefix.as_ref().is_some_and(|text| !is_plain(text)) {
        let problem = format!("must have 1 to {PREFIX_BYTES} printable characters of ASCII");
        return Err(Error::invalid(format!("{at}.prefix"), problem));
    }
    Ok(GrantedPlace { place: place(raw, at)?, prefix: prefix.unwrap_or_default() })
}

/// Long enough for the name of a scheme. A longer text is no prefix but a document.
const PREFIX_BYTES: usize = 32;

fn place(raw: RawPlace, at: &str) -> Result<RequestPlace, Error> {
    match (raw.header, raw.json, raw.form) {
        (Some(header), None, None) => match HeaderName::from_bytes(header.as_bytes()) {
            Ok(name) if !is_connection_header(&name) => Ok(RequestPlace::Header(name)),
            Ok(name) => Err(Error::invalid(at, format!("header {name} belongs to the host"))),
            Err(_) => Err(Error::invalid(at, format!("{header:?} is no header name"))),
        },
        (None, Some(pointer), None) => JsonPointer::parse(&pointer)
            .map(RequestPlace::Json)
            .ok_or_else(|| Error::invalid(at, format!("{pointer:?} is no JSON pointer: it starts with /"))),
        (None, None, Some(field)) if !field.is_empty() => Ok(RequestPlace::Form(field)),
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

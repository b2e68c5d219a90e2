//! Grants: which hosts a plugin may reach, where its secrets may be sent, which requests the host may sign for it, and
//! its limits.
//!
//! The lines of `auth` are in [`crate::auth`].
//!
//! Text is parsed once into checked types. Matching is a pure function of the grants and a normalised target.
//!
//! | module | what it does |
//! | --- | --- |
//! | `raw` | parses `grants.yaml` |
//! | `form` | conditions on fields of a request |
//! | `part` | a part of a JSON document that a driver may see |
//! | `secret` | where a secret may be sent |
//! | `shadow` | what a shadow may read |
//! | `limits` | limits that an operator may set |
//! | `ceiling` | whether grants stay below an upper bound |
//! | `attack_tests` | attacks by requests that the grants seem to allow |
//! | `shipped_tests` | shipped grants allow what the recorded drivers do, and nothing that none of them does |

mod ceiling;
pub(crate) mod form;
mod limits;
mod part;
mod raw;
mod secret;
mod shadow;

use std::collections::BTreeSet;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, Method};
use machinist_core::value::id::ProviderName;
use rustls::pki_types::CertificateDer;

use crate::auth::AuthGrant;
use crate::target::{
    AddressClasses, Error, HostPattern, PathPattern, RequestTarget, Scheme, TEXT_LIMIT_BYTES,
};

pub(crate) use form::FormCondition;
pub(crate) use limits::RawLimits;
pub(crate) use part::{PartValue, SecretPart};
pub use secret::{GrantedPlace, RequestPlace, SecretGrant};
pub(crate) use secret::{JsonPointer, PLACEHOLDER_PREFIX, SecretKey};
pub(crate) use shadow::ShadowRead;

pub(crate) use form::{is_override, is_range};

/// One line of what may be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EgressRule {
    pub(crate) host: HostPattern,
    pub(crate) scheme: Scheme,
    pub(crate) ports: BTreeSet<u16>,
    pub(crate) methods: Vec<Method>,
    pub(crate) paths: Vec<PathPattern>,
    /// All of them hold.
    pub(crate) form: Vec<FormCondition>,
    /// Headers that are refused elsewhere.
    pub(crate) headers: Vec<HeaderName>,
    pub(crate) addresses: AddressClasses,
}

impl EgressRule {
    pub fn host(&self) -> &HostPattern {
        &self.host
    }

    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Which ports; never empty.
    pub fn ports(&self) -> &BTreeSet<u16> {
        &self.ports
    }

    /// Which methods; empty means all.
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// Which paths; empty means all.
    pub fn paths(&self) -> &[PathPattern] {
        &self.paths
    }

    /// Returns the conditions on form fields of the request; empty: none.
    pub fn form(&self) -> &[FormCondition] {
        &self.form
    }

    /// Returns the headers that this rule allows although they change what a server sees.
    pub fn headers(&self) -> &[HeaderName] {
        &self.headers
    }

    /// Which classes of addresses may be dialled.
    pub fn addresses(&self) -> AddressClasses {
        self.addresses
    }

    /// How far the target gets through this rule; `None` is all the way.
    fn stops_at(&self, target: &RequestTarget) -> Option<Denial> {
        if !self.host.matches(target.host()) {
            Some(Denial::Host)
        } else if self.scheme != target.scheme() {
            Some(Denial::Scheme)
        } else if !self.ports.contains(&target.port()) {
            Some(Denial::Port)
        } else if !self.methods.is_empty() && !self.methods.contains(target.method()) {
            Some(Denial::Method)
        } else if !self.paths.is_empty() && !self.paths.iter().any(|pattern| target.has_path(pattern)) {
            Some(Denial::Path)
        } else {
            None
        }
    }

    /// The same for a whole request.
    fn stops_whole(&self, target: &RequestTarget, headers: &HeaderMap, body: &[u8]) -> Option<Denial> {
        let is_denied = |name: &HeaderName| is_override(name) && !self.headers.contains(name);
        self.stops_at(target)
            .or_else(|| headers.keys().any(is_denied).then_some(Denial::Header))
            .or_else(|| (!form::all_match(&self.form, target.query(), headers, body)).then_some(Denial::Form))
    }
}

/// The first missing permission, at the rule that came nearest. Ordered from the farthest to the nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Denial {
    /// No rule names the host.
    Host,
    Scheme,
    /// Host and scheme are granted, the port is not.
    Port,
    Method,
    Path,
    /// A header that changes what the server sees is not granted there.
    Header,
    /// The value of a field is not granted there.
    Form,
}

impl Denial {
    /// For metrics and messages: a closed set.
    pub fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Scheme => "scheme",
            Self::Port => "port",
            Self::Method => "method",
            Self::Path => "path",
            Self::Header => "header",
            Self::Form => "form",
        }
    }
}

/// The decision of the grants about a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressDecision<'a> {
    /// The first rule that allows it.
    Allowed(&'a EgressRule),
    Denied(Denial),
}

/// All that the operator allows one plugin. The default allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    pub(crate) egress: Vec<EgressRule>,
    pub(crate) secrets: Vec<SecretGrant>,
    pub(crate) reveal: BTreeSet<SecretKey>,
    pub(crate) auth: Vec<AuthGrant>,
    pub(crate) shadow_reads: Vec<ShadowRead>,
    pub(crate) providers: Option<BTreeSet<ProviderName>>,
    pub(crate) limits: RawLimits,
    pub(crate) roots: Vec<CertificateDer<'static>>,
    pub(crate) digest: [u8; 32],
}

impl Grants {
    /// Reads YAML or JSON. Strict: an unknown field is an error that names it. Empty text grants nothing.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > TEXT_LIMIT_BYTES {
            return Err(Error::TooLong { bytes: text.len() });
        }
        raw::parse(text)
    }

    /// Whether the target may be asked, by name. The addresses that its name resolves to are checked when dialled.
    pub fn allows(&self, target: &RequestTarget) -> EgressDecision<'_> {
        self.first(|rule| rule.stops_at(target))
    }

    /// Whether this request may be sent: its target, and what its headers and fields say beside.
    pub fn allows_whole(
        &self,
        target: &RequestTarget,
        headers: &HeaderMap,
        body: &[u8],
    ) -> EgressDecision<'_> {
        self.first(|rule| rule.stops_whole(target, headers, body))
    }

    fn first(&self, stops_at: impl Fn(&EgressRule) -> Option<Denial>) -> EgressDecision<'_> {
        let mut nearest = Denial::Host;
        for rule in &self.egress {
            match stops_at(rule) {
                None => return EgressDecision::Allowed(rule),
                Some(denial) => nearest = nearest.max(denial),
            }
        }
        EgressDecision::Denied(nearest)
    }

    /// The egress rules in the order in which they are tried.
    pub fn egress(&self) -> &[EgressRule] {
        &self.egress
    }

    /// Where secrets may travel.
    pub fn secrets(&self) -> &[SecretGrant] {
        &self.secrets
    }

    pub fn secret<'a>(&'a self, key: &'a SecretKey) -> impl Iterator<Item = &'a SecretGrant> {
        self.secrets.iter().filter(move |grant| grant.key() == key)
    }

    /// True when the plugin may see the value itself.
    pub fn reveals(&self, key: &SecretKey) -> bool {
        self.reveal.contains(key)
    }

    /// Returns the keys, and the parts of documents under keys, whose values the plugin may see.
    pub fn revealed(&self) -> &BTreeSet<SecretKey> {
        &self.reveal
    }

    /// Returns the ways in which the host may authenticate requests, in order of precedence. The keys that they use
    /// have no placeholder.
    pub fn auth(&self) -> &[AuthGrant] {
        &self.auth
    }

    /// Returns the requests that a shadow may send beside its recording.
    pub fn shadow_reads(&self) -> &[ShadowRead] {
        &self.shadow_reads
    }

    /// Returns the providers that the plugin may serve. `None`: the grants name none, so the plugin serves providers
    /// that no other plugin's grants name.
    pub fn providers(&self) -> Option<&BTreeSet<ProviderName>> {
        self.providers.as_ref()
    }

    /// Limits that differ from the host's.
    pub fn limits(&self) -> &RawLimits {
        &self.limits
    }

    /// Certificate authorities that this plugin trusts beside the system's.
    pub fn roots(&self) -> &[CertificateDer<'static>] {
        &self.roots
    }

    /// SHA-256 of the text; equal digests are equal grants.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}

#[cfg(test)]
mod attack_tests;
#[cfg(test)]
mod shipped_tests;
#[cfg(test)]
mod tests;

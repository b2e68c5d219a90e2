//! Components in OCI registries. A tag is resolved once: the digest is the version, until a person asks for another
//! resolution. The status that the host writes onto the ConfigMap has the digest.

use std::net::IpAddr;

use machinist_artifacts::reference::ReferenceError;
use machinist_artifacts::{ContentDigest, Reference};

use crate::sources::Packed;
use crate::sources::configmap::RawConfigMap;
use crate::sources::keys::PluginKeys;
use crate::sources::status::{PluginStatus, ResolvedStatus};
use crate::target::AddressClass;

/// An artifact, as a source names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub reference: Reference,
    /// The Secret with the login, in the namespace of the source.
    pub pull_secret: Option<String>,
    pub asked: String,
    /// The digest of this resolution.
    pub pin: Option<ContentDigest>,
}

/// The resolution of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub reference: Reference,
    pub asked: String,
    /// The digest of the manifest, or of the index that leads to it.
    pub manifest: ContentDigest,
}

/// Where the bytes of a component are.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    Here(Packed),
    Remote(Remote),
}

impl Remote {
    pub(crate) fn read(text: &str, map: &RawConfigMap) -> Result<Self, ReferenceError> {
        let reference: Reference = text.parse()?;
        let asked = map.annotations.get(PluginKeys::RESOLVE_ANNOTATION).cloned().unwrap_or_default();
        let pull_secret = map.data.get(PluginKeys::PULL_SECRET_KEY).map(|name| name.trim().to_owned());
        let mut remote = Self { reference, pull_secret, asked, pin: None };
        let resolved = PluginStatus::of(&map.annotations).resolved.and_then(Resolved::of_status);
        remote.pin = remote.pinned_by(resolved.as_ref());
        Ok(remote)
    }

    /// The digest to which this reference was resolved by this asking, if that is what was resolved.
    pub(crate) fn pinned_by(&self, resolved: Option<&Resolved>) -> Option<ContentDigest> {
        let is_mine =
            |resolved: &&Resolved| resolved.reference == self.reference && resolved.asked == self.asked;
        self.pin.or_else(|| resolved.filter(is_mine).map(|resolved| resolved.manifest))
    }

    /// Returns the reference to fetch: by digest if it was resolved.
    pub(crate) fn target(&self) -> Reference {
        self.pin.map_or_else(|| self.reference.clone(), |pin| self.reference.at(pin))
    }

    pub(crate) fn resolved(&self, manifest: ContentDigest) -> Resolved {
        Resolved { reference: self.reference.clone(), asked: self.asked.clone(), manifest }
    }
}

impl Resolved {
    /// Reads back the entry of a status. `None` if it is no reference with a digest.
    pub fn of_status(status: ResolvedStatus) -> Option<Self> {
        let (reference, manifest) = (status.reference.parse().ok()?, status.manifest.parse().ok()?);
        Some(Self { reference, asked: status.asked, manifest })
    }
}

impl From<&Resolved> for ResolvedStatus {
    fn from(resolved: &Resolved) -> Self {
        Self {
            reference: resolved.reference.to_string(),
            asked: resolved.asked.clone(),
            manifest: resolved.manifest.to_string(),
        }
    }
}

/// Whether components may come from registries on the machine of the host, which are asked without TLS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoopbackRegistries {
    /// Nothing that listens beside the host is asked.
    #[default]
    Refused,
    /// For tests and development.
    Allowed,
}

impl LoopbackRegistries {
    /// Says why a registry at an address is not asked. Registries inside a company or a cluster are usual, and need
    /// TLS; metadata services and neighbours on the network segment are never registries.
    #[must_use]
    pub fn judge(self) -> machinist_artifacts::Judge {
        match self {
            Self::Refused => elsewhere,
            Self::Allowed => everywhere,
        }
    }
}

fn everywhere(address: IpAddr) -> Result<(), &'static str> {
    match AddressClass::of(address) {
        AddressClass::Public | AddressClass::Private | AddressClass::Shared | AddressClass::Loopback => {
            Ok(())
        }
        AddressClass::LinkLocal => Err("it is at a link-local address"),
        AddressClass::Metadata => Err("it is at an address of a cloud's metadata service"),
        AddressClass::Unusable | AddressClass::Denied => Err("it is at an address that is not of one host"),
    }
}

fn elsewhere(address: IpAddr) -> Result<(), &'static str> {
    match AddressClass::of(address) {
        AddressClass::Loopback => {
            Err("it is on the machine of the host, which asks there only with --allow-loopback-registries")
        }
        AddressClass::Public
        | AddressClass::Private
        | AddressClass::Shared
        | AddressClass::LinkLocal
        | AddressClass::Metadata
        | AddressClass::Unusable
        | AddressClass::Denied => everywhere(address),
    }
}

#[cfg(test)]
mod registries_tests {
    use super::*;

    #[test]
    fn attack_no_registry_is_a_metadata_service_or_a_neighbour_of_the_host() {
        let asked = |registries: LoopbackRegistries, address: &str| {
            registries.judge()(address.parse().expect("an address")).is_ok()
        };
        for (address, with_flag, without) in [
            ("93.184.216.34", true, true),
            ("10.1.2.3", true, true),
            ("100.64.0.1", true, true),
            ("127.0.0.1", true, false),
            ("127.9.9.9", true, false),
            ("::1", true, false),
            ("::ffff:127.0.0.1", true, false),
            ("169.254.169.254", false, false),
            ("::ffff:169.254.169.254", false, false),
            ("fd00:ec2::254", false, false),
            ("100.100.100.200", false, false),
            ("169.254.1.1", false, false),
            ("fe80::1", false, false),
            ("0.0.0.0", false, false),
            ("224.0.0.1", false, false),
        ] {
            assert_eq!(asked(LoopbackRegistries::Allowed, address), with_flag, "{address}");
            assert_eq!(asked(LoopbackRegistries::Refused, address), without, "{address}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Content;

    fn map(oci: &str) -> RawConfigMap {
        let mut map = RawConfigMap { name: "aws".to_owned(), ..RawConfigMap::default() };
        map.labels.insert(PluginKeys::KIND_LABEL.to_owned(), "driver".to_owned());
        map.data.insert(PluginKeys::OCI_KEY.to_owned(), oci.to_owned());
        map
    }

    fn target(map: &RawConfigMap) -> String {
        match map.declared() {
            Ok(declared) => match declared.component {
                Content::Remote(remote) => remote.target().to_string(),
                Content::Whole(_) | Content::Parts(_) => "here".to_owned(),
            },
            Err(error) => machinist_core::value::error_chain::chain(&error),
        }
    }

    #[test]
    fn a_tag_is_pinned_by_the_status_until_it_is_requested_again() {
        let manifest = ContentDigest::of(b"manifest");
        let mut map = map("ghcr.io/acme/aws:1");
        assert_eq!(target(&map), "ghcr.io/acme/aws:1");
        let (before, Ok(remote)) = (map.fingerprint(), Remote::read("ghcr.io/acme/aws:1", &map)) else {
            panic!("reads")
        };
        let resolved = Some(ResolvedStatus::from(&remote.resolved(manifest)));
        let status = PluginStatus { state: "Ready".to_owned(), resolved, ..PluginStatus::default() };
        map.annotations.insert(PluginKeys::STATUS_ANNOTATION.to_owned(), status.to_json());
        assert_eq!(target(&map), format!("ghcr.io/acme/aws@{manifest}"));
        assert_eq!(map.fingerprint(), before, "what the host writes is no new content");
        map.annotations.insert(PluginKeys::RESOLVE_ANNOTATION.to_owned(), "again".to_owned());
        assert_eq!(target(&map), "ghcr.io/acme/aws:1");
        assert_ne!(map.fingerprint(), before, "to ask anew is");
        map.annotations.remove(PluginKeys::RESOLVE_ANNOTATION);
        map.data.insert(PluginKeys::OCI_KEY.to_owned(), "ghcr.io/acme/aws:2".to_owned());
        assert_eq!(target(&map), "ghcr.io/acme/aws:2", "another tag was never resolved");
        for invalid in
            ["", "{", "[]", r#"{"resolved":7}"#, r#"{"resolved":{"reference":"x","manifest":"y"}}"#]
        {
            map.annotations.insert(PluginKeys::STATUS_ANNOTATION.to_owned(), invalid.to_owned());
            assert_eq!(target(&map), "ghcr.io/acme/aws:2", "{invalid}");
        }
    }

    #[test]
    fn a_reference_is_the_only_component_and_names_an_artifact() {
        assert!(target(&map("aws:1")).starts_with("oci is wrong: \"aws:1\" names no registry"));
        let mut both = map("ghcr.io/aws:1");
        both.binary_data.insert("plugin.wasm".to_owned(), bytes::Bytes::new());
        assert_eq!(target(&both), "there is both plugin.wasm and oci: keep one of them");
    }
}

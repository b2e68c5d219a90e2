//! Components in OCI registries. A tag is resolved once: the digest is the version, until a person asks for another
//! resolution. The status that the host writes onto the ConfigMap has the digest.

use machinist_artifacts::reference::ReferenceError;
use machinist_artifacts::{ContentDigest, Reference};

use super::Packed;
use super::configmap::RawConfigMap;
use crate::sources::keys::Keys;
use crate::sources::status::{PluginStatus, ResolvedStatus};

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
        let asked = map.annotations.get(Keys::RESOLVE_ANNOTATION).cloned().unwrap_or_default();
        let pull_secret = map.data.get(Keys::PULL_SECRET_KEY).map(|name| name.trim().to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Content;

    fn map(oci: &str) -> RawConfigMap {
        let mut map = RawConfigMap { name: "aws".to_owned(), ..RawConfigMap::default() };
        map.labels.insert(Keys::KIND_LABEL.to_owned(), "driver".to_owned());
        map.data.insert(Keys::OCI_KEY.to_owned(), oci.to_owned());
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
        map.annotations.insert(Keys::STATUS_ANNOTATION.to_owned(), status.to_json());
        assert_eq!(target(&map), format!("ghcr.io/acme/aws@{manifest}"));
        assert_eq!(map.fingerprint(), before, "what the host writes is no new content");
        map.annotations.insert(Keys::RESOLVE_ANNOTATION.to_owned(), "again".to_owned());
        assert_eq!(target(&map), "ghcr.io/acme/aws:1");
        assert_ne!(map.fingerprint(), before, "to ask anew is");
        map.annotations.remove(Keys::RESOLVE_ANNOTATION);
        map.data.insert(Keys::OCI_KEY.to_owned(), "ghcr.io/acme/aws:2".to_owned());
        assert_eq!(target(&map), "ghcr.io/acme/aws:2", "another tag was never resolved");
        for invalid in
            ["", "{", "[]", r#"{"resolved":7}"#, r#"{"resolved":{"reference":"x","manifest":"y"}}"#]
        {
            map.annotations.insert(Keys::STATUS_ANNOTATION.to_owned(), invalid.to_owned());
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

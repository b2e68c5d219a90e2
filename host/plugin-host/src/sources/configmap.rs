//! A plugin in a ConfigMap.
//!
//! | where | what |
//! | --- | --- |
//! | label `machinist.dev/plugin` | `driver` or `health-policy` |
//! | label `machinist.dev/plugin-name` | the plugin; several ConfigMaps with one name are its versions. Default: the ConfigMap's name |
//! | annotation `machinist.dev/plugin-version` | the order of the versions, such as `1.4.0`, see [`super::age`]; optional |
//! | `binaryData` `plugin.wasm`, `plugin.wasm.gz` or `plugin.wasm.zst` | the component |
//! | `data` `parts.json` | instead of it: `{"encoding":"zstd","parts":[{"configMap":"…","sha256":"…"}, …]}`, the parts in order |
//! | `data` `oci` | instead of it: an artifact of a registry, `HOST/REPOSITORY:TAG` or `HOST/REPOSITORY@sha256:…`, see [`super::remote`] |
//! | `data` `oci-pull-secret` | with `oci`: name of a Secret of type `kubernetes.io/dockerconfigjson` in the namespace, optional |
//! | `data` `bundle.json`, `bundle.sig` | a bundle (component, grants, settings, name, providers, counter) as `machinist plugin bundle` prints it, and its signature as `cosign sign-blob` makes it; needed where signatures are |
//! | `data` `signature` | signature of the unpacked component alone as `cosign sign-blob` makes it, optional |
//! | `data` `sha256` | digest of the unpacked component; needed with parts, optional otherwise |
//! | `data` `settings.json` | what the driver reads through `machinist:host/settings`, optional |
//! | `data` `grants.yaml` or `grants.json` | hosts, secrets and limits; without it a driver reaches nothing. Not for policies |
//! | `data` `rollout.yaml` | how this version comes to serve, see [`crate::sources::release`]; without it at once. Not for policies |
//! | `data` `policy.yaml` or `policy.json` | mode, Machines and limits of a policy, see [`crate::PolicyTerms`]; without it a policy observes all |
//!
//! A component that is larger than a ConfigMap lies in parts, each a ConfigMap of its own beside the index that names
//! them:
//!
//! | where | what |
//! | --- | --- |
//! | label `machinist.dev/plugin` | `part` |
//! | `data` `part` | its place, such as `2/5` |
//! | `binaryData` `plugin.wasm.part` | its bytes; all of them in order are the packed component |
//!
//! The index is the version: what it names is loaded when all of it is there and every digest fits, in whatever order
//! the ConfigMaps arrive. Two versions have parts of different names, so changing the index is the switch from one to
//! the other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use machinist_artifacts::ContentDigest;
use machinist_core::health_policy::Mode;
use machinist_core::value::id::PluginName;
use sha2::{Digest as _, Sha256};

use super::parts::Index;
use super::remote::Remote;
use super::{
    Age, Content, Contract, Declared, Encoding, Error, Packed, PluginKind, SignedBundle, SourceId, Texts,
};
use crate::grants::Grants;
use crate::health_policy::PolicyTerms;
use crate::sources::keys::PluginKeys;
use crate::sources::release::{Release, ReleaseMode};

/// The parts of a ConfigMap that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawConfigMap {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub resource_version: String,
    pub created: Option<Timestamp>,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
    pub data: BTreeMap<String, String>,
    pub binary_data: BTreeMap<String, Bytes>,
}

/// Tells two contents of a ConfigMap apart. Annotations and resource version are not content: the host itself writes
/// the plugin's status there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of what could not be read.
    pub(crate) fn of_error(trouble: &str) -> Self {
        Self([0; 32]).and(trouble)
    }

    /// The fingerprint of this content in these circumstances.
    pub(crate) fn and(self, circumstances: &str) -> Self {
        let mut hash = Sha256::new_with_prefix(self.0);
        hash.update(circumstances);
        Self(hash.finalize().into())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::output_limits::hex(&self.0))
    }
}

impl RawConfigMap {
    pub fn source(&self) -> SourceId {
        SourceId::new(&self.namespace, &self.name)
    }

    /// True for a part of a component; a part alone is no plugin.
    pub fn is_part(&self) -> bool {
        self.labels.get(PluginKeys::KIND_LABEL).is_some_and(|kind| kind == PluginKeys::PART_KIND)
    }

    /// Its content. Hashes up to a megabyte.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        part(self.uid.as_bytes());
        for label in [PluginKeys::KIND_LABEL, PluginKeys::NAME_LABEL] {
            part(self.labels.get(label).map_or(&b"\0absent"[..], |value| value.as_bytes()));
        }
        for (key, value) in &self.data {
            part(key.as_bytes());
            part(value.as_bytes());
        }
        // The request to resolve a tag again is content; its result is not.
        if self.data.contains_key(PluginKeys::OCI_KEY) {
            part(
                self.annotations
                    .get(PluginKeys::RESOLVE_ANNOTATION)
                    .map_or(&b""[..], |asked| asked.as_bytes()),
            );
        }
        part(b"\0binary");
        for (key, value) in &self.binary_data {
            part(key.as_bytes());
            part(value);
        }
        Fingerprint(hash.finalize().into())
    }

    /// The plugin that this ConfigMap is a version of, by its labels alone.
    pub fn plugin_name(&self) -> PluginName {
        PluginName::new(self.labels.get(PluginKeys::NAME_LABEL).map_or(self.name.as_str(), String::as_str))
    }

    /// Its place among the versions of its plugin.
    pub(crate) fn age(&self) -> Age {
        Age::of(&self.annotations, self.created)
    }

    /// Reads the ConfigMap.
    ///
    /// Fails with [`Error::NotAPlugin`] when it is not meant for this host, and otherwise with what is wrong in it. The
    /// component itself is not looked at.
    pub fn declared(&self) -> Result<Declared<Content>, Error> {
        let kind = match self.labels.get(PluginKeys::KIND_LABEL).map(String::as_str) {
            None => return Err(Error::NotAPlugin),
            Some(PluginKeys::DRIVER_KIND) => PluginKind::Driver,
            Some(PluginKeys::POLICY_KIND) => PluginKind::HealthPolicy(self.terms()?),
            Some(PluginKeys::PART_KIND) => return Err(Error::IsPart),
            Some(kind) => return Err(Error::UnknownKind { kind: kind.to_owned() }),
        };
        let plugin = self.plugin_name();
        if plugin.is_empty() {
            return Err(Error::EmptyName);
        }
        let digest = self
            .data
            .get(PluginKeys::SHA256)
            .map(|text| super::digest(text))
            .transpose()
            .map_err(Error::Digest)?;
        let component = self.component()?;
        if matches!(component, Content::Parts(_)) && digest.is_none() {
            return Err(Error::PartsWithoutDigest);
        }
        Ok(Declared {
            plugin,
            source: self.source(),
            age: self.age(),
            component,
            digest,
            signature: self.data.get(PluginKeys::SIGNATURE).cloned(),
            bundle: self.bundle()?,
            texts: self.texts(),
            settings: self.settings()?,
            grants: self.grants()?,
            rollout: self.rollout()?,
            warnings: self.warnings(&kind),
            kind,
        })
    }

    fn component(&self) -> Result<Content, Error> {
        let whole =
            Encoding::ALL.into_iter().filter(|encoding| self.binary_data.contains_key(encoding.key()));
        let index = self.data.get(PluginKeys::INDEX_KEY);
        let remote = self.data.get(PluginKeys::OCI_KEY);
        let elsewhere =
            index.map(|_| PluginKeys::INDEX_KEY).into_iter().chain(remote.map(|_| PluginKeys::OCI_KEY));
        let mut keys = whole.clone().map(Encoding::key).chain(elsewhere);
        if let (Some(first), Some(second)) = (keys.next(), keys.next()) {
            return Err(Error::TwoComponents { first, second });
        }
        if let Some(text) = index {
            return Index::parse(text).map(Content::Parts).map_err(Error::Index);
        }
        if let Some(text) = remote {
            return Remote::read(text, self).map(Content::Remote).map_err(Error::Reference);
        }
        for encoding in whole {
            if let Some(bytes) = self.binary_data.get(encoding.key()) {
                return Ok(Content::Whole(Packed::whole(encoding, bytes.clone())));
            }
        }
        if self.binary_data.contains_key(PluginKeys::INDEX_KEY) {
            return Err(Error::IndexAsBytes);
        }
        match Encoding::ALL.map(Encoding::key).into_iter().find(|&key| self.data.contains_key(key)) {
            Some(key) => Err(Error::ComponentAsText { key }),
            None => Err(Error::NoComponent),
        }
    }

    fn bundle(&self) -> Result<Option<SignedBundle>, Error> {
        match (self.data.get(PluginKeys::BUNDLE), self.data.get(PluginKeys::BUNDLE_SIGNATURE)) {
            (None, None) => Ok(None),
            (Some(text), Some(signature)) => {
                Ok(Some(SignedBundle { text: text.clone(), signature: signature.clone() }))
            }
            (Some(_), None) => {
                Err(Error::HalfBundle { present: PluginKeys::BUNDLE, absent: PluginKeys::BUNDLE_SIGNATURE })
            }
            (None, Some(_)) => {
                Err(Error::HalfBundle { present: PluginKeys::BUNDLE_SIGNATURE, absent: PluginKeys::BUNDLE })
            }
        }
    }

    /// Of a text in two forms, each counts as itself: both at once are refused.
    fn texts(&self) -> Texts {
        let digest = |keys: &[&str]| {
            let text = keys.iter().find_map(|&key| self.data.get(key));
            text.map(|text| ContentDigest::of(text.as_bytes()))
        };
        Texts {
            grants: digest(&[PluginKeys::GRANTS_YAML, PluginKeys::GRANTS_JSON]),
            settings: digest(&[PluginKeys::SETTINGS]),
            terms: digest(&[PluginKeys::TERMS_YAML, PluginKeys::TERMS_JSON]),
        }
    }

    fn settings(&self) -> Result<Arc<str>, Error> {
        let Some(text) = self.data.get(PluginKeys::SETTINGS) else { return Ok(Arc::from("{}")) };
        match serde_json::from_str(text) {
            Ok(serde_json::Value::Object(_)) => Ok(Arc::from(text.as_str())),
            Ok(_) => Err(Error::Settings(None)),
            Err(error) => Err(Error::Settings(Some(error))),
        }
    }

    fn grants(&self) -> Result<Arc<Grants>, Error> {
        let text = match (self.data.get(PluginKeys::GRANTS_YAML), self.data.get(PluginKeys::GRANTS_JSON)) {
            (Some(_), Some(_)) => return Err(Error::TwoGrants),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => "{}",
        };
        Grants::parse(text).map(Arc::new).map_err(Error::Grants)
    }

    fn rollout(&self) -> Result<Option<Arc<Release>>, Error> {
        let Some(text) = self.data.get(PluginKeys::ROLLOUT_YAML) else { return Ok(None) };
        let rollout = Release::parse(text).map_err(Error::Release)?;
        Ok((rollout.mode != ReleaseMode::All).then(|| Arc::new(rollout)))
    }

    fn terms(&self) -> Result<PolicyTerms, Error> {
        if self.data.contains_key(PluginKeys::ROLLOUT_YAML) {
            return Err(Error::ReleaseOfPolicy);
        }
        if let Some(key) = [PluginKeys::GRANTS_YAML, PluginKeys::GRANTS_JSON]
            .into_iter()
            .find(|&key| self.data.contains_key(key))
        {
            return Err(Error::GrantsOfPolicy { key });
        }
        let text = match (self.data.get(PluginKeys::TERMS_YAML), self.data.get(PluginKeys::TERMS_JSON)) {
            (Some(_), Some(_)) => return Err(Error::TwoTerms),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => "{}",
        };
        PolicyTerms::parse(text).map_err(Error::Terms)
    }

    /// Returns the role. `None`: the label has no known value.
    pub(crate) fn role(&self) -> Option<Contract> {
        match self.labels.get(PluginKeys::KIND_LABEL)?.as_str() {
            PluginKeys::DRIVER_KIND => Some(Contract::Driver),
            PluginKeys::POLICY_KIND => Some(Contract::HealthPolicy),
            _ => None,
        }
    }

    /// Of a policy: its terms, or what is assumed where they cannot be read. Everything else of it may be wrong.
    pub(crate) fn assumed_terms(&self) -> Option<PolicyTerms> {
        self.role().filter(|role| *role == Contract::HealthPolicy)?;
        let texts =
            [PluginKeys::TERMS_YAML, PluginKeys::TERMS_JSON].into_iter().filter_map(|key| self.data.get(key));
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        Some(match texts[..] {
            [] => PolicyTerms::default(),
            [text] => PolicyTerms::assumed(text),
            // Nobody knows which of two counts.
            _ => PolicyTerms { mode: Mode::Enforce, ..PolicyTerms::default() },
        })
    }

    fn warnings(&self, kind: &PluginKind) -> Vec<String> {
        let of_kind = match kind {
            PluginKind::Driver => {
                &[PluginKeys::GRANTS_YAML, PluginKeys::GRANTS_JSON, PluginKeys::ROLLOUT_YAML][..]
            }
            PluginKind::HealthPolicy(_) => &[PluginKeys::TERMS_YAML, PluginKeys::TERMS_JSON],
        };
        let known = [
            &[
                PluginKeys::SHA256,
                PluginKeys::SIGNATURE,
                PluginKeys::BUNDLE,
                PluginKeys::BUNDLE_SIGNATURE,
                PluginKeys::SETTINGS,
                PluginKeys::INDEX_KEY,
                PluginKeys::OCI_KEY,
                PluginKeys::PULL_SECRET_KEY,
            ],
            of_kind,
        ]
        .concat();
        let components = Encoding::ALL.map(Encoding::key);
        let in_data = self.data.keys().filter(|key| !known.contains(&key.as_str())).map(|key| ("data", key));
        let in_binary = self.binary_data.keys().filter(|key| !components.contains(&key.as_str()));
        in_data
            .chain(in_binary.map(|key| ("binaryData", key)))
            .map(|(place, key)| format!("{place} has a key without meaning: {key}"))
            .chain(Age::warning(&self.annotations))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WASM: &str = "plugin.wasm";
    const INDEX: &str = r#"{"encoding":"zstd","parts":[{"configMap":"sim-1-1","sha256":"aa"}]}"#;

    fn driver() -> RawConfigMap {
        RawConfigMap {
            namespace: "machinist".to_owned(),
            name: "sim-1".to_owned(),
            labels: BTreeMap::from([(PluginKeys::KIND_LABEL.to_owned(), "driver".to_owned())]),
            binary_data: BTreeMap::from([(WASM.to_owned(), Bytes::from_static(b"\0asm"))]),
            ..RawConfigMap::default()
        }
    }

    fn check(change: impl FnOnce(&mut RawConfigMap), expected: &str) {
        let mut raw = driver();
        change(&mut raw);
        let outcome = match raw.declared() {
            Ok(declared) => format!("{} {:?}", declared.plugin, declared.warnings),
            Err(error) => error.to_string(),
        };
        assert_eq!(outcome, expected);
    }

    fn data(key: &str, value: &str) -> impl FnOnce(&mut RawConfigMap) {
        move |raw| {
            raw.data.insert(key.to_owned(), value.to_owned());
        }
    }

    #[test]
    fn a_configmap_declares_a_plugin_or_says_what_is_wrong() {
        check(|_| {}, "sim-1 []");
        check(|raw| drop(raw.labels.insert(PluginKeys::NAME_LABEL.to_owned(), "sim".to_owned())), "sim []");
        check(|raw| raw.labels.clear(), "the label machinist.dev/plugin is absent");
        check(
            |raw| drop(raw.labels.insert(PluginKeys::KIND_LABEL.to_owned(), "x".to_owned())),
            "label machinist.dev/plugin is \"x\"; this host knows \"driver\" and \"health-policy\"",
        );
        check(
            |raw| raw.binary_data.clear(),
            "binaryData has neither plugin.wasm nor plugin.wasm.gz nor plugin.wasm.zst, and data has no parts.json: \
             `machinist plugin push` brings the component",
        );
        for key in ["plugin.wasm.zst", "plugin.wasm.gz"] {
            check(
                |raw| drop(raw.binary_data.insert(key.to_owned(), Bytes::new())),
                &format!("there is both plugin.wasm and {key}: keep one of them"),
            );
        }
        check(data("sha256", "abc"), "sha256 is wrong");
        let half = "they belong together, as `machinist plugin sign` writes them";
        check(data("bundle.json", "{}"), &format!("there is bundle.json without bundle.sig: {half}"));
        check(data("bundle.sig", "x"), &format!("there is bundle.sig without bundle.json: {half}"));
        check(data("settings.json", "[]"), "settings.json is not a JSON object");
        check(data("settings.json", "{"), "settings.json is not a JSON object");
        check(data("grants.yaml", "hosts: 7"), "the grants are wrong");
        check(data("rollout.yaml", "mode: slowly"), "rollout.yaml is wrong");
        check(data("setings.json", "{}"), "sim-1 [\"data has a key without meaning: setings.json\"]");
    }

    #[test]
    fn an_index_is_the_only_component_and_has_the_digest_of_the_whole() {
        let digest = "ab".repeat(32);
        let index = INDEX.replace("\"aa\"", &format!("\"{digest}\""));
        let with_index = |raw: &mut RawConfigMap| {
            raw.binary_data.clear();
            raw.data.insert(PluginKeys::INDEX_KEY.to_owned(), index.clone());
        };
        check(
            data(PluginKeys::INDEX_KEY, &index),
            "there is both plugin.wasm and parts.json: keep one of them",
        );
        check(with_index, "parts.json needs sha256 beside it, the digest of the whole component");
        check(
            |raw| {
                with_index(raw);
                raw.data.insert(PluginKeys::SHA256.to_owned(), digest.clone());
            },
            "sim-1 []",
        );
        check(
            |raw| {
                raw.binary_data.clear();
                raw.data.insert(PluginKeys::INDEX_KEY.to_owned(), INDEX.to_owned());
            },
            "parts.json is wrong",
        );
        check(
            |raw| raw.binary_data = BTreeMap::from([(PluginKeys::INDEX_KEY.to_owned(), Bytes::new())]),
            "parts.json belongs into data, not binaryData",
        );
        check(
            |raw| {
                drop(raw.labels.insert(PluginKeys::KIND_LABEL.to_owned(), PluginKeys::PART_KIND.to_owned()));
            },
            "it is a part of a plugin, not a plugin",
        );
    }

    #[test]
    fn a_component_in_the_text_part_is_named() {
        check(
            |raw| {
                raw.binary_data.clear();
                raw.data.insert(WASM.to_owned(), "AGFzbQ==".to_owned());
            },
            "plugin.wasm belongs into binaryData, not data",
        );
    }

    #[test]
    fn the_hosts_own_annotations_are_no_new_content() {
        let before = driver();
        let mut annotated = driver();
        annotated.annotations.insert("machinist.dev/plugin-status".to_owned(), "{}".to_owned());
        annotated.resource_version = "7".to_owned();
        assert_eq!(before.fingerprint(), annotated.fingerprint());
        let mut changed = driver();
        changed.data.insert(PluginKeys::SETTINGS.to_owned(), "{}".to_owned());
        assert_ne!(before.fingerprint(), changed.fingerprint());
    }
}

//! A plugin in a ConfigMap.
//!
//! | where | what |
//! | --- | --- |
//! | label `machinist.dev/plugin` | `driver` |
//! | label `machinist.dev/plugin-name` | the plugin; several ConfigMaps with one name are its versions. Default: the ConfigMap's name |
//! | `binaryData` `plugin.wasm` or `plugin.wasm.zst` | the component |
//! | `data` `sha256` | digest of the (decompressed) component, optional |
//! | `data` `settings.json` | what the driver reads through `machinist:host/settings`, optional |
//! | `data` `grants.yaml` or `grants.json` | hosts, secrets and limits; without it a driver reaches nothing |

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use machinist_core::id::PluginName;
use sha2::{Digest as _, Sha256};

use super::{Declared, Error, Packed, SourceId};
use crate::grants::Grants;

/// Marks a ConfigMap as a plugin; its value is the kind.
pub const KIND_LABEL: &str = "machinist.dev/plugin";
/// Names the plugin.
pub const NAME_LABEL: &str = "machinist.dev/plugin-name";

pub(super) const WASM: &str = "plugin.wasm";
pub(super) const WASM_ZST: &str = "plugin.wasm.zst";
pub(super) const SHA256: &str = "sha256";
pub(super) const SETTINGS: &str = "settings.json";
pub(super) const GRANTS_YAML: &str = "grants.yaml";
pub(super) const GRANTS_JSON: &str = "grants.json";

/// The parts of a ConfigMap that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawConfigMap {
    /// `metadata.namespace`
    pub namespace: String,
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.creationTimestamp`
    pub created: Option<Timestamp>,
    /// `metadata.labels`
    pub labels: BTreeMap<String, String>,
    /// `metadata.annotations`
    pub annotations: BTreeMap<String, String>,
    /// `data`
    pub data: BTreeMap<String, String>,
    /// `binaryData`, decoded
    pub binary_data: BTreeMap<String, Bytes>,
}

/// Tells two contents of a ConfigMap apart. Annotations and resource version are not content: the host itself writes
/// the plugin's status there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint([u8; 32]);

impl RawConfigMap {
    /// Which source this is.
    pub fn source(&self) -> SourceId {
        SourceId::new(&self.namespace, &self.name)
    }

    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        part(self.uid.as_bytes());
        for label in [KIND_LABEL, NAME_LABEL] {
            part(self.labels.get(label).map_or(&b"\0absent"[..], |value| value.as_bytes()));
        }
        for (key, value) in &self.data {
            part(key.as_bytes());
            part(value.as_bytes());
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
        PluginName::new(self.labels.get(NAME_LABEL).map_or(self.name.as_str(), String::as_str))
    }

    /// Reads the ConfigMap.
    ///
    /// Fails with [`Error::NotAPlugin`] when it is not meant for this host, and otherwise with what is wrong in it. The
    /// component itself is not looked at.
    pub fn declared(&self) -> Result<Declared, Error> {
        match self.labels.get(KIND_LABEL).map(String::as_str) {
            None => return Err(Error::NotAPlugin),
            Some("driver") => {}
            Some(kind) => return Err(Error::UnknownKind { kind: kind.to_owned() }),
        }
        let plugin = self.plugin_name();
        if plugin.is_empty() {
            return Err(Error::EmptyName);
        }
        let digest = self.data.get(SHA256).map(|text| text.parse()).transpose().map_err(Error::Digest)?;
        Ok(Declared {
            plugin,
            source: self.source(),
            created: self.created,
            component: self.component()?,
            digest,
            settings: self.settings()?,
            grants: self.grants()?,
            warnings: self.warnings(),
        })
    }

    fn component(&self) -> Result<Packed, Error> {
        match (self.binary_data.get(WASM), self.binary_data.get(WASM_ZST)) {
            (Some(raw), None) => Ok(Packed::Raw(raw.clone())),
            (None, Some(packed)) => Ok(Packed::Zstd(packed.clone())),
            (Some(_), Some(_)) => Err(Error::TwoComponents),
            (None, None) => match [WASM, WASM_ZST].into_iter().find(|&key| self.data.contains_key(key)) {
                Some(key) => Err(Error::ComponentAsText { key }),
                None => Err(Error::NoComponent),
            },
        }
    }

    fn settings(&self) -> Result<Arc<str>, Error> {
        let Some(text) = self.data.get(SETTINGS) else { return Ok(Arc::from("{}")) };
        match serde_json::from_str(text) {
            Ok(serde_json::Value::Object(_)) => Ok(Arc::from(text.as_str())),
            Ok(_) => Err(Error::Settings(None)),
            Err(error) => Err(Error::Settings(Some(error))),
        }
    }

    fn grants(&self) -> Result<Arc<Grants>, Error> {
        let text = match (self.data.get(GRANTS_YAML), self.data.get(GRANTS_JSON)) {
            (Some(_), Some(_)) => return Err(Error::TwoGrants),
            (Some(text), None) | (None, Some(text)) => text,
            (None, None) => "{}",
        };
        Grants::parse(text).map(Arc::new).map_err(Error::Grants)
    }

    fn warnings(&self) -> Vec<String> {
        let known = [SHA256, SETTINGS, GRANTS_YAML, GRANTS_JSON];
        let in_data = self.data.keys().filter(|key| !known.contains(&key.as_str())).map(|key| ("data", key));
        let in_binary = self.binary_data.keys().filter(|key| ![WASM, WASM_ZST].contains(&key.as_str()));
        in_data
            .chain(in_binary.map(|key| ("binaryData", key)))
            .map(|(place, key)| format!("{place} has a key without meaning: {key}"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver() -> RawConfigMap {
        RawConfigMap {
            namespace: "machinist".to_owned(),
            name: "sim-1".to_owned(),
            labels: BTreeMap::from([(KIND_LABEL.to_owned(), "driver".to_owned())]),
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
        check(|raw| drop(raw.labels.insert(NAME_LABEL.to_owned(), "sim".to_owned())), "sim []");
        check(|raw| raw.labels.clear(), "the label machinist.dev/plugin is absent");
        check(
            |raw| drop(raw.labels.insert(KIND_LABEL.to_owned(), "x".to_owned())),
            "label machinist.dev/plugin is \"x\"; this host knows \"driver\"",
        );
        check(|raw| raw.binary_data.clear(), "binaryData has neither plugin.wasm nor plugin.wasm.zst");
        check(
            |raw| drop(raw.binary_data.insert(WASM_ZST.to_owned(), Bytes::new())),
            "binaryData has both plugin.wasm and plugin.wasm.zst",
        );
        check(data("sha256", "abc"), "sha256 is wrong");
        check(data("settings.json", "[]"), "settings.json is not a JSON object");
        check(data("settings.json", "{"), "settings.json is not a JSON object");
        check(data("grants.yaml", "hosts: 7"), "the grants are wrong");
        check(data("setings.json", "{}"), "sim-1 [\"data has a key without meaning: setings.json\"]");
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
    fn what_the_host_writes_itself_is_no_new_content() {
        let before = driver();
        let mut annotated = driver();
        annotated.annotations.insert("machinist.dev/plugin-status".to_owned(), "{}".to_owned());
        annotated.resource_version = "7".to_owned();
        assert_eq!(before.fingerprint(), annotated.fingerprint());
        let mut changed = driver();
        changed.data.insert(SETTINGS.to_owned(), "{}".to_owned());
        assert_ne!(before.fingerprint(), changed.fingerprint());
    }
}

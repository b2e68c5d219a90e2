//! The signature of a ConfigMap's plugin, as it is shown to people, and whether a push may keep it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use machinist_artifacts::Bundle;
use machinist_artifacts::bundle::Parts;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{Declared, Digest, Encoding, RawConfigMap};
use serde::Serialize;

use crate::plugin::cluster::readable_status;
use crate::plugin::ship::ownership::{owned, written_by_us};

/// The bundle of the ConfigMap that is there, if a push or `sign` wrote it and it is still about what a push would
/// leave: its own texts, and those of others.
pub(crate) fn kept(
    (name, component): (&str, Digest),
    there: &ConfigMap,
    (data, labels): (&BTreeMap<String, String>, &BTreeMap<String, String>),
) -> Option<[(String, String); 2]> {
    let (ours, owned, there_data) = (written_by_us(there), owned(there), there.data.as_ref()?);
    let get = |key: &str| Some((key.to_owned(), there_data.get(key).filter(|_| ours.contains(key))?.clone()));
    let (text, signature) = (get(PluginKeys::BUNDLE)?, get(PluginKeys::BUNDLE_SIGNATURE)?);
    let bundle = Bundle::parse(text.1.trim_end()).ok()?;
    let others =
        there_data.iter().filter(|(key, _)| !owned.data.contains(*key) && !ours.contains(key.as_str()));
    let mut result =
        RawConfigMap { name: name.to_owned(), labels: labels.clone(), ..RawConfigMap::default() };
    result.data = others.map(|(key, value)| (key.clone(), value.clone())).collect();
    result.data.extend(data.clone());
    result.binary_data = BTreeMap::from([(Encoding::None.key().to_owned(), bytes::Bytes::new())]);
    let foreign = there.metadata.labels.as_ref().and_then(|labels| labels.get(PluginKeys::NAME_LABEL));
    if let Some(name) = foreign.filter(|_| !owned.labels.contains(PluginKeys::NAME_LABEL)) {
        result.labels.entry(PluginKeys::NAME_LABEL.to_owned()).or_insert_with(|| name.clone());
    }
    let parts = result.declared().ok()?.parts(component);
    bundle.differences(&parts).is_empty().then_some([text, signature])
}

/// The signature of a ConfigMap's plugin, for people and programs.
#[derive(Debug, Serialize)]
pub(crate) struct SignatureView {
    /// The key by which the host has accepted it.
    pub(crate) signed_by: Option<String>,
    pub(crate) counter: Option<u64>,
    pub(crate) covers: Vec<String>,
    /// Parts that are not what was signed.
    pub(crate) differs: Vec<String>,
    /// Why the bundle cannot be read.
    pub(crate) problem: Option<String>,
}

impl SignatureView {
    /// Of what a ConfigMap holds. Without the keys of the host only the host says who has signed.
    pub(crate) fn of<C>(declared: &Declared<C>, component: Option<Digest>, annotation: Option<&str>) -> Self {
        let mut view = Self {
            signed_by: annotation.and_then(|text| readable_status(text).signed_by),
            counter: None,
            covers: Vec::new(),
            differs: Vec::new(),
            problem: None,
        };
        let Some(signed) = &declared.bundle else {
            view.covers.extend(declared.signature.iter().map(|_| "component".to_owned()));
            return view;
        };
        match (Bundle::parse(signed.text.trim_end()), component) {
            (Ok(bundle), component) => {
                view.counter = Some(bundle.counter);
                view.covers = bundle.covers();
                let there: Option<Parts> = component.map(|component| declared.parts(component));
                let differs = there.map(|there| bundle.differences(&there)).unwrap_or_default();
                view.differs = differs.iter().map(ToString::to_string).collect();
            }
            (Err(error), _) => view.problem = Some(error.to_string()),
        }
        view
    }

    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let by = match (&self.signed_by, self.covers.is_empty() && self.problem.is_none()) {
            (Some(key), _) => key.clone(),
            (None, true) => "nobody".to_owned(),
            (None, false) => "not checked by a host".to_owned(),
        };
        let mut lines = vec![("Signed by", by)];
        lines.extend(self.counter.map(|counter| ("Signed counter", counter.to_string())));
        if !self.covers.is_empty() {
            lines.push(("Signature covers", self.covers.join(", ")));
        }
        if !self.differs.is_empty() {
            lines.push(("Differs from it", self.differs.join(", ")));
        }
        lines.extend(self.problem.iter().map(|problem| ("Bundle is wrong", problem.clone())));
        lines
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    fn declared_with(data: &[(&str, &str)]) -> Declared<machinist_plugin_host::Content> {
        let mut raw = RawConfigMap { name: "aws".to_owned(), ..RawConfigMap::default() };
        raw.labels.insert(PluginKeys::KIND_LABEL.to_owned(), "driver".to_owned());
        raw.binary_data.insert("plugin.wasm".to_owned(), bytes::Bytes::new());
        raw.data = data.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        raw.declared().expect("a plugin")
    }

    fn shown(data: &[(&str, &str)], annotation: Option<&str>) -> String {
        let view = SignatureView::of(&declared_with(data), Some(Digest::of(b"component")), annotation);
        view.lines().iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_signature_shows_by_whom_and_what_it_covers() {
        assert_eq!(shown(&[], None), "Signed by: nobody");
        assert_eq!(
            shown(&[("signature", "x")], Some(r#"{"signedBy":"ours"}"#)),
            "Signed by: ours; Signature covers: component"
        );
        let parts = declared_with(&[("grants.yaml", "{}")]).parts(Digest::of(b"component"));
        let bundle = Bundle { parts, providers: ["aws".to_owned()].into(), counter: 7 }.to_text();
        let signed =
            |grants| [("grants.yaml", grants), ("bundle.json", bundle.as_str()), ("bundle.sig", "x")];
        let covers = "Signature covers: component, plugin name, kind, grants.yaml, providers";
        assert_eq!(
            shown(&signed("{}"), None),
            format!("Signed by: not checked by a host; Signed counter: 7; {covers}")
        );
        let other = shown(&signed("egress: []"), None);
        assert!(other.ends_with("Differs from it: grants.yaml"), "{other}");
        let wrong = shown(&[("bundle.json", "{}"), ("bundle.sig", "x")], None);
        assert!(wrong.contains("Bundle is wrong: it is not the JSON"), "{wrong}");
    }
}

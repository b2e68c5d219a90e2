//! Bundles: what `push --sign`, `sign --configmap` and `bundle` put together, and whether one that is there still holds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use machinist_artifacts::bundle::Parts;
use machinist_artifacts::{Bundle, SigningKey};
use machinist_core::id::ProviderName;
use machinist_plugin_host::source::configmap::{BUNDLE, BUNDLE_SIGNATURE, NAME_LABEL, RawConfigMap};
use machinist_plugin_host::source::{Declared, Encoding, Packed};
use machinist_plugin_host::{Digest, Inspected};
use serde::Serialize;

use crate::args::BundleFlags;
use crate::plugin_cluster::{config_maps, status};
use crate::plugin_file::{Component, Texts, declared};
use crate::plugin_inspect::from_anywhere;
use crate::plugin_ownership::{owned, written_by_us};
use crate::plugin_plan::Wanted;
use crate::plugin_push::may_load;

/// Prints the bytes to sign, without an end of line.
pub(crate) async fn bundle(flags: BundleFlags) -> anyhow::Result<()> {
    let texts = Texts::read(flags.settings.as_deref(), flags.grants.as_deref(), flags.policy.as_deref())?;
    let mut declared = match (&flags.file, &flags.configmap) {
        (Some(file), _) => {
            let Some(name) = &flags.plugin_name else {
                bail!("name the plugin with --plugin-name: a signature is good for that name only")
            };
            let component = Component::read(file)?;
            declared(name, Packed::whole(Encoding::None, component.bytes), &texts)?
        }
        (None, Some(name)) => {
            let api = config_maps(&flags.cluster).await?;
            from_anywhere(&api, name, &texts, flags.registry_auth.as_deref()).await?
        }
        (None, None) => bail!("name a file, or a ConfigMap with --configmap"),
    };
    if let Some(name) = &flags.plugin_name {
        declared.plugin = name.as_str().into();
    }
    let inspected = may_load(declared.clone()).await?;
    let providers = flags.provider.iter().map(|name| ProviderName::folded(name)).collect();
    let bundle =
        Signing { key: None, counter: flags.counter.counter }.bundle(&declared, &inspected, providers)?;
    print!("{}", bundle.to_text());
    Ok(())
}

/// With what and as which place in time something is signed.
pub(crate) struct Signing<'a> {
    pub(crate) key: Option<&'a SigningKey>,
    /// `None`: the time, so that each is above those before.
    pub(crate) counter: Option<u64>,
}

impl Signing<'_> {
    /// The bundle of what is declared, as a look at the component has found it. Providers that are named go before
    /// those of the grants, and these before what the component claims.
    pub(crate) fn bundle<C>(
        &self,
        declared: &Declared<C>,
        inspected: &Inspected,
        named: BTreeSet<ProviderName>,
    ) -> anyhow::Result<Bundle> {
        let digest = inspected.digest.context("the component is not known")?;
        let claimed: BTreeSet<ProviderName> =
            inspected.about.iter().flat_map(|about| about.providers.iter().cloned()).collect();
        let providers = match declared.grants.providers() {
            _ if !named.is_empty() => named,
            Some(granted) => granted.clone(),
            None => claimed.clone(),
        };
        if let Some(missing) = claimed.difference(&providers).next() {
            bail!(
                "the driver claims provider {missing}, and the bundle would not be about it: name it with --provider"
            );
        }
        let now = u64::try_from(Timestamp::now().as_second()).unwrap_or_default();
        Ok(Bundle {
            parts: declared.parts(digest),
            providers: providers.iter().map(ToString::to_string).collect(),
            counter: self.counter.unwrap_or(now),
        })
    }

    /// The keys of a ConfigMap with it and its signature.
    pub(crate) fn signed(&self, bundle: &Bundle) -> anyhow::Result<[(String, String); 2]> {
        let text = bundle.to_text();
        let key = self.key.context("there is no key to sign with")?;
        let signature = key.sign_blob(text.as_bytes())?;
        Ok([(BUNDLE.to_owned(), text), (BUNDLE_SIGNATURE.to_owned(), signature)])
    }
}

/// The bundle of the ConfigMap that is there, if a push or `sign` wrote it and it is still about what a push would leave:
/// its own texts, and those of others.
pub(crate) fn kept(
    wanted: &Wanted<'_>,
    there: &ConfigMap,
    (data, labels): (&BTreeMap<String, String>, &BTreeMap<String, String>),
) -> Option<[(String, String); 2]> {
    let (ours, owned, there_data) = (written_by_us(there), owned(there), there.data.as_ref()?);
    let get = |key: &str| Some((key.to_owned(), there_data.get(key).filter(|_| ours.contains(key))?.clone()));
    let (text, signature) = (get(BUNDLE)?, get(BUNDLE_SIGNATURE)?);
    let bundle = Bundle::parse(text.1.trim_end()).ok()?;
    let others =
        there_data.iter().filter(|(key, _)| !owned.data.contains(*key) && !ours.contains(key.as_str()));
    let mut result =
        RawConfigMap { name: wanted.name.to_owned(), labels: labels.clone(), ..RawConfigMap::default() };
    result.data = others.map(|(key, value)| (key.clone(), value.clone())).collect();
    result.data.extend(data.clone());
    result.binary_data = BTreeMap::from([(Encoding::None.key().to_owned(), bytes::Bytes::new())]);
    let foreign = there.metadata.labels.as_ref().and_then(|labels| labels.get(NAME_LABEL));
    if let Some(name) = foreign.filter(|_| !owned.labels.contains(NAME_LABEL)) {
        result.labels.entry(NAME_LABEL.to_owned()).or_insert_with(|| name.clone());
    }
    let parts = result.declared().ok()?.parts(wanted.digest);
    bundle.differences(&parts).is_empty().then_some([text, signature])
}

/// What is known of the signature of a ConfigMap's plugin.
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

/// The status annotation, as far as it tells of signatures.
#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Status {
    signed_by: Option<String>,
}

impl SignatureView {
    /// Of what a ConfigMap holds. Without the keys of the host only the host says who has signed.
    pub(crate) fn of<C>(
        declared: &Declared<C>,
        component: Option<Digest>,
        annotation: Option<&String>,
    ) -> Self {
        let status: Status = annotation.and_then(|text| status(text).ok()).unwrap_or_default();
        let mut view = Self {
            signed_by: status.signed_by,
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

    /// For people.
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
    use machinist_plugin_host::source::configmap::KIND_LABEL;

    use super::*;

    fn declared_with(data: &[(&str, &str)]) -> Declared<machinist_plugin_host::source::Content> {
        let mut raw = RawConfigMap { name: "aws".to_owned(), ..RawConfigMap::default() };
        raw.labels.insert(KIND_LABEL.to_owned(), "driver".to_owned());
        raw.binary_data.insert("plugin.wasm".to_owned(), bytes::Bytes::new());
        raw.data = data.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
        raw.declared().expect("a plugin")
    }

    fn shown(data: &[(&str, &str)], annotation: Option<&str>) -> String {
        let annotation = annotation.map(str::to_owned);
        let view =
            SignatureView::of(&declared_with(data), Some(Digest::of(b"component")), annotation.as_ref());
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

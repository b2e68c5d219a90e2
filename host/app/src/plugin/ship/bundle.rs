//! Bundles: what `push --sign`, `sign --configmap` and `bundle` put together.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use machinist_artifacts::{Bundle, SigningKey};
use machinist_core::value::id::ProviderName;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{Declared, Encoding, Inspected, Packed};

use crate::args::BundleFlags;
use crate::plugin::cluster::config_maps;
use crate::plugin::file::{Component, Texts, declared, may_load};
use crate::plugin::show::inspect::from_anywhere;

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
        Ok([(PluginKeys::BUNDLE.to_owned(), text), (PluginKeys::BUNDLE_SIGNATURE.to_owned(), signature)])
    }
}

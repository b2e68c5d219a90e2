//! Reads a component and its texts from files, and inspects it in a sandbox of its own.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use bytes::Bytes;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::component::Contract;
use machinist_plugin_host::{
    CacheKey, Declared, Digest, Encoding, HostSettings, Inspected, Packed, PluginHost, RawConfigMap,
};

/// No component is larger, packed or not.
const MOST_BYTES: u64 = 64 << 20;

/// A component from a file, unpacked.
pub(crate) struct Component {
    pub(crate) bytes: Bytes,
    pub(crate) digest: Digest,
}

/// Settings, grants and terms from files, where they are given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Texts {
    pub(crate) settings: Option<String>,
    pub(crate) grants: Option<String>,
    pub(crate) terms: Option<String>,
    pub(crate) rollout: Option<String>,
}

impl Texts {
    pub(crate) fn read(
        settings: Option<&Path>,
        grants: Option<&Path>,
        terms: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let read = |path: Option<&Path>, what: &str| {
            path.map(|path| {
                std::fs::read_to_string(path)
                    .with_context(|| format!("failed to read the {what} in {}", path.display()))
            })
            .transpose()
        };
        Ok(Self {
            settings: read(settings, "settings")?,
            grants: read(grants, "grants")?,
            terms: read(terms, "policy")?,
            rollout: None,
        })
    }

    /// The same, with how the version is to come to serve.
    pub(crate) fn with_rollout(self, path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(self) };
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("failed to read the rollout in {}", path.display()))?;
        Ok(Self { rollout: Some(text), ..self })
    }

    /// Puts them in the place of what is there.
    pub(crate) fn replace(&self, data: &mut BTreeMap<String, String>) {
        if let Some(settings) = &self.settings {
            data.insert(PluginKeys::SETTINGS.to_owned(), settings.clone());
        }
        if let Some(grants) = &self.grants {
            data.remove(PluginKeys::GRANTS_JSON);
            data.insert(PluginKeys::GRANTS_YAML.to_owned(), grants.clone());
        }
        if let Some(terms) = &self.terms {
            data.remove(PluginKeys::TERMS_JSON);
            data.insert(PluginKeys::TERMS_YAML.to_owned(), terms.clone());
        }
        if let Some(rollout) = &self.rollout {
            data.insert(PluginKeys::ROLLOUT_YAML.to_owned(), rollout.clone());
        }
    }
}

/// Reads a component, packed or not.
fn read_packed(path: &Path) -> anyhow::Result<Packed> {
    let context = || format!("failed to read the component in {}", path.display());
    let size = std::fs::metadata(path).with_context(context)?.len();
    anyhow::ensure!(size <= MOST_BYTES, "{} has {size} bytes, and {MOST_BYTES} are the most", path.display());
    let bytes = std::fs::read(path).with_context(context)?;
    Ok(Packed::whole(Encoding::of(&bytes), bytes))
}

impl Component {
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let packed = read_packed(path)?;
        let bytes = packed
            .unpack()
            .with_context(|| format!("failed to unpack the component in {}", path.display()))?;
        let digest = Digest::of(&bytes);
        Ok(Self { bytes, digest })
    }
}

/// A ConfigMap that holds nothing but this component and these texts: what the host would make of them.
pub(crate) fn declared(name: &str, component: Packed, texts: &Texts) -> anyhow::Result<Declared> {
    // A component that cannot be unpacked counts as a driver here; its inspection names the error.
    let contract = component.unpack().map_or(Contract::Driver, |bytes| Contract::of(&bytes));
    let mut raw = RawConfigMap {
        name: name.to_owned(),
        labels: BTreeMap::from([(PluginKeys::KIND_LABEL.to_owned(), contract.label().to_owned())]),
        binary_data: BTreeMap::from([(Encoding::None.key().to_owned(), Bytes::new())]),
        ..RawConfigMap::default()
    };
    texts.replace(&mut raw.data);
    Ok(raw.declared()?.with(component))
}

/// Declares the component in a file, by the name of the file.
pub(crate) fn declared_in(path: &Path, texts: &Texts) -> anyhow::Result<Declared> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    declared(&name, read_packed(path)?, texts)
}

/// Inspects a component as the host does: verifies it, compiles it in a process of its own, links it, and calls
/// `describe`. The compiled code is deleted afterwards.
pub(crate) async fn inspect_in_sandbox(declared: Declared) -> anyhow::Result<Inspected> {
    let (host, _folder) = sandbox()?;
    let inspected = host.inspect(declared).await;
    host.shutdown().await;
    Ok(inspected)
}

/// Inspects a component. Fails with the host's reason if the host would refuse it.
pub(crate) async fn may_load(declared: Declared) -> anyhow::Result<Inspected> {
    let inspected = inspect_in_sandbox(declared).await?;
    accepted(&inspected)?;
    Ok(inspected)
}

/// Fails with the host's reason if the host would refuse the component.
pub(crate) fn accepted(inspected: &Inspected) -> anyhow::Result<()> {
    match &inspected.refusal {
        None => Ok(()),
        Some(reason) => bail!("the host would refuse it: {reason}"),
    }
}

/// Starts a plugin host of its own. Dropping the folder deletes the compiled code.
pub(crate) fn sandbox() -> anyhow::Result<(PluginHost, tempfile::TempDir)> {
    let executable =
        std::env::current_exe().context("failed to find this executable, which compiles plugins")?;
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let key = CacheKey::Bytes(rand::random());
    let settings = HostSettings::new(folder.path(), key, executable, ["compile-component".into()]);
    let host = PluginHost::start(settings).context("failed to start a sandbox")?;
    Ok((host, folder))
}

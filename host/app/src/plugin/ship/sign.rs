//! `machinist plugin sign` and `keygen`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::{Context as _, bail};
use machinist_artifacts::{Bundle, SigningKey};
use machinist_plugin_host::component::{Contract, outside};
use serde_json::json;

use crate::args::{KeygenFlags, SignFlags};
use crate::plugin::cluster::{ATTEMPTS, config_maps, metadata, patch_version};
use crate::plugin::file::{Component, Texts, may_load};
use crate::plugin::ship::bundle::Signing;
use crate::plugin::ship::registry::{Artifact, signing_key};
use crate::plugin::show::inspect::from_anywhere;

pub(crate) async fn sign(flags: SignFlags) -> anyhow::Result<()> {
    let key = signing_key(&flags.key)?;
    if let Some(file) = &flags.file {
        // The host checks the unpacked component.
        let component = Component::read(file)?;
        is_component(&component.bytes).with_context(|| format!("{} is not signed", file.display()))?;
        println!("{}", key.sign_blob(&component.bytes)?);
        return Ok(());
    }
    if let Some(artifact) = Artifact::of(&flags.registry).await? {
        let pulled = artifact.pull().await?;
        is_component(&pulled.component)
            .with_context(|| format!("{} is not signed", artifact.reference.at(pulled.manifest)))?;
        artifact.sign(&key, pulled.manifest).await?;
        println!("{} is signed", artifact.reference.at(pulled.manifest));
        return Ok(());
    }
    let Some(name) = &flags.configmap else { bail!("name a file, an artifact with --oci, or a --configmap") };
    let api = config_maps(&flags.cluster).await?;
    let signing = Signing { key: Some(&key), counter: flags.counter.counter };
    let read = async || {
        // Before it is read: what was changed meanwhile is not what is signed.
        let meta = metadata(&api, name, &format!("read ConfigMap {name}")).await?;
        let logins = flags.registry.registry_auth.as_deref();
        let declared = from_anywhere(&api, name, &Texts::default(), logins).await?;
        let inspected =
            may_load(declared.clone()).await.with_context(|| format!("ConfigMap {name} is not signed"))?;
        Ok((meta.resource_version, signing.bundle(&declared, &inspected, BTreeSet::new())?))
    };
    let write = async |version: Option<String>, bundle: &Bundle| {
        let data: BTreeMap<String, String> = signing.signed(bundle)?.into();
        let signed = json!({ "metadata": { "resourceVersion": version }, "data": data });
        patch_version(&api, name, &signed, &format!("write the signature into ConfigMap {name}")).await
    };
    let bundle = one_version(read, write).await.with_context(|| format!("ConfigMap {name} is not signed"))?;
    println!("ConfigMap {name} is signed: {}, with counter {}", bundle.covers().join(", "), bundle.counter);
    Ok(())
}

/// Reads and writes one version of a ConfigMap. `write` says `false` when that is not the latest any more; the host
/// writes its status there at any time, and both are done again then.
async fn one_version(
    mut read: impl AsyncFnMut() -> anyhow::Result<(Option<String>, Bundle)>,
    mut write: impl AsyncFnMut(Option<String>, &Bundle) -> anyhow::Result<bool>,
) -> anyhow::Result<Bundle> {
    let mut first = None;
    for _ in 0..ATTEMPTS {
        let (version, bundle) = read().await?;
        // The user has ordered to sign what was there then.
        if *first.get_or_insert_with(|| bundle.parts.clone()) != bundle.parts {
            bail!("it was changed meanwhile: look at the change, then sign again");
        }
        if write(version, &bundle).await? {
            return Ok(bundle);
        }
    }
    bail!("it was written {ATTEMPTS} times while it was read: try again")
}

/// A signature over something else would say what nobody has meant.
fn is_component(bytes: &[u8]) -> anyhow::Result<()> {
    outside(bytes, Contract::of(bytes)).map(drop).context("it is no component")
}

pub(crate) fn keygen(flags: &KeygenFlags) -> anyhow::Result<()> {
    let name = |ending: &str| {
        let mut path = flags.prefix.clone().into_os_string();
        path.push(ending);
        std::path::PathBuf::from(path)
    };
    let (private, public) = (name(".key"), name(".pub"));
    for path in [&private, &public] {
        if path.exists() {
            bail!(
                "{} is there already, and a key is never overwritten: move it away, or name other files, as in `machinist plugin \
                 keygen {}-2`",
                path.display(),
                flags.prefix.display()
            );
        }
    }
    let key = SigningKey::generate()?;
    let Some(pem) = key.private_pem() else { bail!("the key was not made") };
    write(&private, &pem, 0o600)?;
    write(&public, &key.public_pem(), 0o644)?;
    println!(
        "{} signs; keep it to yourself. {} is for hosts: --plugin-keys",
        private.display(),
        public.display()
    );
    Ok(())
}

/// A file that was there, perhaps the only copy of a key, is never overwritten.
fn write(path: &Path, text: &str, mode: u32) -> anyhow::Result<()> {
    let file = File::options().write(true).create_new(true).mode(mode).open(path);
    let mut file = file.with_context(|| format!("failed to make {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("failed to write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use machinist_artifacts::ContentDigest;
    use machinist_artifacts::bundle::Parts;

    use super::*;

    fn bundle(component: &str) -> Bundle {
        let parts = Parts {
            kind: "driver".to_owned(),
            name: "sim".to_owned(),
            component: ContentDigest::of(component.as_bytes()),
            grants: None,
            settings: None,
            terms: None,
        };
        Bundle { parts, providers: BTreeSet::new(), counter: 1 }
    }

    /// Signs while the ConfigMap has these components, one at each read, and takes writes of the last version only.
    async fn sign_while(components: &[&str]) -> anyhow::Result<Bundle> {
        let last = components.len().to_string();
        let mut reads = 0_usize;
        let read = async || {
            let component = components.get(reads).context("it is not read again")?;
            reads += 1;
            Ok((Some(reads.to_string()), bundle(component)))
        };
        one_version(read, async |version, _| Ok(version.as_ref() == Some(&last))).await
    }

    #[tokio::test]
    async fn a_status_that_the_host_writes_meanwhile_is_no_obstacle_and_another_component_is() {
        assert_eq!(sign_while(&["a"]).await.unwrap(), bundle("a"));
        assert_eq!(sign_while(&["a", "a", "a"]).await.unwrap(), bundle("a"));
        let changed = sign_while(&["a", "b"]).await.unwrap_err().to_string();
        assert!(changed.contains("changed meanwhile"), "{changed}");
        let endless = sign_while(&["a"; ATTEMPTS + 1]).await.unwrap_err().to_string();
        assert!(endless.contains("try again"), "{endless}");
    }
}

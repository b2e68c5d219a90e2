//! `machinist plugin inspect`: a component from a file, a registry or a cluster.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::parts::{Assembly, FoundPart, Index, Part};
use machinist_plugin_host::{Content, Declared, Encoding, Packed, RawConfigMap, SourceId, shown_json};

use crate::args::{InspectFlags, Output};
use crate::plugin::cluster::{config_maps, explained, raw};
use crate::plugin::file::{Texts, declared, inspect_in_sandbox, read_packed};
use crate::plugin::ship::registry::Artifact;
use crate::plugin::ship::signature::SignatureView;
use crate::plugin::show::view::View;

pub(crate) async fn inspect(flags: InspectFlags) -> anyhow::Result<()> {
    let texts = Texts::read(flags.settings.as_deref(), flags.grants.as_deref(), flags.policy.as_deref())?;
    let mut annotation = None;
    let declared = match (&flags.file, &flags.configmap) {
        (Some(file), _) => {
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            declared(&name, read_packed(file)?, &texts)?
        }
        (None, None) if flags.registry.oci.is_some() => from_registry(&flags, &texts).await?,
        (None, Some(name)) => {
            let api = config_maps(&flags.cluster).await?;
            let meta = api.get_metadata(name).await;
            let meta = meta.map_err(|error| explained(error, &format!("read ConfigMap {name}")))?;
            annotation =
                meta.metadata.annotations.and_then(|mut all| all.remove(PluginKeys::STATUS_ANNOTATION));
            from_cluster(&api, name, &texts).await?
        }
        (None, None) => bail!("name a file, a ConfigMap with --configmap, or an artifact with --oci"),
    };
    let (grants, terms) = (declared.grants.clone(), declared.kind.terms().cloned());
    let warnings = declared.warnings.clone();
    let inspected = inspect_in_sandbox(declared.clone()).await?;
    let mut view = View::of(&inspected, &grants, terms.as_ref(), warnings);
    if flags.configmap.is_some() {
        view.signature = Some(SignatureView::of(&declared, inspected.digest, annotation.as_deref()));
    }
    match flags.output {
        Output::Json => println!("{}", shown_json(&serde_json::to_string_pretty(&view)?)),
        Output::Table => print!("{}", view.to_text()),
    }
    match inspected.refusal {
        None => Ok(()),
        Some(reason) => bail!("the host would refuse it: {reason}"),
    }
}

/// Declares an artifact with these texts, and prints its digest and its signatures to standard error.
async fn from_registry(flags: &InspectFlags, texts: &Texts) -> anyhow::Result<Declared> {
    let Some(artifact) = Artifact::of(&flags.registry).await? else { bail!("name an artifact with --oci") };
    pulled(&artifact, texts).await
}

/// The same of an artifact that is at hand.
pub(crate) async fn pulled(artifact: &Artifact<'_>, texts: &Texts) -> anyhow::Result<Declared> {
    let pulled = artifact.pull().await?;
    let signatures = artifact.signatures(pulled.manifest).await?;
    eprintln!("{}: {signatures} signatures", artifact.reference.at(pulled.manifest));
    let name = artifact.reference.repository.rsplit('/').next().unwrap_or_default();
    declared(name, Packed::whole(Encoding::None, pulled.component), texts)
}

/// Declares the plugin of a ConfigMap. A component in a registry is pulled by its pinned digest, with the login of the
/// user and not of the host.
pub(crate) async fn from_anywhere(
    api: &Api<ConfigMap>,
    name: &str,
    texts: &Texts,
    logins: Option<&Path>,
) -> anyhow::Result<Declared> {
    let (map, declared) = read(api, name, texts).await?;
    let Content::Remote(remote) = declared.component.clone() else {
        return whole(api, name, &map, declared).await;
    };
    let reference = remote.pin.map_or_else(|| remote.reference.clone(), |pin| remote.reference.at(pin));
    let artifact = Artifact::at(&reference, logins).await?;
    let pulled = artifact.pull().await?;
    Ok(declared.with(Packed::whole(Encoding::None, pulled.component)))
}

/// Declares the plugin of a ConfigMap with its parts.
pub(crate) async fn from_cluster(
    api: &Api<ConfigMap>,
    name: &str,
    texts: &Texts,
) -> anyhow::Result<Declared> {
    let (map, declared) = read(api, name, texts).await?;
    whole(api, name, &map, declared).await
}

async fn read(
    api: &Api<ConfigMap>,
    name: &str,
    texts: &Texts,
) -> anyhow::Result<(RawConfigMap, Declared<Content>)> {
    let map = api.get(name).await.map_err(|error| explained(error, &format!("read ConfigMap {name}")))?;
    let mut map = raw(map);
    texts.replace(&mut map.data);
    let declared = map.declared().with_context(|| format!("ConfigMap {name} holds no plugin"))?;
    Ok((map, declared))
}

async fn whole(
    api: &Api<ConfigMap>,
    name: &str,
    map: &RawConfigMap,
    declared: Declared<Content>,
) -> anyhow::Result<Declared> {
    match declared.component.clone() {
        Content::Whole(component) => Ok(declared.with(component)),
        Content::Remote(remote) => bail!(
            "ConfigMap {name} names {}, which is not here: `machinist plugin inspect --oci {}`",
            remote.reference,
            remote.reference
        ),
        Content::Parts(index) => {
            let found = parts(api, &map.source(), &index).await?;
            match index.assemble(|part| found.get(part)).context("its parts do not fit")? {
                Assembly::Complete(component) => Ok(declared.with(component)),
                Assembly::Waits { missing } => bail!("ConfigMap {name} waits for {missing}"),
            }
        }
    }
}

async fn parts(
    api: &Api<ConfigMap>,
    source: &SourceId,
    index: &Index,
) -> anyhow::Result<BTreeMap<String, FoundPart>> {
    let mut found = BTreeMap::new();
    for part in &index.parts {
        let task = format!("read ConfigMap {}, a part of {source}", part.config_map);
        let map = api.get_opt(&part.config_map).await.map_err(|error| explained(error, &task))?;
        // As for the host, whose watch sees parts by their label.
        if let Some(map) = map.map(raw).filter(RawConfigMap::is_part) {
            found.insert(
                part.config_map.clone(),
                Part::read(&map).map_or_else(FoundPart::Wrong, FoundPart::Part),
            );
        }
    }
    Ok(found)
}

//! `machinist plugin resolve`: resolves a tag again, and its component becomes the version.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use machinist_artifacts::Reference;
use machinist_core::value::error_chain::chain;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{Content, Declared, Encoding, Packed};
use serde_json::{Value, json};

use crate::args::ResolveFlags;
use crate::plugin::cluster::{config_maps, metadata, patch, raw, read, status_annotation};
use crate::plugin::file::may_load;
use crate::plugin::ship::push::version;
use crate::plugin::ship::registry::Artifact;
use crate::plugin::ship::wait::{held_version, wait};

/// The change of the annotation that orders the versions.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NextVersion {
    /// It is not there, and nobody misses it.
    Absent,
    /// The component calls itself so.
    Known(String),
    /// The component cannot be fetched from here: the annotation goes, since it is about another one.
    Unknown,
}

pub(crate) async fn resolve(flags: ResolveFlags) -> anyhow::Result<()> {
    let (name, api) = (&flags.name, config_maps(&flags.cluster).await?);
    let map = read(&api, name).await?;
    let declared = map.declared().with_context(|| format!("ConfigMap {name} holds no plugin"))?;
    let Content::Remote(remote) = declared.component.clone() else {
        bail!("ConfigMap {name} holds its component itself, so there is nothing to resolve");
    };
    if remote.reference.digest().is_some() {
        bail!("ConfigMap {name} names {} by its digest, which does not move", remote.reference);
    }
    let next = if map.annotations.contains_key(PluginKeys::VERSION_ANNOTATION) {
        next_version(&remote.reference, declared).await?
    } else {
        NextVersion::Absent
    };
    let task = format!("annotate ConfigMap {name}");
    let written = patch(&api, name, &request(&Timestamp::now().to_string(), &next), &task).await?;
    eprintln!("the host is asked to resolve {} again", remote.reference);
    if flags.no_wait {
        return Ok(());
    }
    let content = raw(written).fingerprint().to_string();
    println!("{}", wait(&api, name, &content, flags.timeout.unsigned_abs()).await?);
    if next == NextVersion::Unknown {
        write_version(&api, name, &content).await?;
    }
    Ok(())
}

/// The patch that asks for the tag to be resolved again.
fn request(asked: &str, next: &NextVersion) -> Value {
    let version = match next {
        NextVersion::Absent => None,
        NextVersion::Known(version) => Some((PluginKeys::VERSION_ANNOTATION, Some(version.as_str()))),
        NextVersion::Unknown => Some((PluginKeys::VERSION_ANNOTATION, None)),
    };
    let annotations: BTreeMap<&str, Option<&str>> =
        [(PluginKeys::RESOLVE_ANNOTATION, Some(asked))].into_iter().chain(version).collect();
    json!({ "metadata": { "annotations": annotations } })
}

/// Fetches the component of the tag, as the user and not as the host, and asks it for its version.
///
/// # Errors
/// When the host would refuse the component: the version that serves stays as it is.
async fn next_version(reference: &Reference, declared: Declared<Content>) -> anyhow::Result<NextVersion> {
    let pulled = async { Artifact::at(reference, None).await?.pull().await };
    let pulled = match pulled.await {
        Ok(pulled) => pulled,
        Err(error) => {
            let why = chain(error.as_ref());
            eprintln!(
                "{why}; without its version the annotation {} is taken away",
                PluginKeys::VERSION_ANNOTATION
            );
            return Ok(NextVersion::Unknown);
        }
    };
    let inspected = may_load(declared.with(Packed::whole(Encoding::None, pulled.component))).await?;
    Ok(version(&inspected).map_or(NextVersion::Unknown, |(_, version)| NextVersion::Known(version)))
}

/// The host has fetched the component, and tells its version.
async fn write_version(api: &Api<ConfigMap>, name: &str, content: &str) -> anyhow::Result<()> {
    let task = format!("write the version onto ConfigMap {name}");
    let meta = metadata(api, name, &task).await?;
    let Some(version) = held_version(status_annotation(&meta), content) else { return Ok(()) };
    let annotated = json!({ "metadata": { "annotations": { PluginKeys::VERSION_ANNOTATION: version } } });
    patch(api, name, &annotated, &task).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_with_the_version_is_never_that_of_the_component_before() {
        let annotations = |next: &NextVersion| request("now", next)["metadata"]["annotations"].clone();
        let known = annotations(&NextVersion::Known("1.5.0".to_owned()));
        assert_eq!(
            known,
            json!({ PluginKeys::RESOLVE_ANNOTATION: "now", PluginKeys::VERSION_ANNOTATION: "1.5.0" })
        );
        let unknown = annotations(&NextVersion::Unknown);
        assert_eq!(
            unknown,
            json!({ PluginKeys::RESOLVE_ANNOTATION: "now", PluginKeys::VERSION_ANNOTATION: null })
        );
        assert_eq!(annotations(&NextVersion::Absent), json!({ PluginKeys::RESOLVE_ANNOTATION: "now" }));
    }
}

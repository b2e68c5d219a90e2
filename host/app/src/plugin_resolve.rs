//! `machinist plugin resolve`: a tag is looked up anew, and what it stands for becomes the version.

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use machinist_plugin_host::source::Content;
use machinist_plugin_host::source::remote::RESOLVE_ANNOTATION;
use serde_json::json;

use crate::args::ResolveFlags;
use crate::plugin_cluster::{config_maps, explained, raw};
use crate::plugin_ownership::MANAGER;
use crate::plugin_wait::wait;

pub(crate) async fn resolve(flags: ResolveFlags) -> anyhow::Result<()> {
    let (name, api) = (&flags.name, config_maps(&flags.cluster).await?);
    let map = api.get(name).await.map_err(|error| explained(error, &format!("read ConfigMap {name}")))?;
    let declared = raw(map).declared().with_context(|| format!("ConfigMap {name} holds no plugin"))?;
    let Content::Remote(remote) = declared.component else {
        bail!("ConfigMap {name} holds its component itself, so there is nothing to resolve");
    };
    if remote.reference.digest().is_some() {
        bail!("ConfigMap {name} names {} by its digest, which does not move", remote.reference);
    }
    let asked = Timestamp::now().to_string();
    let patch = json!({ "metadata": { "annotations": { RESOLVE_ANNOTATION: asked } } });
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let written = api.patch(name, &params, &Patch::Merge(patch)).await;
    let written = written.map_err(|error| explained(error, &format!("annotate ConfigMap {name}")))?;
    eprintln!("the host is asked to resolve {} anew", remote.reference);
    if flags.no_wait {
        return Ok(());
    }
    let content = raw(written).fingerprint().to_string();
    println!("{}", wait(&api, name, &content, flags.timeout.unsigned_abs()).await?);
    Ok(())
}

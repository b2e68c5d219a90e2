//! Logins for registries from Secrets, and trusted keys from files, for the plugin host.

use std::sync::Arc;

use anyhow::Context as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use machinist_artifacts::Keyring;
use machinist_plugin_host::{GrantsCeiling, PullSecrets, Required, Trust};
use tracing::warn;

use crate::flags::ProcessFlags;

/// Reads Secrets when a component is fetched: the next attempt finds a fixed Secret.
pub(crate) struct Secrets(pub(crate) Client);

const KEY: &str = ".dockerconfigjson";

impl PullSecrets for Secrets {
    fn read(&self, namespace: &str, name: &str) -> BoxFuture<'_, Result<Vec<u8>, String>> {
        let (api, name) = (Api::<Secret>::namespaced(self.0.clone(), namespace), name.to_owned());
        Box::pin(async move {
            let secret = match api.get_opt(&name).await {
                Ok(Some(secret)) => secret,
                Ok(None) => return Err("it is not there".to_owned()),
                Err(kube::Error::Api(status)) if status.code == 403 => {
                    return Err(format!(
                        "the host may not read it: allow its account `get` on secrets/{name}"
                    ));
                }
                Err(error) => return Err(format!("the API server does not answer: {error}")),
            };
            let bytes = secret.data.unwrap_or_default().remove(KEY);
            bytes
                .map(|bytes| bytes.0)
                .ok_or_else(|| format!("it has no {KEY}: its type must be kubernetes.io/dockerconfigjson"))
        })
    }
}

/// Returns the upper bound of grants that the flags name.
pub(crate) fn ceiling(flags: &ProcessFlags) -> anyhow::Result<Option<Arc<GrantsCeiling>>> {
    let Some(path) = &flags.grants_ceiling else { return Ok(None) };
    let ceiling = GrantsCeiling::read(path).context("failed to read --grants-ceiling")?;
    Ok(Some(Arc::new(ceiling)))
}

/// Reads the trusted keys, and where signatures are required, by the flags.
pub(crate) fn trust(flags: &ProcessFlags, plugin_namespace: &str) -> anyhow::Result<Trust> {
    let keys = match &flags.plugin_keys {
        Some(path) => Keyring::read(path).context("failed to read --plugin-keys")?,
        None => Keyring::default(),
    };
    let names = &flags.require_signature;
    let required = match names.as_slice() {
        [] => Required::Nowhere,
        names if names.iter().any(|name| name == "*") => Required::Everywhere,
        names => Required::In(names.to_vec()),
    };
    let required = required.with_directory_as(plugin_namespace);
    anyhow::ensure!(
        required == Required::Nowhere || !keys.is_empty(),
        "--require-signature needs --plugin-keys: without a key no plugin could ever be accepted"
    );
    if !names.is_empty()
        && required != Required::Everywhere
        && !names.iter().any(|name| name == plugin_namespace)
    {
        warn!(namespace = plugin_namespace, "--require-signature does not name the namespace of the plugins");
    }
    Ok(Trust { keys, required })
}

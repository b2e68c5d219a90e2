//! The cluster that a subcommand is about: its client and namespace, and what is said when something does not work there.

mod kubeconfig;
mod near;
mod trouble;

use std::sync::Arc;

use anyhow::Result;
use kube::{Client, Config};
use machinist_runtime::clusters::{Access, client, config};
use machinist_runtime::metrics::Metrics;

use crate::args::{AccessFlags, PlaceFlags};

pub(crate) use near::instead;
pub(crate) use trouble::{explained, is_missing, said};

/// A cluster, and where in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// The cluster, and the namespace that was named, or else that of the context.
pub(crate) async fn reach(flags: &PlaceFlags) -> Result<Cluster> {
    let config = configured(&flags.access).await?;
    let namespace = flags.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    Ok(Cluster { client: client(config, Arc::new(Metrics::default()))?, namespace })
}

/// The cluster alone.
pub(crate) async fn client_of(flags: &AccessFlags) -> Result<Client> {
    Ok(client(configured(flags).await?, Arc::new(Metrics::default()))?)
}

async fn configured(flags: &AccessFlags) -> Result<Config> {
    match (&flags.kubeconfig, &flags.context) {
        (Some(paths), context) => kubeconfig::read(paths, context.as_deref()).await,
        (None, None) => Ok(config(&Access::InCluster).await?),
        (None, Some(context)) => anyhow::bail!(
            "--context {context} is a context of a kubeconfig, and there is none: name one with --kubeconfig or KUBECONFIG"
        ),
    }
}

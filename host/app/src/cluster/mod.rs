//! The cluster of a subcommand: its client and namespace, and helpful errors.
//!
//! | module | what it does |
//! | --- | --- |
//! | `kubeconfig` | reads kubeconfigs as kubectl does |
//! | `subject` | parses the object that the user names |
//! | `suggestions` | suggests similar names |
//! | `leader` | asks the leading process |
//! | `port_forward` | reads a page of a pod through a port-forward |
//! | `errors` | explains a failed request |

mod errors;
mod kubeconfig;
pub(crate) mod leader;
pub(crate) mod port_forward;
pub(crate) mod subject;
mod suggestions;

use std::time::Duration;

use anyhow::{Context, Result};
use kube::{Client, Config};
use machinist_runtime::client::clusters::{Access, config};
use machinist_runtime::client::field_manager::USER_AGENT;

use crate::args::{AccessFlags, PlaceFlags};

pub(crate) use errors::{explained, is_missing, message_of};
pub(crate) use suggestions::instead;

/// A cluster, and where in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// The cluster, and the namespace that was named, or else that of the context.
pub(crate) async fn reach(flags: &PlaceFlags) -> Result<Cluster> {
    let config = configured(&flags.access)?;
    let namespace = flags.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    Ok(Cluster { client: client(config, Asks::Again)?, namespace })
}

pub(crate) async fn client_of(flags: &AccessFlags) -> Result<Client> {
    client(configured(flags)?, Asks::Again)
}

/// The same for requests to a pod through the server: an unreachable pod is an answer.
pub(crate) async fn client_that_asks_once(flags: &AccessFlags) -> Result<Client> {
    client(configured(flags)?, Asks::Once)
}

/// Whether to repeat a request that a server refuses for a moment, such as a list of a kind that was just installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Once,
    /// Unlike the host's client: nothing else repeats the request of a command.
    Again,
}

fn client(mut config: Config, asks: Asks) -> Result<Client> {
    config.connect_timeout = Some(Duration::from_secs(10));
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT)));
    config.default_retry = asks == Asks::Again;
    Client::try_from(config).context("failed to make a client")
}

fn configured(flags: &AccessFlags) -> Result<Config> {
    match (&flags.kubeconfig, &flags.context) {
        (Some(paths), context) => kubeconfig::read(paths, context.as_deref()),
        (None, None) => config(&Access::InCluster).context(
            "there is no kubeconfig, and this is no pod: set KUBECONFIG, give --kubeconfig FILE, or call it as kubectl machinist",
        ),
        (None, Some(context)) => anyhow::bail!(
            "--context {context} is a context of a kubeconfig, and there is none: name one with --kubeconfig or KUBECONFIG"
        ),
    }
}

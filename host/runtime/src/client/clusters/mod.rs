//! Clients of the clusters, all made in the same way.
//!
//! | module | what it does |
//! | --- | --- |
//! | `kubeconfig` | reads a kubeconfig |
//! | `proxy` | chooses the proxy to an API server |

mod kubeconfig;
mod proxy;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use machinist_core::scheduling::request_rate::Rate;

pub use crate::client::counting::{CountRequests, Counted};
use crate::client::field_manager::USER_AGENT;
use crate::context::clock::Clock;
use crate::metrics::Metrics;

pub use kubeconfig::Error as KubeconfigError;

/// Where a cluster's access comes from. Explicit: nothing falls back to anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// The account of the pod.
    InCluster,
    /// A kubeconfig file.
    Kubeconfig(std::path::PathBuf),
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or is no kubeconfig.
    #[error("failed to read kubeconfig {path}")]
    Kubeconfig {
        /// Which file.
        path: String,
        /// Why.
        #[source]
        source: Box<KubeconfigError>,
    },
    /// This is no pod.
    #[error("failed to use the pod's account: outside of a cluster, name a kubeconfig")]
    InCluster {
        /// Why.
        #[source]
        source: Box<kube::config::InClusterError>,
    },
    /// Certificates or the like.
    #[error("failed to make a client")]
    Client {
        /// Why.
        #[source]
        source: Box<kube::Error>,
    },
}

/// Reads the access.
pub fn config(access: &Access) -> Result<Config, Error> {
    match access {
        Access::InCluster => {
            Config::incluster().map_err(|source| Error::InCluster { source: Box::new(source) })
        }
        Access::Kubeconfig(path) => from_file(path),
    }
}

fn from_file(path: &Path) -> Result<Config, Error> {
    let read = || from_kubeconfig(&Kubeconfig::read_from(path)?, &KubeConfigOptions::default());
    read().map_err(|source| Error::Kubeconfig { path: path.display().to_string(), source: Box::new(source) })
}

/// Reads a kubeconfig that is at hand. Requests go through the proxy that it names for the cluster, else through the
/// one of HTTPS_PROXY (HTTP_PROXY for a server without TLS), unless NO_PROXY names the server or it is on this
/// machine.
///
/// # Errors
/// When it is incomplete, or the proxy is no URL.
pub fn from_kubeconfig(
    kubeconfig: &Kubeconfig,
    options: &KubeConfigOptions,
) -> Result<Config, KubeconfigError> {
    let (mut config, named) = kubeconfig::read(kubeconfig, options)?;
    let chosen = proxy::choose(&config.cluster_url, named.as_deref(), &proxy::Environment::read());
    let chosen = chosen.map(|proxy| proxy.parse::<http::Uri>()).transpose();
    config.proxy_url = chosen.map_err(kube::config::KubeconfigError::ParseProxyUrl)?;
    Ok(config)
}

/// Names the server of a configuration for people, and the proxy towards it, without its login.
pub fn server(config: &Config) -> String {
    let proxy = config.proxy_url.as_ref().and_then(|proxy| Some((proxy.host()?, proxy.port_u16())));
    let server = config.cluster_url.to_string();
    let server = server.trim_end_matches('/');
    match proxy {
        None => server.to_owned(),
        Some((host, None)) => format!("{server} through proxy {host}"),
        Some((host, Some(port))) => format!("{server} through proxy {host}:{port}"),
    }
}

/// A client whose requests are counted.
pub fn client(config: Config, metrics: Arc<Metrics>) -> Result<Client, Error> {
    paced_client(config, metrics, None)
}

/// Counts the requests of a client that has another service in place of connections, with this clock beside the
/// server's.
pub fn counted(clock: Clock, metrics: Arc<Metrics>) -> CountRequests {
    CountRequests::new(metrics, "server", None).with_clock(clock)
}

/// A client whose requests are counted, and sent at most at this rate where there is one.
pub fn paced_client(mut config: Config, metrics: Arc<Metrics>, rate: Option<Rate>) -> Result<Client, Error> {
    // Watches are silent for minutes; single requests have deadlines of their own.
    config.read_timeout = Some(Duration::from_secs(295));
    config.connect_timeout = Some(Duration::from_secs(10));
    // Whoever asks decides when to ask again. A client that repeats by itself what was refused with 429 would ask a
    // PodDisruptionBudget many times a second, and hold the pass that waits.
    config.default_retry = false;
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT)));
    let url = &config.cluster_url;
    let host = url.authority().map_or_else(String::new, ToString::to_string);
    let builder =
        ClientBuilder::try_from(config).map_err(|source| Error::Client { source: Box::new(source) })?;
    Ok(builder.with_layer(&CountRequests::new(metrics, &host, rate)).build())
}

//! Connections that outlive a call. Plugins share none; neither do rules with different address classes, or a request
//! could ride on a connection that its own rule would not have dialled. Secrets with certificates of their own share
//! none, since a connection shows one. Nor do calls that let others go first and those that do not: a connection
//! computes where it was opened.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::rt::Executor;
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioTimer;
use machinist_core::value::id::PluginName;
use rustls::{ClientConfig, RootCertStore};
use tokio::time::Instant;
use tracing::warn;

use super::connect::{Connector, Manner};
use crate::auth::SecretTls;
use crate::egress::EgressSettings;
use crate::egress::failure::Failure;
use crate::egress::metrics::EgressMetrics;
use crate::grants::Grants;
use crate::resources::threads::{self, is_low_priority};
use crate::target::AddressClasses;

/// More headers than that are no answer of a cloud.
const RESPONSE_HEADERS_BYTES: usize = 64 * 1024;

pub(crate) type HttpClient = HyperClient<Connector, Full<Bytes>>;

pub(crate) struct Pool {
    clients: Mutex<HashMap<ClientKey, ClientSlot>>,
    system_roots: RootCertStore,
    manner: Manner,
    idle_timeout: Duration,
    idle_connections_per_host: usize,
    metrics: EgressMetrics,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ClientKey {
    plugin: PluginName,
    grants: [u8; 32],
    classes: AddressClasses,
    is_low_priority: bool,
    tls: Option<[u8; 32]>,
}

struct ClientSlot {
    client: HttpClient,
    used: Instant,
}

impl Pool {
    pub(crate) fn new(settings: &EgressSettings, metrics: &EgressMetrics) -> Self {
        Self {
            clients: Mutex::default(),
            system_roots: system_roots(),
            manner: Manner {
                resolver: settings.resolver.clone(),
                denied: settings.denied_networks.clone(),
                timeout: settings.connect_timeout,
                detour: settings.detour,
            },
            idle_timeout: settings.idle_timeout,
            idle_connections_per_host: settings.idle_connections_per_host,
            metrics: metrics.clone(),
        }
    }

    /// The connections of this plugin under these grants, with the TLS that a Secret asks for. Those of older grants go
    /// when they were not used for the idle time-out, which has closed their connections by then.
    pub(crate) fn client(
        &self,
        plugin: &PluginName,
        grants: &Grants,
        classes: AddressClasses,
        tls: Option<&SecretTls>,
    ) -> Result<HttpClient, Failure> {
        let key = ClientKey {
            plugin: plugin.clone(),
            grants: grants.digest(),
            classes,
            is_low_priority: is_low_priority(),
            tls: tls.map(SecretTls::digest),
        };
        let now = Instant::now();
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = clients.get_mut(&key) {
            slot.used = now;
            return Ok(slot.client.clone());
        }
        clients.retain(|_, slot| now.duration_since(slot.used) < self.idle_timeout);
        let client = self.build(plugin, grants, classes, tls)?;
        clients.insert(key, ClientSlot { client: client.clone(), used: now });
        Ok(client)
    }

    fn build(
        &self,
        plugin: &PluginName,
        grants: &Grants,
        classes: AddressClasses,
        tls: Option<&SecretTls>,
    ) -> Result<HttpClient, Failure> {
        let tls = self.tls(grants, tls).map_err(|error| Failure::Tls(io::Error::other(error)))?;
        let open = self.metrics.connections(plugin);
        let connector = Connector::new(self.manner.clone(), classes, Arc::new(tls), open);
        Ok(HyperClient::builder(BesideTheCall)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_timeout)
            .pool_max_idle_per_host(self.idle_connections_per_host)
            .http1_max_buf_size(RESPONSE_HEADERS_BYTES)
            .http2_max_header_list_size(u32::try_from(RESPONSE_HEADERS_BYTES).unwrap_or(u32::MAX))
            .build(connector))
    }

    fn tls(&self, grants: &Grants, of_secret: Option<&SecretTls>) -> Result<ClientConfig, rustls::Error> {
        let mut roots = self.system_roots.clone();
        // Grants hold only certificates that a store takes.
        let _ = roots.add_parsable_certificates(grants.roots().iter().cloned());
        let mut config = match of_secret {
            Some(tls) => tls.config(roots)?,
            None => ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()?
                .with_root_certificates(roots)
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// Connections let others go first where the call does that opens them: what is unpacked there is its work, too.
#[derive(Clone)]
struct BesideTheCall;

impl<C: Future<Output: Send> + Send + 'static> Executor<C> for BesideTheCall {
    fn execute(&self, connection: C) {
        // It ends with its connection.
        threads::spawn(connection);
    }
}

fn system_roots() -> RootCertStore {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        warn!(%error, "some certificate authorities of the system cannot be read");
    }
    let mut roots = RootCertStore::empty();
    let (_, ignored) = roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        warn!(ignored, "the system has no certificate authorities: https needs `ca` in a plugin's grants");
    }
    roots
}

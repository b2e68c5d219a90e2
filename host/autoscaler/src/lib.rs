//! cluster-autoscaler's interface for external providers, over gRPC: MachineDeployments as its node groups.
//!
//! This crate listens, translates messages and counts calls. The runtime answers them ([`NodeGroups`]), and the core
//! decides. Its messages are generated from `proto`, with the names and numbers that cluster-autoscaler publishes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `listen` | connections: few, and those that ask soon; a process that does not lead ends them |
//! | [`tls`] | certificates, read again for each connection |
//! | `service` | the fifteen calls |
//! | `answers` | answers of the runtime as messages, and its errors as gRPC has them |
//! | `options` | options of a group, in the forms of all versions |
//! | `node` | the template of a Node in Kubernetes' binary form |
//! | [`metrics`] | counts calls |
//! | [`messages`] | the generated messages and service |
//! | `node_messages` | the generated messages of a Node |

#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)
)]

mod answers;
mod listen;
pub mod metrics;
mod node;
mod options;
mod service;
pub mod tls;

use std::net::SocketAddr;

use machinist_runtime::autoscaler::{NodeGroups, Scope};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tracing::info;

use metrics::CallMetrics;
use tls::{TlsError, TlsFiles};

/// The generated messages of cluster-autoscaler, with its service.
#[rustfmt::skip]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    missing_docs,
    reason = "generated"
)]
#[path = "generated/externalgrpc.rs"]
pub mod messages;

/// The generated messages of a Node.
#[rustfmt::skip]
#[allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    unreachable_pub,
    reason = "generated"
)]
#[path = "generated/node.rs"]
mod node_messages;

/// An address for one autoscaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub address: SocketAddr,
    pub scope: Scope,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("failed to listen on {address}: choose another --autoscaler-address")]
    Listen {
        address: SocketAddr,
        #[source]
        source: std::io::Error,
    },
    #[error("failed to read the certificates for cluster-autoscaler")]
    Tls(#[from] TlsError),
}

/// Listens, then serves in the background until `stop`. Returns the addresses.
///
/// # Errors
/// When an address is taken, or the certificates are not usable.
pub async fn serve(
    endpoints: Vec<Endpoint>,
    tls: Option<TlsFiles>,
    groups: &NodeGroups,
    metrics: &CallMetrics,
    stop: &CancellationToken,
) -> Result<Vec<SocketAddr>, ServeError> {
    if let Some(files) = &tls {
        files.acceptor().await?;
    }
    let mut addresses = Vec::new();
    for Endpoint { address, scope } in endpoints {
        let failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        info!(%address, scope = %scope, tls = tls.is_some(), "serving cluster-autoscaler");
        let calls = service::Calls::new(groups.clone(), scope, metrics.clone());
        // It ends with the process.
        tokio::spawn(listen::listen(listener, tls.clone(), calls, stop.clone()));
        addresses.push(address);
    }
    Ok(addresses)
}

//! Dials. The addresses of a name are checked here, where they are used, so that no second lookup can bring others.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use http::Uri;
use prometheus_client::metrics::gauge::Gauge;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tower::Service;

use super::resolve::Resolve;
use super::stream::Stream;
use crate::egress::connection::resolve::DeniedNetworks;
use crate::target::{AddressClass, AddressClasses};

/// The bytes that the kernel accepts ahead of the reader, by its own count twice as many: a page of a large listing.
const RECEIVE_BUFFER_BYTES: u32 = 256 * 1024;

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error("the request has no host")]
    NoHost,
    #[error("failed to resolve the host")]
    Resolve(#[source] io::Error),
    #[error("{} addresses are not granted", .0.name())]
    Prohibited(AddressClass),
    #[error("failed to connect in time")]
    Timeout,
    #[error("failed to connect")]
    Dial(#[source] io::Error),
    #[error("failed to agree on TLS")]
    Tls(#[source] io::Error),
}

/// Dials for one plugin under one set of address classes.
#[derive(Clone)]
pub(crate) struct Connector(Arc<ConnectorState>);

struct ConnectorState {
    resolver: Arc<dyn Resolve>,
    classes: AddressClasses,
    denied: DeniedNetworks,
    tls: TlsConnector,
    timeout: Duration,
    detour: Option<SocketAddr>,
    open: Gauge,
}

/// How a connector dials, whatever the plugin.
#[derive(Clone)]
pub(crate) struct Manner {
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) denied: DeniedNetworks,
    pub(crate) timeout: Duration,
    /// Dialled instead of what the name leads to.
    pub(crate) detour: Option<SocketAddr>,
}

impl Connector {
    pub(crate) fn new(manner: Manner, classes: AddressClasses, tls: Arc<ClientConfig>, open: Gauge) -> Self {
        let Manner { resolver, denied, timeout, detour } = manner;
        let tls = TlsConnector::from(tls);
        Self(Arc::new(ConnectorState { resolver, classes, denied, tls, timeout, detour, open }))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = BoxFuture<'static, Result<Stream, ConnectError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let inner = self.0.clone();
        Box::pin(async move {
            // The pool may go on connecting for a later request when this one is over: the time-out belongs here.
            tokio::time::timeout(inner.timeout, inner.connect(&uri))
                .await
                .unwrap_or(Err(ConnectError::Timeout))
        })
    }
}

impl ConnectorState {
    async fn connect(&self, uri: &Uri) -> Result<Stream, ConnectError> {
        let host = uri.host().ok_or(ConnectError::NoHost)?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_tls = uri.scheme_str() != Some("http");
        let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let addresses = self.checked_addresses(host).await?;
        if let Some(detour) = self.detour {
            let stream = self.dial(&[detour.ip()], detour.port()).await?;
            return Ok(Stream::plain(stream, self.open.clone()));
        }
        let stream = self.dial(&addresses, port).await?;
        if !is_tls {
            return Ok(Stream::plain(stream, self.open.clone()));
        }
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| ConnectError::Tls(io::Error::other(error)))?;
        let stream = self.tls.connect(name, stream).await.map_err(ConnectError::Tls)?;
        Ok(Stream::tls(stream, self.open.clone()))
    }

    /// Returns all addresses of the host. One address that is not granted makes all of them invalid: the name server is
    /// not trusted then.
    async fn checked_addresses(&self, host: &str) -> Result<Vec<IpAddr>, ConnectError> {
        let addresses = match host.parse::<IpAddr>() {
            Ok(literal) => vec![literal],
            Err(_) => self.resolver.resolve(host).await.map_err(ConnectError::Resolve)?,
        };
        if addresses.is_empty() {
            return Err(ConnectError::Resolve(io::Error::new(io::ErrorKind::NotFound, "no address")));
        }
        for address in &addresses {
            let class = self.denied.class_of(*address);
            if !self.classes.contains(class) {
                return Err(ConnectError::Prohibited(class));
            }
        }
        Ok(addresses)
    }

    /// One address after the other; each gets its share of the time, so that a dead one does not eat it all.
    async fn dial(&self, addresses: &[IpAddr], port: u16) -> Result<TcpStream, ConnectError> {
        let share = self.timeout / u32::try_from(addresses.len()).unwrap_or(u32::MAX).max(1);
        let mut last = ConnectError::Timeout;
        for address in addresses {
            match tokio::time::timeout(share, connect(SocketAddr::new(*address, port))).await {
                // Without this, a body behind its headers waits 40 ms for the other side's acknowledgement.
                Ok(Ok(stream)) => match stream.set_nodelay(true) {
                    Ok(()) => return Ok(stream),
                    Err(error) => last = ConnectError::Dial(error),
                },
                Ok(Err(error)) => last = ConnectError::Dial(error),
                Err(_) => last = ConnectError::Timeout,
            }
        }
        Err(last)
    }
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    socket(address)?.connect(address).await
}

/// Without a limit the kernel accepts megabytes for a driver that reads slowly, in one go and at the cost of the thread
/// that it interrupts.
fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_recv_buffer_size(RECEIVE_BUFFER_BYTES)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::SystemResolver;

    /// The kernel doubles the size, and bounds it by a setting of its own.
    #[tokio::test]
    async fn the_kernel_accepts_a_bounded_part_of_an_answer_ahead_of_its_reader() {
        let bound: u32 =
            std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap().trim().parse().unwrap();
        for address in ["127.0.0.1:1", "[::1]:1"] {
            let socket = socket(address.parse().unwrap()).unwrap();
            assert_eq!(socket.recv_buffer_size().unwrap(), 2 * RECEIVE_BUFFER_BYTES.min(bound), "{address}");
        }
    }

    #[tokio::test]
    async fn a_connection_delays_no_small_segment() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let classes = AddressClasses::new([AddressClass::Loopback]);
        let manner = Manner {
            resolver: Arc::new(SystemResolver),
            denied: DeniedNetworks::default(),
            timeout: Duration::from_secs(10),
            detour: None,
        };
        let connector = Connector::new(manner, classes, Arc::new(tls), Gauge::default());
        let address = listener.local_addr().unwrap();
        let stream = connector.0.dial(&[address.ip()], address.port()).await.unwrap();
        assert!(stream.nodelay().unwrap());
    }
}

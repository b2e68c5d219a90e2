//! A second address of the proxy, with TLS and a certificate of its own authority.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The listener with TLS; it forwards bytes to the proxy until it is dropped.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) port: u16,
    /// PEM of the certificate, which is its own authority.
    pub(crate) authority: String,
    _serving: faulty_http::ServerThread,
}

impl Tls {
    pub(crate) fn start(proxy: SocketAddr) -> anyhow::Result<Self> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).context("failed to create a certificate")?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .context("no version of TLS")?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .context("the certificate does not fit")?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let serving = faulty_http::ServerThread::start("openstack-tls", 1, any, move |listener| {
            accept(listener, acceptor, proxy)
        })
        .context("failed to listen with TLS")?;
        Ok(Self { port: serving.address().port(), authority: made.cert.pem(), _serving: serving })
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, proxy: SocketAddr) {
    while let Ok((socket, _)) = listener.accept().await {
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            // A client that does not trust the certificate ends the handshake.
            let (Ok(mut outer), Ok(mut inner)) =
                (acceptor.accept(socket).await, TcpStream::connect(proxy).await)
            else {
                return;
            };
            tokio::io::copy_bidirectional(&mut outer, &mut inner).await.ok();
        });
    }
}

//! The certificate of HTTPS.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Ends TLS on connections.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ServerConfig>,
    /// The certificate as PEM.
    pub(crate) certificate: String,
}

impl Tls {
    /// With a certificate of its own for `localhost`.
    pub(crate) fn new() -> io::Result<Self> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).map_err(io::Error::other)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .map_err(io::Error::other)?;
        Ok(Self { config: Arc::new(config), certificate: made.cert.pem() })
    }

    pub(crate) fn accept(&self, socket: TcpStream) -> io::Result<StreamOwned<ServerConnection, TcpStream>> {
        let connection = ServerConnection::new(Arc::clone(&self.config)).map_err(io::Error::other)?;
        Ok(StreamOwned::new(connection, socket))
    }
}

//! HTTP and HTTPS on loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use faulty_http::{Answer, Broken, Received, ServerThread, serve};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::cloud::{Cloud, Reply};
use crate::options::Options;
use crate::wire::Request;

const MOST_BODY_BYTES: usize = 4 << 20;

/// Why the server did not start.
#[derive(Debug)]
pub enum StartError {
    /// A port, a thread or a certificate could not be had.
    Server(String),
}

/// A cloud on two ports of loopback, which end with this value.
pub struct Server {
    cloud: Arc<Mutex<Cloud>>,
    plain: ServerThread,
    secure: ServerThread,
    certificate: String,
}

impl Server {
    /// Starts it on free ports.
    pub fn start(options: Options) -> Result<Self, StartError> {
        Self::start_at(options, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts it with HTTP at this address, and HTTPS on a free port.
    pub fn start_at(options: Options, address: SocketAddr) -> Result<Self, StartError> {
        let failed = |error: &dyn std::fmt::Display| StartError::Server(error.to_string());
        let cloud = Arc::new(Mutex::new(Cloud::new(options)));
        let answering = Arc::clone(&cloud);
        let plain = ServerThread::start("azure", 2, address, move |listener| {
            serve(listener, MOST_BODY_BYTES, move |head, body| {
                let cloud = Arc::clone(&answering);
                async move { answer(&cloud, &head, &body) }
            })
        })
        .map_err(|error| failed(&error))?;
        let (acceptor, certificate) = tls().map_err(|error| failed(&error))?;
        let (local, behind) = (SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), plain.address());
        let secure =
            ServerThread::start("azure-tls", 1, local, move |listener| forward(listener, acceptor, behind))
                .map_err(|error| failed(&error))?;
        Ok(Self { cloud, plain, secure, certificate })
    }

    /// The base URL of HTTP.
    pub fn url(&self) -> String {
        format!("http://{}", self.plain.address())
    }

    /// The base URL of HTTPS. Its certificate is for `localhost`.
    pub fn secure_url(&self) -> String {
        format!("https://localhost:{}", self.secure.address().port())
    }

    /// The certificate of HTTPS, PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The cloud behind it.
    pub fn cloud(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tls() -> anyhow::Result<(TlsAcceptor, String)> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok((TlsAcceptor::from(Arc::new(config)), made.cert.pem()))
}

/// Ends TLS in front of the plain port.
async fn forward(listener: TcpListener, acceptor: TlsAcceptor, behind: SocketAddr) {
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let (Ok(mut outside), Ok(mut inside)) =
                (acceptor.accept(socket).await, TcpStream::connect(behind).await)
            else {
                return;
            };
            // A connection that breaks is the client's affair.
            let _ = tokio::io::copy_bidirectional(&mut outside, &mut inside).await;
        });
    }
}

fn answer(cloud: &Mutex<Cloud>, head: &Parts, body: &Bytes) -> Answer {
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::new(head.method.as_str(), target).body(body.to_vec());
    for (name, value) in &head.headers {
        request = request.header(name.as_str(), value.to_str().unwrap_or_default());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let reply = cloud.lock().unwrap_or_else(PoisonError::into_inner).handle(&request, now_ms);
    let Reply::Answer(response) = reply else { return Err(Broken) };
    let mut headers = HeaderMap::new();
    for (name, value) in &response.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            headers.append(name, value);
        }
    }
    let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Ok(Received { status, headers, body: Bytes::from(response.body) }.whole())
}

impl std::fmt::Display for StartError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self::Server(why) = self;
        write!(to, "failed to start Azure for tests: {why}")
    }
}

impl std::error::Error for StartError {}

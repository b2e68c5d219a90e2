//! HTTP and HTTPS on loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

use crate::cloud::{Cloud, Reply};
use crate::options::Options;
use crate::wire::Request;

const MOST_BODY_BYTES: usize = 4 << 20;
const THREADS: usize = 2;

/// The connection ends without an answer.
#[derive(Debug)]
struct Lost;

impl std::fmt::Display for Lost {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("the answer is lost on purpose")
    }
}

impl std::error::Error for Lost {}

/// A cloud on two ports of loopback, with threads of its own, which end with this value.
pub struct Server {
    cloud: Arc<Mutex<Cloud>>,
    plain: SocketAddr,
    secure: SocketAddr,
    certificate: String,
    runtime: Option<Runtime>,
}

impl Server {
    /// Starts it on free ports.
    pub fn start(options: Options) -> anyhow::Result<Self> {
        Self::start_at(options, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Starts it with HTTP at this address, and HTTPS on a free port.
    pub fn start_at(options: Options, address: SocketAddr) -> anyhow::Result<Self> {
        let cloud = Arc::new(Mutex::new(Cloud::new(options)));
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
        let (acceptor, certificate) = tls()?;
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listen = |address: SocketAddr| {
            let listener = std::net::TcpListener::bind(address).context("failed to listen")?;
            listener.set_nonblocking(true)?;
            // Its readiness is reported to this runtime, wherever the caller runs.
            let _entered = runtime.enter();
            anyhow::Ok(TcpListener::from_std(listener)?)
        };
        let (plain, secure) = (listen(address)?, listen(local)?);
        let (plain_address, secure_address) = (plain.local_addr()?, secure.local_addr()?);
        runtime.spawn(accept(plain, Arc::clone(&cloud), None));
        runtime.spawn(accept(secure, Arc::clone(&cloud), Some(acceptor)));
        let runtime = Some(runtime);
        Ok(Self { cloud, plain: plain_address, secure: secure_address, certificate, runtime })
    }

    /// The base URL of HTTP.
    pub fn url(&self) -> String {
        format!("http://{}", self.plain)
    }

    /// The base URL of HTTPS. Its certificate is for `localhost`.
    pub fn secure_url(&self) -> String {
        format!("https://localhost:{}", self.secure.port())
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

impl Drop for Server {
    fn drop(&mut self) {
        // A runtime must not be waited for in another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
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

async fn accept(listener: TcpListener, cloud: Arc<Mutex<Cloud>>, tls: Option<TlsAcceptor>) {
    loop {
        let Ok((socket, _)) = listener.accept().await else { continue };
        let (cloud, tls) = (Arc::clone(&cloud), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => serve(socket, cloud).await,
                Some(tls) => {
                    if let Ok(socket) = tls.accept(socket).await {
                        serve(socket, cloud).await;
                    }
                }
            }
        });
    }
}

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin, cloud: Arc<Mutex<Cloud>>) {
    let service = service_fn(|request: http::Request<Incoming>| {
        let cloud = Arc::clone(&cloud);
        async move {
            let (head, body) = request.into_parts();
            let body = Limited::new(body, MOST_BODY_BYTES).collect().await.map_err(|_| Lost)?;
            answer(&cloud, &head, &body.to_bytes())
        }
    });
    // A connection that breaks is the client's affair, or a fault.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service).await;
}

fn answer(cloud: &Mutex<Cloud>, head: &Parts, body: &Bytes) -> Result<http::Response<Full<Bytes>>, Lost> {
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    let mut request = Request::new(head.method.as_str(), target).body(body.to_vec());
    for (name, value) in &head.headers {
        request = request.header(name.as_str(), value.to_str().unwrap_or_default());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let reply = cloud.lock().unwrap_or_else(PoisonError::into_inner).handle(&request, now_ms);
    let Reply::Answer(answer) = reply else { return Err(Lost) };
    let mut response = http::Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &answer.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

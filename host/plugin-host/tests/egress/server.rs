//! Servers on loopback. They end when they are dropped.

use std::convert::Infallible;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) version: http::Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A server and what it saw.
pub(crate) struct Server {
    pub(crate) port: u16,
    accepts: Arc<AtomicUsize>,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers each request by a function.
    pub(crate) async fn http(answer: impl Fn(&Seen) -> Response<Bytes> + Send + Sync + 'static) -> Self {
        let answer = Arc::new(answer);
        Self::start(move |stream, _, seen| {
            let answer = answer.clone();
            async move {
                let service = service_fn(move |request| respond(request, answer.clone(), seen.clone()));
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            }
        })
        .await
    }

    /// The same behind TLS, with HTTP/2 where the client wants it.
    pub(crate) async fn https(
        tls: TlsAcceptor,
        answer: impl Fn(&Seen) -> Response<Bytes> + Send + Sync + 'static,
    ) -> Self {
        let answer = Arc::new(answer);
        Self::start(move |stream, _, seen| {
            let (answer, tls) = (answer.clone(), tls.clone());
            async move {
                let Ok(stream) = tls.accept(stream).await else { return };
                let is_h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                let service = service_fn(move |request| respond(request, answer.clone(), seen.clone()));
                let io = TokioIo::new(stream);
                let _ = if is_h2 {
                    hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(io, service)
                        .await
                } else {
                    hyper::server::conn::http1::Builder::new().serve_connection(io, service).await
                };
            }
        })
        .await
    }

    /// Serves each connection by a function, which gets the number of earlier connections.
    pub(crate) async fn raw<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(TcpStream, usize) -> F + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |stream, before, _| serve(stream, before)).await
    }

    async fn start<F: Future<Output = ()> + Send + 'static>(
        serve: impl Fn(TcpStream, usize, Arc<Mutex<Vec<Seen>>>) -> F + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (accepts, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let (counter, log) = (accepts.clone(), seen.clone());
        let task = tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                connections.spawn(serve(stream, counter.fetch_add(1, Ordering::SeqCst), log.clone()));
            }
        });
        Self { port, accepts, seen, task }
    }

    pub(crate) fn accepts(&self) -> usize {
        self.accepts.load(Ordering::SeqCst)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

async fn respond(
    request: Request<Incoming>,
    answer: Arc<impl Fn(&Seen) -> Response<Bytes>>,
    log: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let (method, uri, version, headers) = (parts.method, parts.uri, parts.version, parts.headers);
    let seen = Seen { method, uri, version, headers, body };
    let response = answer(&seen).map(Full::new);
    log.lock().unwrap().push(seen);
    Ok(response)
}

/// An answer with this body.
pub(crate) fn ok(body: impl Into<Bytes>) -> Response<Bytes> {
    Response::new(body.into())
}

/// Reads one request's head and, where it names a length, its body.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let bytes = stream.read(&mut piece).await.ok().filter(|bytes| *bytes > 0)?;
        request.extend_from_slice(&piece[..bytes]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        if let Some(head) = text.find("\r\n\r\n") {
            let length = text
                .split("content-length: ")
                .nth(1)
                .and_then(|rest| rest.split("\r\n").next()?.parse().ok());
            if request.len() >= head + 4 + length.unwrap_or(0) {
                return Some(request);
            }
        }
    }
}

/// Sends pieces, each in a segment of its own, and closes.
pub(crate) async fn write_pieces(stream: &mut TcpStream, pieces: &[&[u8]]) {
    for piece in pieces {
        let _ = stream.write_all(piece).await;
        let _ = stream.flush().await;
        tokio::task::yield_now().await;
    }
    let _ = stream.shutdown().await;
}

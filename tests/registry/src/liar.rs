//! A proxy in front of a registry that answers some questions otherwise.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

/// How an answer differs from the truth.
#[derive(Clone, Debug)]
pub enum Lie {
    /// Other bytes, of the same number.
    Bytes,
    /// The first half of the bytes, and the end of the connection.
    Half,
    /// A byte once in a while, and no end.
    Drip,
    /// No answer at all.
    Silence,
    /// More and more bytes, for ever.
    Flood,
    Instead {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
}

/// A running proxy. Dropping it ends it.
#[derive(Debug)]
pub struct Liar {
    address: SocketAddr,
    lies: Arc<Mutex<Lies>>,
    task: tokio::task::JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Lies {
    by_path: Vec<(String, Lie)>,
    asked: Vec<String>,
}

#[derive(Clone)]
struct Shared {
    upstream: String,
    client: reqwest::Client,
    lies: Arc<Mutex<Lies>>,
}

/// Larger than anything that is asked for.
const MOST_BODY_BYTES: usize = 256 << 20;

impl Liar {
    /// A proxy in front of the registry at `upstream` that passes everything on unchanged.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn start(upstream: &str) -> anyhow::Result<Self> {
        // Fails only when another provider was installed before, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("no port")?;
        let address = listener.local_addr()?;
        let lies = Arc::new(Mutex::new(Lies::default()));
        let client = reqwest::Client::builder().no_proxy().build()?;
        let shared = Shared { upstream: upstream.to_owned(), client, lies: lies.clone() };
        let router = Router::new().fallback(answer).with_state(shared);
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, lies, task })
    }

    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Answers so to every path that has this in it.
    pub fn lie(&self, path: &str, lie: Lie) {
        self.lock().by_path.push((path.to_owned(), lie));
    }

    pub fn repent(&self) {
        self.lock().by_path.clear();
    }

    /// Methods and paths that were asked for since the last time.
    pub fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().asked)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Lies> {
        self.lies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let lie = {
        let mut lies = shared.lies.lock().unwrap_or_else(PoisonError::into_inner);
        lies.asked.push(format!("{} {path}", parts.method));
        lies.by_path.iter().find(|(part, _)| path.contains(part.as_str())).map(|(_, lie)| lie.clone())
    };
    match lie {
        Some(Lie::Silence) => std::future::pending().await,
        Some(Lie::Drip) => stream(Bytes::from_static(b" "), Duration::from_millis(20)),
        Some(Lie::Flood) => stream(Bytes::from(vec![b' '; 64 << 10]), Duration::ZERO),
        Some(Lie::Instead { status, headers, body }) => {
            let mut response = (status_of(status), body).into_response();
            for (name, value) in headers {
                if let Ok(value) = value.parse() {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
        lie @ (None | Some(Lie::Bytes | Lie::Half)) => {
            let body = axum::body::to_bytes(body, MOST_BODY_BYTES).await.unwrap_or_default();
            let url = format!("http://{}{path}", shared.upstream);
            let mut headers = parts.headers;
            headers.remove("host");
            match shared.client.request(parts.method, url).headers(headers).body(body).send().await {
                Ok(answer) => pass_on(answer, lie.as_ref()).await,
                Err(error) => (status_of(502), error.to_string()).into_response(),
            }
        }
    }
}

async fn pass_on(answer: reqwest::Response, lie: Option<&Lie>) -> Response {
    let (status, headers) = (answer.status(), answer.headers().clone());
    let truth = answer.bytes().await.unwrap_or_default();
    let body = match lie {
        Some(Lie::Bytes) => {
            let mut bytes = truth.to_vec();
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
            Body::from(bytes)
        }
        Some(Lie::Half) => {
            let half = truth.slice(..truth.len() / 2);
            Body::from_stream(futures::stream::iter([Ok(half), Err(std::io::Error::other("the end"))]))
        }
        Some(Lie::Drip | Lie::Silence | Lie::Flood | Lie::Instead { .. }) | None => Body::from(truth),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.headers_mut().remove("transfer-encoding");
    response
}

fn stream(piece: Bytes, pause: Duration) -> Response {
    let pieces = futures::stream::unfold((), move |()| {
        let piece = piece.clone();
        async move {
            tokio::time::sleep(pause).await;
            Some((Ok::<_, std::io::Error>(piece), ()))
        }
    });
    Response::new(Body::from_stream(pieces))
}

fn status_of(status: u16) -> axum::http::StatusCode {
    axum::http::StatusCode::from_u16(status).unwrap_or(axum::http::StatusCode::INTERNAL_SERVER_ERROR)
}

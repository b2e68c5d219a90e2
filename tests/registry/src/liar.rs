//! A proxy in front of a registry that answers some questions otherwise.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use faulty_http::{Answer, AnswerBody, Broken, Received, Upstream, serve};
use http::header::HOST;
use http::request::Parts;
use http::{Response, StatusCode};

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
    upstream: Upstream,
    lies: Arc<Mutex<Lies>>,
}

/// Larger than anything that is asked for.
const MOST_BODY_BYTES: usize = 256 << 20;

impl Liar {
    /// A proxy in front of the registry at `upstream` that passes everything on unchanged.
    pub async fn start(upstream: &str) -> anyhow::Result<Self> {
        // Fails only when another provider was installed before, and then there is one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.context("no port")?;
        let address = listener.local_addr()?;
        let lies = Arc::new(Mutex::new(Lies::default()));
        let client = reqwest::Client::builder().no_proxy().build()?;
        let shared =
            Shared { upstream: Upstream::new(format!("http://{upstream}"), client), lies: lies.clone() };
        let task = tokio::spawn(serve(listener, MOST_BODY_BYTES, move |head, body| {
            answer(shared.clone(), head, body)
        }));
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

async fn answer(shared: Shared, mut head: Parts, body: Bytes) -> Answer {
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let lie = {
        let mut lies = shared.lies.lock().unwrap_or_else(PoisonError::into_inner);
        lies.asked.push(format!("{} {path}", head.method));
        lies.by_path.iter().find(|(part, _)| path.contains(part.as_str())).map(|(_, lie)| lie.clone())
    };
    match lie {
        Some(Lie::Silence) => std::future::pending().await,
        Some(Lie::Drip) => endless(Bytes::from_static(b" "), Duration::from_millis(20)),
        Some(Lie::Flood) => endless(Bytes::from(vec![b' '; 64 << 10]), Duration::ZERO),
        Some(Lie::Instead { status, headers, body }) => {
            let mut response = Response::builder().status(status_of(status));
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(AnswerBody::whole(body)).map_err(|_| Broken)
        }
        lie @ (None | Some(Lie::Bytes | Lie::Half)) => {
            head.headers.remove(HOST);
            match shared.upstream.forward(&head, &path, body).await {
                Ok(truth) => Ok(pass_on(truth, lie.as_ref())),
                Err(error) => {
                    let body = AnswerBody::whole(error.to_string());
                    Response::builder().status(StatusCode::BAD_GATEWAY).body(body).map_err(|_| Broken)
                }
            }
        }
    }
}

fn pass_on(mut truth: Received, lie: Option<&Lie>) -> Response<AnswerBody> {
    match lie {
        Some(Lie::Bytes) => {
            let mut bytes = truth.body.to_vec();
            if let Some(last) = bytes.last_mut() {
                *last ^= 1;
            }
            truth.body = bytes.into();
            truth.whole()
        }
        Some(Lie::Half) => truth.cut(),
        Some(Lie::Drip | Lie::Silence | Lie::Flood | Lie::Instead { .. }) | None => truth.whole(),
    }
}

fn endless(piece: Bytes, pause: Duration) -> Answer {
    Ok(Response::new(AnswerBody::endless(piece, pause)))
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

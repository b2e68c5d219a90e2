//! The listener: connections that are few, requests that come soon, answers that are taken soon.

use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;
use tracing::debug;

use super::connections::{ConnectionSlot, Connections};
use super::refusals::{Refusals, Why};

/// How long a connection may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Until the headers of a request have arrived, and how long a connection may be idle.
    pub(super) headers: Duration,
    /// From the headers until the answer is taken.
    pub(super) answer: Duration,
}

impl Default for Times {
    fn default() -> Self {
        // Enough for metrics of ten thousand Machines over a slow line.
        Self { headers: Duration::from_secs(5), answer: Duration::from_secs(30) }
    }
}

/// All headers of a request together. A token may be in them.
const HEADER_BYTES: usize = 16 << 10;

/// After a failed accept, as when there are no file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer(pub(super) IpAddr);

/// When the connection of a request ends, whatever is open then.
#[derive(Clone, Debug)]
pub(super) struct Deadline {
    at: Arc<watch::Sender<Instant>>,
    answer: Duration,
}

impl Deadline {
    fn new(times: Times) -> Self {
        Self { at: Arc::new(watch::Sender::new(Instant::now() + times.headers)), answer: times.answer }
    }

    /// From now on there is this much time beside the usual.
    pub(super) fn extend(&self, by: Duration) {
        self.at.send_replace(Instant::now() + self.answer + by);
    }

    fn at(&self) -> Instant {
        *self.at.borrow()
    }
}

/// The pages, and the limits of their connections.
#[derive(Clone)]
pub(super) struct Served {
    pub(super) router: Router,
    pub(super) connections: Connections,
    pub(super) refusals: Refusals,
    pub(super) times: Times,
    pub(super) stop: CancellationToken,
}

pub(super) async fn listen(listener: TcpListener, served: Served) {
    loop {
        let accepted = tokio::select! {
            biased;
            () = served.stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                debug!(%error, "failed to accept a connection");
                sleep(PAUSE).await;
                continue;
            }
        };
        let peer = peer.ip().to_canonical();
        match served.connections.enter(peer) {
            Ok(slot) => {
                tokio::spawn(in_slot(slot, connection(stream, peer, served.clone())));
            }
            // The connection is closed at once.
            Err(full) => served.refusals.count(full),
        }
    }
}

async fn in_slot(slot: ConnectionSlot, serving: impl Future<Output = ()>) {
    serving.await;
    drop(slot);
}

async fn connection(stream: TcpStream, peer: IpAddr, served: Served) {
    let Served { router, refusals, times, stop, connections: _ } = served;
    let deadline = Deadline::new(times);
    let has_asked = AtomicBool::new(false);
    let service = service_fn(|request: http::Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        deadline.extend(Duration::ZERO);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(deadline.clone());
        answer(router.clone(), request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(times.headers)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let mut is_ending = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                // One that had its answer and asks nothing more is closed as well, and not refused anything.
                if ended.is_err_and(|error| error.is_timeout()) && !has_asked.load(Ordering::Relaxed) {
                    refusals.count(Why::Slow);
                }
                return;
            }
            () = sleep_until(deadline.at()) => {
                // A request may have put it off.
                if deadline.at() <= Instant::now() {
                    refusals.count(Why::Slow);
                    return;
                }
            }
            () = stop.cancelled(), if !is_ending => {
                connection.as_mut().graceful_shutdown();
                is_ending = true;
            }
        }
    }
}

async fn answer(router: Router, request: http::Request<Body>) -> Result<http::Response<Body>, Infallible> {
    router.oneshot(request).await
}

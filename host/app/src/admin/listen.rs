//! The listener: connections that are few, in all and from one address, requests that come soon, answers that are taken
//! soon.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// In all: each takes a file descriptor and some ten kilobytes.
const IN_ALL: usize = 256;

/// From one address. The kubelet's probes and a scraper need two or three each, so a pod that opens thousands takes no
/// place from them.
const FROM_ONE: usize = 32;

/// Counts the connections that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    in_all: usize,
    by_peer: BTreeMap<IpAddr, usize>,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// There are too many.
    All,
    /// There are too many from this address.
    Peer,
}

/// An open connection. Dropping it makes room for another.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Connections,
    peer: IpAddr,
}

impl Connections {
    /// Takes a slot for a connection from this address. The total limit does not hold for loopback, so a port-forward
    /// connects although others take all slots.
    pub(super) fn enter(&self, peer: IpAddr) -> Result<ConnectionSlot, Full> {
        let mut open = self.lock();
        let from_peer = open.by_peer.get(&peer).copied().unwrap_or_default();
        if from_peer >= FROM_ONE {
            return Err(Full::Peer);
        }
        if open.in_all >= IN_ALL && !peer.is_loopback() {
            return Err(Full::All);
        }
        open.in_all += 1;
        open.by_peer.insert(peer, from_peer + 1);
        Ok(ConnectionSlot { connections: self.clone(), peer })
    }

    /// A panic while the lock is held leaves a count behind, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.in_all = open.in_all.saturating_sub(1);
        if let Some(count) = open.by_peer.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                open.by_peer.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(number: usize) -> IpAddr {
        IpAddr::from([10, 0, 0, u8::try_from(number).unwrap()])
    }

    #[test]
    fn attack_one_pod_opens_thousands_of_connections_and_takes_no_place_from_others() {
        let connections = Connections::default();
        let opened: Vec<_> = (0..5_000).map(|_| connections.enter(pod(1))).collect();
        assert_eq!(opened.iter().filter(|slot| slot.is_ok()).count(), FROM_ONE);
        assert!(connections.enter(pod(2)).is_ok(), "the kubelet of the node");
        drop(opened);
        assert!(connections.enter(pod(1)).is_ok());
    }

    #[test]
    fn attack_many_pods_fill_all_places_and_loopback_gets_in_all_the_same() {
        let connections = Connections::default();
        let opened: Vec<_> =
            (0..100).flat_map(|pod_number| (0..FROM_ONE).map(move |_| pod(pod_number))).collect();
        let opened: Vec<_> = opened.into_iter().map(|peer| connections.enter(peer)).collect();
        assert_eq!(opened.iter().filter(|slot| slot.is_ok()).count(), IN_ALL);
        assert_eq!(connections.enter(pod(200)).unwrap_err(), Full::All);
        assert!(connections.enter(IpAddr::from([127, 0, 0, 1])).is_ok());
        drop(opened);
        assert!(connections.lock().by_peer.is_empty(), "nothing is kept of those who left");
        assert_eq!(connections.lock().in_all, 0);
    }
}

//! Connections: few, and those that ask soon. A process that does not lead answers its call and ends the connection, so
//! that the client connects again and can reach the one that leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use machinist_core::value::error_chain::chain;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Service as _;
use tracing::{debug, warn};

use crate::messages::cloud_provider_server::CloudProviderServer;
use crate::service::Calls;
use crate::tls::TlsFiles;

/// An autoscaler has one connection, and a second one while it restarts.
const CONNECTIONS: usize = 32;

/// From the connection until the first call, with the handshake. An autoscaler connects in order to call.
const FIRST_CALL: Duration = Duration::from_secs(10);

/// How often a silent client is asked whether it is there, and how long it may take to say so.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_ANSWER: Duration = Duration::from_secs(10);

/// Calls at a time on one connection. An autoscaler makes one after the other.
const CALLS_AT_A_TIME: u32 = 32;

/// After a failed accept, as when there are no file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) async fn listen(
    listener: TcpListener,
    tls: Option<TlsFiles>,
    calls: Calls,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                debug!(%error, "failed to accept a connection");
                sleep(PAUSE).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            warn!("too many connections for cluster-autoscaler: one is closed");
            continue;
        };
        let (tls, calls, stop) = (tls.clone(), calls.clone(), stop.clone());
        tokio::spawn(async move {
            accept(stream, tls, calls, stop).await;
            drop(place);
        });
    }
}

async fn accept(stream: TcpStream, tls: Option<TlsFiles>, calls: Calls, stop: CancellationToken) {
    let Some(files) = tls else { return serve(stream, calls, &stop).await };
    let acceptor = match files.acceptor().await {
        Ok(acceptor) => acceptor,
        Err(error) => {
            warn!(error = chain(&error), "certificates for cluster-autoscaler cannot be used");
            return;
        }
    };
    match timeout(FIRST_CALL, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => serve(stream, calls, &stop).await,
        Ok(Err(error)) => warn!(%error, "a client of the address for cluster-autoscaler is refused"),
        Err(_) => debug!("a TLS handshake took too long"),
    }
}

async fn serve<S>(stream: S, calls: Calls, stop: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let end = CancellationToken::new();
    let server = CloudProviderServer::new(calls.ending(end.clone()));
    let has_asked = AtomicBool::new(false);
    let service = service_fn(|request: http::Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        server.clone().call(request)
    });
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_ANSWER)
        .max_concurrent_streams(CALLS_AT_A_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let mut first_call = std::pin::pin!(sleep(FIRST_CALL));
    let (mut is_ending, mut is_watched) = (false, true);
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    debug!(%error, "a connection of cluster-autoscaler has broken");
                }
                return;
            }
            () = first_call.as_mut(), if is_watched => {
                if !has_asked.load(Ordering::Relaxed) {
                    return;
                }
                is_watched = false;
            }
            () = end.cancelled(), if !is_ending => {
                connection.as_mut().graceful_shutdown();
                is_ending = true;
            }
            () = stop.cancelled(), if !is_ending => {
                connection.as_mut().graceful_shutdown();
                is_ending = true;
            }
        }
    }
}

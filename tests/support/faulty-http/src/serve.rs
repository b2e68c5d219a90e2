//! Connections: requests in, answers out.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::request::Parts;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::body::{Answer, Broken};

/// When no connection can be accepted, the process is out of file descriptors or the client has left: neither lasts.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Accepts connections and answers their requests until it is dropped, which ends the connections too. A request with a
/// larger body than the limit breaks its connection.
pub async fn serve<F>(
    listener: TcpListener,
    body_limit_bytes: usize,
    answer: impl Fn(Parts, Bytes) -> F + Clone + Send + Sync + 'static,
) where
    F: Future<Output = Answer> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        let (socket, peer) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            Some(_) = connections.join_next() => continue,
        };
        socket.set_nodelay(true).ok();
        let answer = answer.clone();
        connections.spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let answer = answer.clone();
                async move {
                    let (head, body) = request.into_parts();
                    let body = Limited::new(body, body_limit_bytes).collect().await.map_err(|_| Broken)?;
                    answer(head, body.to_bytes()).await
                }
            });
            let served = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(socket), service)
                .await;
            if let Err(error) = served {
                tracing::debug!(%peer, %error, "connection ended early");
            }
        });
    }
}

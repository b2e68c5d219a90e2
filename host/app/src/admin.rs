//! HTTP for operators: metrics and probes.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// What the server tells.
#[derive(Clone)]
pub(crate) struct Admin {
    /// All metrics.
    pub(crate) registry: Arc<Registry>,
    /// True when the caches are complete.
    pub(crate) ready: watch::Receiver<bool>,
    /// Ends the server, and makes it unhealthy before.
    pub(crate) stop: CancellationToken,
}

/// Listens, then serves in the background. An address that is taken is an error at once.
pub(crate) async fn serve(address: SocketAddr, admin: Admin) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("failed to listen on {address}: choose another --address or --port"))?;
    let address = listener.local_addr().context("failed to learn the address of the HTTP server")?;
    info!(%address, "serving /metrics, /healthz and /readyz");
    let stop = admin.stop.clone();
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(admin);
    tokio::spawn(async move {
        // It ends with the process; an error of accept is retried inside.
        let _ = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
    });
    Ok(address)
}

async fn metrics(state: axum::extract::State<Admin>) -> impl IntoResponse {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &state.registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            (StatusCode::OK, [(CONTENT_TYPE, kind)], text)
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, [(CONTENT_TYPE, "text/plain")], String::new()),
    }
}

async fn healthz(state: axum::extract::State<Admin>) -> (StatusCode, &'static str) {
    if state.stop.is_cancelled() {
        (StatusCode::INTERNAL_SERVER_ERROR, "Unhealthy")
    } else {
        (StatusCode::OK, "OK")
    }
}

async fn readyz(state: axum::extract::State<Admin>) -> (StatusCode, &'static str) {
    if *state.ready.borrow() {
        (StatusCode::OK, "OK")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "waiting for the API servers: the caches are not complete")
    }
}

//! HTTP for operators: metrics, probes, what is known of a Machine and of plugins, profiles.

mod plugins;
mod profile;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use machinist_core::id::ObjectKey;
use machinist_plugin_host::PluginHost;
use machinist_runtime::insight::Insight;
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::info;

pub(crate) use plugins::LogPage;

/// What the server tells.
#[derive(Clone)]
pub(crate) struct Admin {
    /// All metrics.
    pub(crate) registry: Arc<Registry>,
    /// Who is asked about single Machines.
    pub(crate) insight: Insight,
    /// Who is asked about plugins, where there are any.
    pub(crate) plugins: Option<PluginHost>,
    /// Tells this process from others.
    pub(crate) process: String,
    /// Serve profiles.
    pub(crate) profiling: bool,
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
    info!(%address, "serving /metrics, /healthz, /readyz, /configz and /debug");
    let stop = admin.stop.clone();
    let router = Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/configz", get(configz))
        .route("/debug/machines/{namespace}/{name}", get(machine))
        .route("/debug/plugins", get(plugins::plugins))
        .route("/debug/plugins/{name}/logs", get(plugins::logs))
        .merge(profile::router(admin.profiling))
        .with_state(admin);
    tokio::spawn(async move {
        // It ends with the process; an error of accept is retried inside.
        let _ = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned()).await;
    });
    Ok(address)
}

async fn metrics(state: State<Admin>) -> impl IntoResponse {
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &state.registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            (StatusCode::OK, [(CONTENT_TYPE, kind)], text)
        }
        Err(_) => (StatusCode::INTERNAL_SERVER_ERROR, [(CONTENT_TYPE, "text/plain")], String::new()),
    }
}

async fn healthz(state: State<Admin>) -> (StatusCode, &'static str) {
    if state.stop.is_cancelled() {
        (StatusCode::INTERNAL_SERVER_ERROR, "Unhealthy")
    } else {
        (StatusCode::OK, "OK")
    }
}

async fn readyz(state: State<Admin>) -> (StatusCode, &'static str) {
    if *state.ready.borrow() {
        (StatusCode::OK, "OK")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "waiting for the API servers: the caches are not complete")
    }
}

/// As machine-controller-manager answers: it has no configuration file.
async fn configz() -> Json<serde_json::Value> {
    Json(serde_json::json!({}))
}

/// What this process knows of a Machine, for `machinist explain`. Holds no secret and nothing that a cloud said at length.
async fn machine(
    state: State<Admin>,
    Path((namespace, name)): Path<(String, String)>,
) -> axum::response::Response {
    match state.insight.machine(&ObjectKey::new(namespace, name)).await {
        Some(insight) => Json(insight).into_response(),
        None => (StatusCode::SERVICE_UNAVAILABLE, "the controllers have not started, or have ended")
            .into_response(),
    }
}

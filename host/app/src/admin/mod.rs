//! HTTP for operators: metrics, probes, debug pages about Machines and plugins, profiles.
//!
//! Metrics and probes are open, as those of machine-controller-manager are. Pages below `/debug` answer on loopback, or
//! to accounts that the API server admits. Connections, time and parallel requests are limited.
//!
//! | module | what it does |
//! | --- | --- |
//! | `listen` | the listener, with limits of time, and of connections in all and for each address |
//! | `guard` | checks caller and room before a page is made |
//! | `access`, `review` | who may read `/debug`, by TokenReview and SubjectAccessReview |
//! | `scrape` | the text of all metrics |
//! | `plugins` | pages about plugins |
//! | `profile` | CPU profiles |
//! | `refusals` | counts refused requests |
//! | `attack_tests` | attacks by other pods and by web pages, against the real listener |

mod access;
#[cfg(test)]
mod attack_tests;
mod guard;
mod listen;
mod plugins;
mod profile;
mod refusals;
mod review;
mod scrape;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use machinist_core::value::id::ObjectKey;
use machinist_plugin_host::PluginHost;
use machinist_runtime::machine_query::{MachineQueries, QueriedObject, QueryError};
use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

pub(crate) use access::DebugAccess;
pub(crate) use plugins::LogPage;
pub(crate) use refusals::Refusals;
pub(crate) use review::Reviewer;

use guard::Rooms;
use listen::{Connections, Served, Times};
use review::Rights;
use scrape::Scrape;

/// The sources of the pages, and the rules for access.
pub(crate) struct AdminSources {
    pub(crate) registry: Arc<Registry>,
    /// Counts refused requests. Part of the metrics.
    pub(crate) refusals: Refusals,
    /// Answers questions about single Machines.
    pub(crate) insight: MachineQueries,
    /// Answers questions about plugins; `None` in a process without drivers.
    pub(crate) plugins: Option<PluginHost>,
    /// Tells this process from others.
    pub(crate) process: String,
    pub(crate) profiling: bool,
    /// Reviews tokens of callers; `None` if only loopback has access.
    pub(crate) reviewer: Option<Reviewer>,
    /// True when the caches are complete.
    pub(crate) ready: watch::Receiver<bool>,
    /// Ends the server, and makes it unhealthy before.
    pub(crate) stop: CancellationToken,
}

/// The state that the handlers of requests share.
#[derive(Clone)]
struct Admin {
    sources: Arc<AdminSources>,
    scrape: Scrape,
    rooms: Rooms,
}

impl Admin {
    /// The state over these sources. Looks in the background for the rights to review tokens.
    fn over(sources: AdminSources) -> Self {
        let sources = Arc::new(sources);
        let reviewed = sources.clone();
        tokio::spawn(async move {
            if let Some(reviewer) = &reviewed.reviewer {
                reviewer.find_rights(reviewed.stop.clone()).await;
            }
        });
        Self { scrape: Scrape::new(sources.registry.clone()), rooms: Rooms::default(), sources }
    }
}

/// Listens, then serves in the background. An address that is taken is an error at once.
pub(crate) async fn serve(address: SocketAddr, sources: AdminSources) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("failed to listen on {address}: choose another --address or --port"))?;
    let address = listener.local_addr().context("failed to learn the address of the HTTP server")?;
    info!(%address, "serving /metrics, /healthz, /readyz, /configz and /debug");
    let admin = Admin::over(sources);
    let (refusals, stop) = (admin.sources.refusals.clone(), admin.sources.stop.clone());
    let router = router(admin);
    let served =
        Served { router, connections: Connections::default(), refusals, times: Times::default(), stop };
    for listener in listeners(listener, address).await {
        // It ends with the process; an error of accept is retried inside.
        tokio::spawn(listen::listen(listener, served.clone()));
    }
    Ok(address)
}

/// The listener, and one on loopback where it would not be reached from there.
async fn listeners(listener: TcpListener, address: SocketAddr) -> Vec<TcpListener> {
    let mut all = vec![listener];
    let Some(loopback) = loopback_beside(address.ip()) else { return all };
    match TcpListener::bind(SocketAddr::new(loopback, address.port())).await {
        Ok(listener) => all.push(listener),
        Err(error) => warn!(%loopback, port = address.port(), %error, "/debug cannot be reached on loopback"),
    }
    all
}

/// Where else to listen, so that a port-forward finds the server.
fn loopback_beside(address: IpAddr) -> Option<IpAddr> {
    if address.is_unspecified() || address.to_canonical().is_loopback() {
        return None;
    }
    Some(match address {
        IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    })
}

fn router(admin: Admin) -> Router {
    let metrics = Router::new()
        .route("/metrics", get(metrics))
        .route_layer(from_fn_with_state(admin.clone(), guard::metrics));
    let debug = Router::new()
        .route("/debug/machines/{namespace}/{name}", get(machine))
        .route("/debug/machinistmachines/{namespace}/{name}", get(machinist_machine))
        .route("/debug/plugins", get(plugins::plugins))
        .route("/debug/plugins/{name}/logs", get(plugins::logs))
        .merge(profile::router(admin.sources.profiling));
    let debug = guarded(debug, &admin);
    Router::new()
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/configz", get(configz))
        .merge(metrics)
        .merge(debug)
        .with_state(admin)
}

/// Pages that only some may read, and few at a time.
fn guarded(pages: Router<Admin>, admin: &Admin) -> Router<Admin> {
    pages.route_layer(from_fn_with_state(admin.clone(), guard::debug))
}

async fn metrics(state: State<Admin>) -> Response {
    match state.scrape.text().await {
        Some(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, kind)], text).into_response()
        }
        None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

async fn healthz(state: State<Admin>) -> (StatusCode, &'static str) {
    if state.sources.stop.is_cancelled() {
        (StatusCode::INTERNAL_SERVER_ERROR, "Unhealthy")
    } else {
        (StatusCode::OK, "OK")
    }
}

async fn readyz(state: State<Admin>, RawQuery(query): RawQuery) -> (StatusCode, String) {
    let is_ready = *state.sources.ready.borrow();
    let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let text = match is_ready {
        true => "OK".to_owned(),
        false => "waiting for the API servers: the caches are not complete".to_owned(),
    };
    let is_verbose = query.is_some_and(|query| query.split('&').any(|part| part.starts_with("verbose")));
    if is_verbose { (status, format!("caches: {text}\ndebug: {}\n", served(&state))) } else { (status, text) }
}

/// Describes who can read /debug, for people.
fn served(admin: &Admin) -> String {
    match admin.sources.reviewer.as_ref().map(Reviewer::rights) {
        None => "served on loopback".to_owned(),
        Some(Rights::Held) => "served on loopback, and to accounts that may get it".to_owned(),
        Some(Rights::Unknown) => {
            "served on loopback; the API server has not said whether tokens can be reviewed".to_owned()
        }
        Some(Rights::Lacking(right)) => format!(
            "served on loopback only: the host's account lacks {right}; bind the ClusterRole system:auth-delegator to it"
        ),
    }
}

/// As machine-controller-manager answers: it has no configuration file.
async fn configz() -> Json<serde_json::Value> {
    Json(serde_json::json!({}))
}

/// Answers `/debug/machines/NAMESPACE/NAME`, for `machinist explain`. The page has no secrets and no long texts of
/// clouds.
async fn machine(state: State<Admin>, Path((namespace, name)): Path<(String, String)>) -> Response {
    details(&state, QueriedObject::Machine(ObjectKey::new(namespace, name))).await
}

/// Answers `/debug/machinistmachines/NAMESPACE/NAME` in the same way.
async fn machinist_machine(state: State<Admin>, Path((namespace, name)): Path<(String, String)>) -> Response {
    details(&state, QueriedObject::MachinistMachine(ObjectKey::new(namespace, name))).await
}

async fn details(admin: &Admin, object: QueriedObject) -> Response {
    match admin.sources.insight.details(&object).await {
        Ok(insight) => Json(insight).into_response(),
        Err(QueryError::Busy) => {
            admin.sources.refusals.count(refusals::Why::DebugBusy);
            guard::busy("too many ask about Machines at the moment")
        }
        Err(error @ (QueryError::NotRunning | QueryError::Late)) => {
            (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response()
        }
    }
}

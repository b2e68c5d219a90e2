//! Counts the requests of a client, by verb, resource and outcome. Limits how many are in flight, and, if a rate is
//! set, how many are sent in a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll};

use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use machinist_core::scheduling::clock_skew;
use machinist_core::scheduling::gate::FREEZE_REQUEST;
use machinist_core::scheduling::request_rate::Rate;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tower::{Layer, Service};
use tracing::{info, warn};

use crate::client::errors as kube_error;
use crate::client::field_manager::PROBE_NAME;
use crate::client::pacing::RequestQueue;
use crate::context::clock::Clock;
use crate::metrics::{Metrics, RequestMetric};

/// Requests of one client in flight. Each has a connection, which costs memory on both sides, and a busy server becomes
/// no faster by more of them: half of the mutating requests that an API server serves at once by default.
const REQUESTS_AT_A_TIME: usize = 100;

/// Puts a counter around a client's service, and a door that lets only so many through.
#[derive(Clone)]
pub struct CountRequests {
    metrics: Arc<Metrics>,
    host: Arc<str>,
    permits: Arc<Semaphore>,
    queue: Option<Arc<RequestQueue>>,
    /// Events have a queue of their own, so that no request about a Machine waits for them.
    event_queue: Option<Arc<RequestQueue>>,
    clock: Clock,
    /// True once the log has reported that the clocks differ.
    clocks_differ: Arc<AtomicBool>,
}

impl CountRequests {
    /// Counts the requests to `host` in `metrics`, and limits them to this rate.
    pub(crate) fn new(metrics: Arc<Metrics>, host: &str, rate: Option<Rate>) -> Self {
        let permits = Arc::new(Semaphore::new(REQUESTS_AT_A_TIME));
        let queue = || rate.map(|rate| Arc::new(RequestQueue::new(rate)));
        let clocks_differ = Arc::default();
        Self {
            metrics,
            host: host.into(),
            permits,
            queue: queue(),
            event_queue: queue(),
            clock: Clock::Wall,
            clocks_differ,
        }
    }

    /// As `new`, with this clock beside the server's.
    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Compares the clocks if a response has a date.
    fn compare(&self, headers: &HeaderMap, is_control: bool, sent: Timestamp) {
        let date = headers.get(http::header::DATE).and_then(|date| date.to_str().ok());
        let Some(date) = date.and_then(|date| DateTimeParser::new().parse_timestamp(date).ok()) else {
            return;
        };
        let ahead = clock_skew::ahead(sent, self.clock.now(), date);
        self.metrics.requests.clock_is_ahead(&self.host, is_control, ahead);
        let clocks_differ = ahead.abs() >= clock_skew::NOTED;
        if self.clocks_differ.swap(clocks_differ, Ordering::Relaxed) == clocks_differ {
            return;
        }
        let (server, ahead_seconds) = (&self.host, ahead.as_secs());
        if clocks_differ {
            warn!(%server, ahead_seconds, "the clocks of this host and the API server are apart: ages count by the server's");
        } else {
            info!(%server, ahead_seconds, "the clocks of this host and the API server agree again");
        }
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted { inner, limits: self.clone() }
    }
}

/// A service that counts its requests.
#[derive(Clone)]
pub struct Counted<S> {
    inner: S,
    limits: CountRequests,
}

impl<S, Body, Answer> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<Answer>>,
    S::Future: Send + 'static,
    S::Error: Send + From<kube::Error>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let resource = resource(request.uri().path());
        let verb = verb_of(request.method(), request.uri().query().unwrap_or_default());
        let method = verb_of(request.method(), "");
        // A probe must not wait in a queue of this process. The freeze request is one, too.
        let name = request.uri().path().rsplit('/').next();
        let is_probe = name.is_some_and(|name| [PROBE_NAME, FREEZE_REQUEST].contains(&name));
        let is_control = request.uri().path().starts_with("/apis/machine.sapcloud.io/");
        let limits = self.limits.clone();
        // Futures of services do nothing until somebody waits for them.
        let answer = self.inner.call(request);
        let is_queued = !bypasses_queue(verb, resource);
        let permits = is_queued.then(|| limits.permits.clone());
        let queue = match resource {
            "events" if verb != "WATCH" => limits.event_queue.clone(),
            _ => limits.queue.clone().filter(|_| is_queued && !is_probe),
        };
        Box::pin(async move {
            kube_error::set_queued(true);
            if let Some(queue) = &queue {
                queue.wait().await?;
            }
            let _permit = match &permits {
                // It is never closed.
                Some(permits) => permits.acquire().await.ok(),
                None => None,
            };
            kube_error::set_queued(false);
            let (began, sent) = (Instant::now(), limits.clock.now());
            let answer = answer.await;
            let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            let took = began.elapsed();
            if let Ok(answer) = &answer {
                limits.compare(answer.headers(), is_control, sent);
            }
            limits.metrics.requests.answered(RequestMetric {
                verb,
                method,
                resource,
                host: &limits.host,
                code,
                took,
            });
            answer
        })
    }
}

/// A watch lasts, a leader must be able to say that it leads, and Events have a bound of their own.
fn bypasses_queue(verb: &str, resource: &str) -> bool {
    verb == "WATCH" || resource == "leases" || resource == "events"
}

fn verb_of(method: &Method, query: &str) -> &'static str {
    if query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1" | "watch")) {
        return "WATCH";
    }
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "OTHER",
    }
}

/// The resource of a path, with its subresource: `/apis/g/v/namespaces/n/machines/x/status` is `machines/status`.
/// Names never become part of it, so the set of labels is closed.
fn resource(path: &str) -> &'static str {
    let mut parts = path.trim_matches('/').split('/');
    let rest: Vec<&str> = match parts.next() {
        Some("api") => parts.skip(1).collect(),
        Some("apis") => parts.skip(2).collect(),
        _ => return "other",
    };
    let rest = match rest.as_slice() {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    match rest {
        [resource] | [resource, _] => known(resource),
        [resource, _, subresource] => match (*resource, *subresource) {
            ("machines", "status") => "machines/status",
            ("nodes", "status") => "nodes/status",
            ("pods", "eviction") => "pods/eviction",
            (resource, _) => known(resource),
        },
        _ => "other",
    }
}

fn known(resource: &str) -> &'static str {
    const KNOWN: [&str; 16] = [
        "machines", "machineclasses", "machinesets", "machinedeployments", "nodes", "pods", "secrets",
        "configmaps", "events", "leases", "persistentvolumes", "persistentvolumeclaims",
        "poddisruptionbudgets", "volumeattachments", "namespaces", "customresourcedefinitions",
    ];
    KNOWN.into_iter().find(|known| *known == resource).unwrap_or("other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_counted_by_its_resource_and_never_by_a_name() {
        for (path, expected) in [
            ("/apis/machine.sapcloud.io/v1alpha1/namespaces/n/machines/x/status", "machines/status"),
            ("/apis/machine.sapcloud.io/v1alpha1/namespaces/n/machines/x", "machines"),
            ("/apis/machine.sapcloud.io/v1alpha1/namespaces/n/machines", "machines"),
            ("/api/v1/nodes/some-node", "nodes"),
            ("/api/v1/namespaces/kube-system/secrets", "secrets"),
            ("/api/v1/namespaces/kube-system", "namespaces"),
            ("/api/v1/secret-name-in-a-strange-place", "other"),
            ("/version", "other"),
            ("", "other"),
        ] {
            assert_eq!(resource(path), expected, "{path}");
        }
    }

    /// How many of so many requests for this path are with the server after a second, while it answers none.
    async fn in_flight(requests: usize, path: &'static str, rate: Option<Rate>) -> usize {
        let arrived = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let seen = arrived.clone();
        let server = tower::service_fn(move |_: Request<()>| {
            let seen = seen.clone();
            async move {
                seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                std::future::pending::<Result<Response<()>, tower::BoxError>>().await
            }
        });
        let mut counted = CountRequests::new(Arc::new(Metrics::default()), "host", rate).layer(server);
        let all: Vec<_> = (0..requests).map(|_| counted.call(Request::get(path).body(()).unwrap())).collect();
        let all = futures::future::join_all(all);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(990), all).await.is_err());
        arrived.load(std::sync::atomic::Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_requests_are_on_their_way_and_neither_leases_nor_watches_nor_events_wait() {
        const MANY: usize = REQUESTS_AT_A_TIME + 20;
        assert_eq!(in_flight(MANY, "/api/v1/nodes/n", None).await, REQUESTS_AT_A_TIME);
        for path in UNLIMITED {
            assert_eq!(in_flight(MANY, path, None).await, MANY, "{path}");
        }
    }

    const UNLIMITED: [&str; 3] = [
        "/apis/coordination.k8s.io/v1/namespaces/n/leases/l",
        "/api/v1/nodes?watch=true",
        "/apis/events.k8s.io/v1/namespaces/n/events",
    ];

    #[tokio::test(start_paused = true)]
    async fn with_a_rate_so_many_go_in_a_second_and_what_keeps_the_host_alive_does_not_wait() {
        let rate = Some(Rate { per_second: 20.0, burst: 30 });
        assert_eq!(in_flight(100, "/api/v1/nodes/n", rate).await, 30 + 19);
        let [lease, watch, events] = UNLIMITED;
        for path in [lease, watch] {
            assert_eq!(in_flight(100, path, rate).await, 100, "{path}");
        }
        assert_eq!(in_flight(100, events, rate).await, 30 + 19);
        // Whether the server is there.
        for probe in [
            format!("/api/v1/nodes/{PROBE_NAME}"),
            format!("/api/v1/namespaces/n/configmaps/{FREEZE_REQUEST}"),
        ] {
            assert_eq!(in_flight(100, Box::leak(probe.into_boxed_str()), rate).await, 100);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_about_a_machine_waits_for_events() {
        let arrived = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = arrived.clone();
        let server = tower::service_fn(move |request: Request<()>| {
            let seen = seen.clone();
            async move {
                seen.lock().unwrap().push(request.uri().path().to_owned());
                std::future::pending::<Result<Response<()>, tower::BoxError>>().await
            }
        });
        let rate = Some(Rate { per_second: 1.0, burst: 1 });
        let mut counted = CountRequests::new(Arc::new(Metrics::default()), "host", rate).layer(server);
        let paths = [UNLIMITED[2]; 10].into_iter().chain(["/api/v1/nodes/n"]);
        let all: Vec<_> = paths.map(|path| counted.call(Request::get(path).body(()).unwrap())).collect();
        let soon = std::time::Duration::from_millis(10);
        assert!(tokio::time::timeout(soon, futures::future::join_all(all)).await.is_err());
        assert_eq!(*arrived.lock().unwrap(), [UNLIMITED[2], "/api/v1/nodes/n"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_was_only_queued_was_not_sent() {
        let server =
            tower::service_fn(|_: Request<()>| std::future::pending::<Result<Response<()>, kube::Error>>());
        let mut counted = CountRequests::new(Arc::new(Metrics::default()), "host", None).layer(server);
        let mut call = || counted.call(Request::post("/api/v1/nodes").body(()).unwrap());
        for (others, expected) in [(REQUESTS_AT_A_TIME - 1, "ambiguous"), (REQUESTS_AT_A_TIME, "unreachable")]
        {
            let others = futures::future::join_all((0..others).map(|_| call()));
            let asked = kube_error::within_deadline(call());
            let error = tokio::select! {
                biased;
                _ = others => panic!("nobody answers"),
                asked = asked => asked.unwrap_err(),
            };
            assert_eq!(error.category(), expected, "{error}");
        }
    }

    #[test]
    fn a_watch_is_not_counted_as_a_get() {
        assert_eq!(verb_of(&Method::GET, "limit=500&watch=true"), "WATCH");
        assert_eq!(verb_of(&Method::GET, "limit=500"), "GET");
    }
}

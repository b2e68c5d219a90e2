//! Counts the requests of a client, by verb, resource and outcome.

use std::sync::Arc;
use std::task::{self, Poll};

use futures::future::BoxFuture;
use http::{Method, Request, Response};
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::metrics::{Answered, Metrics};

/// Puts a counter around a client's service.
#[derive(Clone)]
pub(crate) struct CountRequests {
    metrics: Arc<Metrics>,
    host: Arc<str>,
}

impl CountRequests {
    /// Counts into `metrics` what goes to `host`.
    pub(crate) fn new(metrics: Arc<Metrics>, host: &str) -> Self {
        Self { metrics, host: host.into() }
    }
}

impl<S> Layer<S> for CountRequests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted { inner, metrics: self.metrics.clone(), host: self.host.clone() }
    }
}

/// A service whose requests are counted.
#[derive(Clone)]
pub(crate) struct Counted<S> {
    inner: S,
    metrics: Arc<Metrics>,
    host: Arc<str>,
}

impl<S, Body, Answer> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<Answer>>,
    S::Future: Send + 'static,
    S::Error: Send,
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
        let (metrics, host) = (self.metrics.clone(), self.host.clone());
        let began = Instant::now();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            let took = began.elapsed();
            metrics.answered(Answered { verb, method, resource, host: &host, code, took });
            answer
        })
    }
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
        "machines",
        "machineclasses",
        "machinesets",
        "machinedeployments",
        "nodes",
        "pods",
        "secrets",
        "configmaps",
        "events",
        "leases",
        "persistentvolumes",
        "persistentvolumeclaims",
        "poddisruptionbudgets",
        "volumeattachments",
        "namespaces",
        "customresourcedefinitions",
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

    #[test]
    fn a_watch_is_not_counted_as_a_get() {
        assert_eq!(verb_of(&Method::GET, "limit=500&watch=true"), "WATCH");
        assert_eq!(verb_of(&Method::GET, "limit=500"), "GET");
    }
}

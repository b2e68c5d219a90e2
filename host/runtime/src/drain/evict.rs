//! One request that evicts a pod, and its refusals.

use http::{HeaderMap, Request};
use jiff::SignedDuration;
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use machinist_core::drain::{EvictError, PodRef};
use machinist_core::driver::write_error::ActError;
use serde_json::json;

use crate::client::errors::{act_error, within_deadline};

/// The cause in the answer if a budget refuses an eviction.
const BUDGET: &str = "DisruptionBudget";

/// The cause in the answer if the namespace is being deleted.
const NAMESPACE_ENDING: &str = "NamespaceTerminating";

/// Evicts exactly this pod. A pod that is gone is success.
///
/// The request is built here: the client's own lacks the precondition, and its error lacks the header with the
/// retry-after.
pub(super) async fn evict(client: &Client, pod: &PodRef) -> Result<(), EvictError> {
    let answer = within_deadline(async {
        let response = client.send(request(pod)?).await?;
        let (head, body) = response.into_parts();
        Ok((head, body.collect_bytes().await?))
    });
    let (head, body) = answer.await.map_err(EvictError::Failed)?;
    if head.status.is_success() {
        return Ok(());
    }
    let status = Status {
        // An answer without a Status comes from something in front of the server's handlers: only its code is known.
        code: head.status.as_u16(),
        ..serde_json::from_slice(&body).unwrap_or_else(|_| plain(&body))
    };
    refusal(pod, status, &head.headers)
}

fn request(pod: &PodRef) -> Result<Request<Body>, kube::Error> {
    let (namespace, name) = (&pod.key.namespace, &pod.key.name);
    let body = json!({
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": { "namespace": namespace.as_str(), "name": name.as_str() },
        "deleteOptions": { "preconditions": { "uid": pod.uid.as_str() } },
    });
    Request::post(format!("/api/v1/namespaces/{namespace}/pods/{name}/eviction"))
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string().into_bytes()))
        .map_err(|error| kube::Error::BuildRequest(kube::core::request::Error::BuildRequest(error)))
}

fn plain(body: &[u8]) -> Status {
    Status { message: String::from_utf8_lossy(body).trim().to_owned(), ..Status::default() }
}

fn refusal(pod: &PodRef, status: Status, headers: &HeaderMap) -> Result<(), EvictError> {
    let details = status.details.as_ref();
    let is_gone = status.code == 404 && details.is_some_and(|details| details.name == pod.key.name.as_str());
    if is_gone {
        return Ok(());
    }
    let names =
        |reason| details.is_some_and(|details| details.causes.iter().any(|cause| cause.reason == reason));
    if status.code == 403 && names(NAMESPACE_ENDING) {
        return Err(EvictError::NamespaceEnding);
    }
    let is_budget = status.code == 429 && names(BUDGET);
    let header = headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let after = header.filter(|seconds| *seconds > 0).map(SignedDuration::from_secs);
    match act_error(&kube::Error::Api(Box::new(status))) {
        ActError::Throttled { after: from_body } if is_budget => {
            Err(EvictError::Budget { after: after.or(from_body) })
        }
        ActError::Throttled { after: from_body } => {
            Err(EvictError::Failed(ActError::Throttled { after: after.or(from_body) }))
        }
        error => Err(EvictError::Failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use machinist_core::value::id::{ObjectKey, Uid};

    use super::*;

    fn pod() -> PodRef {
        PodRef { key: ObjectKey::new("shop", "cart-0"), uid: Uid::new("u") }
    }

    fn refused(status: &serde_json::Value, retry_after: Option<&'static str>) -> Result<(), EvictError> {
        let mut headers = HeaderMap::new();
        if let Some(value) = retry_after {
            headers.insert(http::header::RETRY_AFTER, http::HeaderValue::from_static(value));
        }
        refusal(&pod(), serde_json::from_value(status.clone()).unwrap(), &headers)
    }

    #[test]
    fn only_a_cause_of_that_name_is_a_budget() {
        let budget = json!({ "code": 429, "details": { "causes": [{ "reason": "DisruptionBudget" }] } });
        assert_eq!(refused(&budget, None), Err(EvictError::Budget { after: None }));
        let ten = Some(SignedDuration::from_secs(10));
        assert_eq!(refused(&budget, Some("10")), Err(EvictError::Budget { after: ten }));
        let throttled = |after| Err(EvictError::Failed(ActError::Throttled { after }));
        assert_eq!(refused(&json!({ "code": 429 }), Some("10")), throttled(ten));
        assert_eq!(
            refused(&json!({ "code": 429, "details": { "retryAfterSeconds": 10 } }), None),
            throttled(ten)
        );
        assert_eq!(refused(&json!({ "code": 429 }), Some("Wed, 21 Oct 2026 07:28:00 GMT")), throttled(None));
    }

    #[test]
    fn a_namespace_that_is_being_deleted_is_no_lack_of_rights() {
        let ending = json!({ "code": 403, "details": { "causes": [{ "reason": "NamespaceTerminating" }] } });
        assert_eq!(refused(&ending, None), Err(EvictError::NamespaceEnding));
        let denied = refused(&json!({ "code": 403, "message": "no" }), None);
        assert!(matches!(denied, Err(EvictError::Failed(ActError::Denied { .. }))), "{denied:?}");
    }

    #[test]
    fn a_pod_that_is_gone_is_evicted_and_a_path_that_is_not_served_is_not() {
        assert_eq!(
            refused(&json!({ "code": 404, "details": { "kind": "pods", "name": "cart-0" } }), None),
            Ok(())
        );
        assert_eq!(refused(&json!({ "code": 404 }), None), Err(EvictError::Failed(ActError::Gone)));
    }

    #[tokio::test]
    async fn the_request_names_the_pod_by_uid() {
        let request = request(&pod()).unwrap();
        assert_eq!(request.uri(), "/api/v1/namespaces/shop/pods/cart-0/eviction");
        let body = request.into_body().collect_bytes().await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["deleteOptions"]["preconditions"]["uid"], "u");
    }
}

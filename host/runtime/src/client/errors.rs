//! What a failed request to an API server means for a decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::SignedDuration;
use machinist_core::driver::write_error::ActError;
use machinist_core::value::error_chain::chain;

/// One request to an API server: longer than any server takes that is well, shorter than anyone's patience.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// A request to an API server with a deadline. After it, the request may still have happened.
pub(crate) async fn within_deadline<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ActError> {
    let is_queued = Arc::new(AtomicBool::new(false));
    let request = QUEUED.scope(is_queued.clone(), request);
    match tokio::time::timeout(REQUEST_DEADLINE, request).await {
        Ok(result) => result.map_err(|error| act_error(&error)),
        Err(_) if is_queued.load(Ordering::Relaxed) => {
            let message =
                format!("not sent: other requests of this process took all places for {REQUEST_DEADLINE:?}");
            Err(ActError::Unreachable { message })
        }
        Err(_) => Err(ActError::Ambiguous { message: format!("no answer within {REQUEST_DEADLINE:?}") }),
    }
}

tokio::task_local! {
    /// The request under this deadline waits in a line of this process, and nothing of it was sent.
    static QUEUED: Arc<AtomicBool>;
}

/// The request of this task begins to wait in a line, or has its place and is about to be sent.
pub(crate) fn set_queued(is_queued: bool) {
    // A request without a deadline of its own has nobody to tell.
    let _ = QUEUED.try_with(|queued| queued.store(is_queued, Ordering::Relaxed));
}

/// Sorts an error of the client. What may have reached the server and was not answered clearly is ambiguous.
pub(crate) fn act_error(error: &kube::Error) -> ActError {
    match error {
        kube::Error::Api(status) => {
            let message = status.message.clone();
            match status.code {
                404 => ActError::Gone,
                409 => ActError::Conflict,
                // A patch names the object that it is meant for; another one of that name is there.
                422 if is_for_another(status) => ActError::Conflict,
                429 => ActError::Throttled { after: retry_after(status) },
                401 | 403 => ActError::Denied { message },
                400 | 405 | 406 | 413 | 415 | 422 => ActError::Invalid { message },
                _ => ActError::Ambiguous { message },
            }
        }
        kube::Error::Service(source) if is_connect(source.as_ref()) => {
            ActError::Unreachable { message: chain(source.as_ref()) }
        }
        kube::Error::BuildRequest(source) => ActError::Invalid { message: source.to_string() },
        other => ActError::Ambiguous { message: chain(other) },
    }
}

/// True when the server does not serve the kind that was asked for. Where an object or its namespace is not there, the
/// answer names it.
pub(crate) fn is_not_served(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else { return false };
    let is_named = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
    status.code == 404 && !is_named
}

fn is_for_another(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.field == "metadata.uid")
}

fn retry_after(status: &kube::core::Status) -> Option<SignedDuration> {
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| SignedDuration::from_secs(i64::from(seconds)))
}

/// Nothing was sent when no connection came about: no such host, nobody there, or no TLS with whoever is.
fn is_connect(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error
            .downcast_ref::<hyper_util::client::legacy::Error>()
            .is_some_and(hyper_util::client::legacy::Error::is_connect)
        {
            return true;
        }
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return io.kind() == std::io::ErrorKind::ConnectionRefused;
        }
        next = error.source();
    }
    false
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;
    use serde_json::{Value, json};
    use tokio::net::TcpListener;

    use super::*;

    /// How a request ends at a server that hangs up at once.
    async fn asked(scheme: &str) -> ActError {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let _ = tokio::io::AsyncReadExt::read(&mut socket, &mut [0; 64]).await;
            }
        });
        let mut config = kube::Config::new(url.parse().unwrap());
        config.default_retry = false;
        let client = kube::Client::try_from(config).unwrap();
        within_deadline(Api::<Node>::all(client).get("n")).await.unwrap_err()
    }

    #[tokio::test]
    async fn where_no_connection_came_about_nothing_was_sent() {
        let error = asked("https").await;
        assert_eq!(error.category(), "unreachable", "{error}");
        let error = asked("http").await;
        assert_eq!(error.category(), "ambiguous", "{error}");
    }

    #[test]
    fn a_kind_that_is_not_served_differs_from_an_object_or_a_namespace_that_is_gone() {
        let answer = |code: u16, details: Value| {
            let status = json!({ "code": code, "message": "not found", "details": details });
            is_not_served(&kube::Error::Api(Box::new(serde_json::from_value(status).unwrap())))
        };
        assert!(answer(404, Value::Null), "a page of text");
        assert!(answer(404, json!({})), "the server could not find the requested resource");
        assert!(!answer(404, json!({ "name": "shoot", "kind": "namespaces" })));
        assert!(!answer(403, Value::Null) && !answer(503, Value::Null));
        assert!(!is_not_served(&kube::Error::LinesCodecMaxLineLengthExceeded));
    }
}

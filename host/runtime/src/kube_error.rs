//! What a failed request to an API server means for a decision.

use std::time::Duration;

use jiff::SignedDuration;
use machinist_core::act_error::ActError;

/// One request to an API server: longer than any server takes that is well, shorter than anyone's patience.
const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// A request to an API server with a deadline. After it, the request may still have happened.
pub(crate) async fn within_deadline<T>(
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, ActError> {
    match tokio::time::timeout(REQUEST_DEADLINE, request).await {
        Ok(result) => result.map_err(|error| act_error(&error)),
        Err(_) => Err(ActError::Ambiguous { message: format!("no answer within {REQUEST_DEADLINE:?}") }),
    }
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

fn is_for_another(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().any(|cause| cause.field == "metadata.uid")
}

fn retry_after(status: &kube::core::Status) -> Option<SignedDuration> {
    let seconds = status.details.as_ref()?.retry_after_seconds;
    (seconds > 0).then(|| SignedDuration::from_secs(i64::from(seconds)))
}

/// Nothing was sent when no connection came about.
fn is_connect(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            return io.kind() == std::io::ErrorKind::ConnectionRefused;
        }
        next = error.source();
    }
    false
}

/// The message of an error and of what caused it.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let message = source.to_string();
        // Some libraries repeat the cause in their own text.
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        next = source.source();
    }
    text
}

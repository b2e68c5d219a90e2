//! The host, as a driver sees it.

use super::{HttpAnswer, HttpRequest, Limits, Log, NoAnswer, NoAnswerReason, Secrets, Url};

/// The host of a call without secrets and network: `describe`, `validate_class` and `get_volume_ids`.
pub trait OfflineHost {
    /// The log of the call.
    fn log(&self) -> Log<'_>;

    /// Returns the operator's settings beside the plugin: a JSON object, `{}` if there are none. Never secret.
    fn settings(&self) -> String;

    /// Returns the time left for the call, in milliseconds. If you cannot finish in time, answer "in progress".
    fn remaining_ms(&self) -> u64;
}

/// The host, as one call sees it: a driver's only access to the world.
pub trait Host: OfflineHost {
    /// The secrets of the call.
    fn secrets(&self) -> &dyn Secrets;

    /// Sends a request within these limits. Authors call [`Host::send`].
    ///
    /// # Errors
    /// If there is no answer.
    fn exchange(
        &self,
        request: &HttpRequest,
        url: &Url,
        limits: Limits,
    ) -> Result<HttpAnswer, NoAnswerReason>;

    /// Sends a request and waits for the complete answer, whatever its status. Ends before the call's deadline; retries
    /// nothing.
    ///
    /// # Errors
    /// If there is no answer.
    fn send(&self, request: &HttpRequest) -> Result<HttpAnswer, NoAnswer> {
        self.send_within(request, Limits::default())
    }

    /// As [`Host::send`], with other limits.
    ///
    /// # Errors
    /// If there is no answer.
    fn send_within(&self, request: &HttpRequest, limits: Limits) -> Result<HttpAnswer, NoAnswer> {
        let Some(url) = Url::parse(&request.url) else {
            return Err(NoAnswer { reason: NoAnswerReason::BadUrl, host: "of the request".to_owned() });
        };
        let answer = match limits.within(self.remaining_ms()) {
            None => Err(NoAnswerReason::NoTimeLeft),
            Some(limits) => self.exchange(request, &url, limits),
        };
        answer.map_err(|reason| NoAnswer { reason, host: url.host().to_owned() })
    }
}

//! What a driver gets from the host.

use super::{HttpAnswer, HttpRequest, Limits, Log, NoAnswer, Secrets, Trouble, Url};

/// The host of a call that has neither secrets nor network: `describe`, `validate_class` and `get_volume_ids`.
pub trait OfflineHost {
    /// The log of the call.
    fn log(&self) -> Log<'_>;

    /// What the operator wrote beside the plugin: a JSON object, `{}` when there is nothing. Never secret.
    fn settings(&self) -> String;

    /// The time that is left for the call, in milliseconds. Who cannot finish in time answers that it is in progress.
    fn remaining_ms(&self) -> u64;
}

/// The host, as one call sees it. A driver uses this and nothing else of the world.
pub trait Host: OfflineHost {
    /// The secrets of the call.
    fn secrets(&self) -> &dyn Secrets;

    /// Sends within these limits. Authors call [`Host::send`].
    ///
    /// # Errors
    /// When there is no answer.
    fn exchange(&self, request: &HttpRequest, url: &Url, limits: Limits) -> Result<HttpAnswer, Trouble>;

    /// Sends, and waits for the whole answer, whatever its status. Ends before the call's deadline does; nothing is retried.
    ///
    /// # Errors
    /// When there is no answer.
    fn send(&self, request: &HttpRequest) -> Result<HttpAnswer, NoAnswer> {
        self.send_within(request, Limits::default())
    }

    /// As [`Host::send`], with other limits.
    ///
    /// # Errors
    /// When there is no answer.
    fn send_within(&self, request: &HttpRequest, limits: Limits) -> Result<HttpAnswer, NoAnswer> {
        let Some(url) = Url::parse(&request.url) else {
            return Err(NoAnswer { trouble: Trouble::BadUrl, host: "of the request".to_owned() });
        };
        let answer = match limits.within(self.remaining_ms()) {
            None => Err(Trouble::NoTimeLeft),
            Some(limits) => self.exchange(request, &url, limits),
        };
        answer.map_err(|trouble| NoAnswer { trouble, host: url.host().to_owned() })
    }
}

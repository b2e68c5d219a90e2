//! Listens to an answer on its way to the component: what it says about pace and credentials is for the host.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::info;

use super::EgressState;
use super::credentials::CachedCredential;
use super::metrics::PluginMetrics;
use super::throttle::{self, CloudAccount, HEAD_BYTES, RateSignal};

/// The request of the observed answer.
pub(super) struct Asked {
    pub(super) egress: Arc<EgressState>,
    pub(super) metrics: PluginMetrics,
    pub(super) account: CloudAccount,
    pub(super) sent_at: Instant,
    /// The credential of the request, if a token service gave it.
    pub(super) cached: Option<CachedCredential>,
}

impl Asked {
    /// Learns from the status at once, and from the body of an error as it passes.
    pub(super) fn listen(self, status: StatusCode, headers: &HeaderMap, now: Timestamp) -> Option<Listener> {
        if !status.is_client_error() && !status.is_server_error() {
            self.answered(RateSignal::Granted);
            return None;
        }
        if let (StatusCode::UNAUTHORIZED, Some(cached)) = (status, &self.cached) {
            info!("the cloud does not take a credential any more: the next request asks for another");
            cached.forget(&self.egress.credentials);
        }
        let retry_after = throttle::retry_after(headers, now);
        let is_learned = throttle::is_slower(status, retry_after);
        if is_learned {
            self.slow_down("status", retry_after);
        }
        let is_granted = status.is_client_error();
        Some(Listener { asked: Some(self), retry_after, is_learned, is_granted, head: Vec::new() })
    }

    fn slow_down(&self, cause: &'static str, retry_after: Option<Duration>) {
        self.answered(RateSignal::TooFast { retry_after });
        self.metrics.throttled(cause);
    }

    fn answered(&self, answer: RateSignal) {
        self.egress.throttle.answered(&self.account, self.sent_at, answer);
    }
}

/// Collects the beginning of an error's body. It reports when it is dropped.
pub(crate) struct Listener {
    /// `None` when it has heard enough.
    asked: Option<Asked>,
    retry_after: Option<Duration>,
    is_learned: bool,
    /// Without a complaint in its body the request was taken. An error of the server says nothing about the pace.
    is_granted: bool,
    head: Vec<u8>,
}

impl Listener {
    /// A piece of the body.
    pub(super) fn hear(&mut self, piece: &[u8]) {
        if self.asked.is_some() {
            let room = HEAD_BYTES.saturating_sub(self.head.len());
            self.head.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if self.head.len() >= HEAD_BYTES {
                self.conclude();
            }
        }
    }

    /// The body is over, or enough of it was heard.
    pub(super) fn conclude(&mut self) {
        let Some(asked) = self.asked.take() else { return };
        let codes = throttle::codes(&self.head);
        match (self.is_learned, codes.slower) {
            (true, _) => {}
            (false, true) => asked.slow_down("code", self.retry_after),
            (false, false) if self.is_granted => asked.answered(RateSignal::Granted),
            (false, false) => {}
        }
        if let (true, Some(cached)) = (codes.stale_keys, &asked.cached) {
            info!("the cloud does not take a credential any more: the next request asks for another");
            cached.forget(&asked.egress.credentials);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.conclude();
    }
}

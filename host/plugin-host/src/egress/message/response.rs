//! Answers: limited in size and time, and scrubbed.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use http::{HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use tokio::time::{Instant, Sleep};
use wasmtime_wasi_http::{Error as WasiError, WasiBody};

use super::outgoing::without_connection_headers;
use super::synthetic::{CLOCK_SKEW, without_own_headers};
use crate::egress::connection::deliver::body_failure;
use crate::egress::failure::Failure;
use crate::egress::listen::Listener;
use crate::egress::metrics::PluginMetrics;
use crate::resources::budget::Taken;
use crate::resources::cpu_time::CpuTime;
use crate::vault::Scrubber;

/// Later than any timer of the call, which is as exact as a millisecond.
const BEHIND_THE_CALL: Duration = Duration::from_millis(20);

/// The limits of one answer.
pub(crate) struct ResponseLimits {
    pub(crate) scrubber: Scrubber,
    pub(crate) limit_bytes: u64,
    pub(crate) between_bytes: Duration,
    pub(crate) deadline: Instant,
    pub(crate) metrics: PluginMetrics,
    /// The memory for the bytes of the answer.
    pub(crate) memory: Taken,
    /// Hears the body as the server sent it.
    pub(crate) listener: Option<Listener>,
    /// By how many seconds the host's clock is ahead, where that may be why a signature is refused.
    pub(crate) clock_skew_seconds: Option<i64>,
}

/// The answer as the component may see it. Trailers stay behind: no cloud API uses them.
pub(crate) fn hand_back(
    response: Response<Incoming>,
    method: &Method,
    limits: ResponseLimits,
) -> Result<Response<WasiBody>, Failure> {
    let (parts, body) = response.into_parts();
    let has_body = *method != Method::HEAD
        && ![StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&parts.status);
    if has_body && body.size_hint().lower() > limits.limit_bytes {
        return Err(Failure::ResponseSize { limit_bytes: limits.limit_bytes });
    }
    if has_body && !body.is_end_stream() && is_coded(&parts.headers) && !limits.scrubber.stays_idle() {
        return Err(Failure::ResponseCoding);
    }
    let length = parts.headers.get(CONTENT_LENGTH).cloned();
    let headers = without_own_headers(without_connection_headers(parts.headers));
    let mut headers = scrubbed(headers, &limits.scrubber);
    if let Some(seconds) = limits.clock_skew_seconds {
        headers.insert(CLOCK_SKEW, HeaderValue::from(seconds));
    }
    // A body that may be scrubbed has another length than the one that was sent.
    if let Some(length) = length.filter(|_| !has_body || limits.scrubber.stays_idle()) {
        headers.insert(CONTENT_LENGTH, length);
    }
    let base_bytes = limits.memory.bytes();
    let body = GuestBody { incoming: Some(body), received_bytes: 0, pause: None, base_bytes, limits };
    let mut response = Response::new(body.boxed_unsync());
    *response.status_mut() = parts.status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// Packed or encrypted: whatever a server calls something else than `identity`.
fn is_coded(headers: &HeaderMap) -> bool {
    let is_identity = |coding: &[u8]| {
        let coding = coding.trim_ascii();
        coding.is_empty() || coding.eq_ignore_ascii_case(b"identity")
    };
    headers
        .get_all(CONTENT_ENCODING)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .any(|coding| !is_identity(coding))
}

pub(crate) fn scrubbed(headers: HeaderMap, scrubber: &Scrubber) -> HeaderMap {
    if scrubber.is_idle() {
        return headers;
    }
    let scrub = scrubber.of_wholes();
    let mut clean = HeaderMap::with_capacity(headers.len());
    for (name, value) in &headers {
        let value = match scrub(value.as_bytes()) {
            None => value.clone(),
            Some(bytes) => {
                HeaderValue::from_bytes(&bytes).unwrap_or(HeaderValue::from_static(crate::vault::MASK))
            }
        };
        clean.append(name, value);
    }
    clean
}

struct GuestBody {
    /// `None` when it is over, one way or the other.
    incoming: Option<Incoming>,
    received_bytes: u64,
    /// Bytes of the budget beside the body.
    base_bytes: u64,
    /// Armed while waiting for the next piece.
    pause: Option<Pin<Box<Sleep>>>,
    limits: ResponseLimits,
}

impl GuestBody {
    fn fail(&mut self, failure: Failure) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        self.incoming = None;
        self.limits.memory.shrink_to(0);
        self.limits.metrics.body_failed(&failure);
        if matches!(failure, Failure::ResponseSize { .. }) {
            CpuTime::current().note_excess();
        }
        tracing::debug!(error = %failure, "the body of an answer ended early");
        Poll::Ready(Some(Err(failure.into_wasi())))
    }

    /// Takes memory for the bytes of the body that are held back, and for these beside it.
    fn pay_for(&mut self, bytes: usize) -> Result<(), Failure> {
        let bytes = self.buffered_bytes(bytes);
        self.limits.memory.grow_to(bytes).map_err(|_full| Failure::ResponseMemory)
    }

    fn keep_paying_for(&mut self, bytes: usize) {
        let bytes = self.buffered_bytes(bytes);
        self.limits.memory.shrink_to(bytes);
    }

    fn buffered_bytes(&self, beside: usize) -> u64 {
        let buffered = self.limits.scrubber.buffered_bytes().saturating_add(beside);
        self.base_bytes.saturating_add(u64::try_from(buffered).unwrap_or(u64::MAX))
    }

    fn poll_pause(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        let (between, deadline) = (self.limits.between_bytes, self.limits.deadline);
        let pause = self.pause.get_or_insert_with(|| {
            // The call's own deadline is reported before that of an answer.
            let last = deadline + BEHIND_THE_CALL;
            let until = Instant::now().checked_add(between).map_or(last, |until| until.min(last));
            Box::pin(tokio::time::sleep_until(until))
        });
        pause.as_mut().poll(cx).map(|()| {
            if Instant::now() >= deadline { Failure::ResponseTimeout } else { Failure::BodyTimeout }
        })
    }
}

impl Body for GuestBody {
    type Data = Bytes;
    type Error = WasiError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, WasiError>>> {
        loop {
            let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
            match Pin::new(incoming).poll_frame(cx) {
                Poll::Pending => match self.poll_pause(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(failure) => return self.fail(failure),
                },
                Poll::Ready(Some(Ok(frame))) => {
                    self.pause = None;
                    let Ok(piece) = frame.into_data() else { continue };
                    self.received_bytes += piece.len() as u64;
                    self.limits.metrics.received(piece.len());
                    if let Some(listener) = &mut self.limits.listener {
                        listener.hear(&piece);
                    }
                    if self.received_bytes > self.limits.limit_bytes {
                        let limit_bytes = self.limits.limit_bytes;
                        return self.fail(Failure::ResponseSize { limit_bytes });
                    }
                    if let Err(failure) = self.pay_for(2 * piece.len()) {
                        return self.fail(failure);
                    }
                    let certain = self.limits.scrubber.push(piece);
                    self.keep_paying_for(certain.len());
                    if !certain.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(certain))));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    return self.fail(body_failure(&error));
                }
                Poll::Ready(None) => {
                    self.incoming = None;
                    self.limits.listener = None;
                    self.limits.memory.shrink_to(0);
                    let rest = self.limits.scrubber.finish();
                    return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
                }
            }
        }
    }
}

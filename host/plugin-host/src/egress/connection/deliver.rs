//! Sends a request and waits for the beginning of its answer.

use std::error::Error as StdError;
use std::time::Duration;

use http::{Extensions, Method, Response};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{CaptureConnection, capture_connection};
use tokio::time::{Instant, sleep_until, timeout_at};
use wasmtime_wasi_http::RequestOptions;

use super::connect::ConnectError;
use super::pool::HttpClient;
use super::stream::Carried;
use crate::egress::EgressSettings;
use crate::egress::failure::{Failure, Reason, copied};
use crate::egress::message::outgoing::Outgoing;

/// By when, and how long between. Nothing is later than the call's own deadline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) connected_by: Instant,
    pub(crate) answered_by: Instant,
    pub(crate) between_bytes: Duration,
}

impl Times {
    /// The component's wishes, cut to what the settings and the deadline leave.
    pub(crate) fn new(options: Option<RequestOptions>, settings: &EgressSettings, deadline: Instant) -> Self {
        let options = options.unwrap_or_default();
        let now = Instant::now();
        let by = |wish: Duration| now.checked_add(wish).map_or(deadline, |at| at.min(deadline));
        let wish = options.connect_timeout.unwrap_or(Duration::MAX);
        let pause = options.between_bytes_timeout.unwrap_or(Duration::MAX);
        Self {
            connected_by: by(wish.min(settings.connect_timeout)),
            answered_by: by(options.first_byte_timeout.unwrap_or(Duration::MAX)),
            between_bytes: pause.min(settings.between_bytes_timeout),
        }
    }
}

/// The answer to `outgoing`. A pooled connection that turns out to be dead is replaced: by the pool when nothing was
/// sent on it, and here, once, when the method can be repeated without harm.
pub(crate) async fn deliver(
    client: &HttpClient,
    outgoing: &Outgoing,
    times: Times,
) -> Result<Response<Incoming>, Failure> {
    match attempt(client, outgoing, times).await {
        Err(Missed { failure: Failure::Incomplete, was_reused: true })
            if is_idempotent(outgoing.target.method()) =>
        {
            attempt(client, outgoing, times).await.map_err(|missed| missed.failure)
        }
        other => other.map_err(|missed| missed.failure),
    }
}

struct Missed {
    failure: Failure,
    was_reused: bool,
}

impl From<Failure> for Missed {
    fn from(failure: Failure) -> Self {
        Self { failure, was_reused: false }
    }
}

async fn attempt(
    client: &HttpClient,
    outgoing: &Outgoing,
    times: Times,
) -> Result<Response<Incoming>, Missed> {
    let mut request = outgoing.request()?;
    let mut connection = capture_connection(&mut request);
    let answer = client.request(request);
    tokio::pin!(answer);
    let answer = tokio::select! {
        biased;
        answer = &mut answer => answer,
        () = has_connection(&mut connection) => match timeout_at(times.answered_by, answer).await {
            Ok(answer) => answer,
            Err(_) => return Err(Failure::ResponseTimeout.into()),
        },
        () = sleep_until(times.connected_by) => return Err(Failure::ConnectTimeout.into()),
    };
    let was_reused = was_reused(&connection);
    answer.map_err(|error| Missed { failure: failure_of(&error), was_reused })
}

/// Ends when the request has a connection, and never when it will not get one.
async fn has_connection(connection: &mut CaptureConnection) {
    if connection.wait_for_connection_metadata().await.is_none() {
        std::future::pending::<()>().await;
    }
}

fn was_reused(connection: &CaptureConnection) -> bool {
    let mut extras = Extensions::new();
    if let Some(connected) = connection.connection_metadata().as_ref() {
        connected.get_extras(&mut extras);
    }
    extras.get::<Carried>().is_some_and(Carried::mark)
}

fn is_idempotent(method: &Method) -> bool {
    [Method::GET, Method::HEAD, Method::PUT, Method::DELETE].contains(method)
}

/// Returns the failure that an error of the client means, by its causes.
fn failure_of(error: &(dyn StdError + 'static)) -> Failure {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(connect) = error.downcast_ref::<ConnectError>() {
            return connect_failure(connect);
        }
        if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
            return body_failure(hyper);
        }
        cause = error.source();
    }
    Failure::Protocol
}

fn connect_failure(error: &ConnectError) -> Failure {
    match error {
        ConnectError::NoHost => Failure::Refused(Reason::Target),
        ConnectError::Prohibited(class) => Failure::Refused(Reason::Address(*class)),
        ConnectError::Resolve(error) => Failure::Resolve(copied(error)),
        ConnectError::Timeout => Failure::ConnectTimeout,
        ConnectError::Dial(error) => Failure::Connect(copied(error)),
        ConnectError::Tls(error) => Failure::Tls(copied(error)),
    }
}

/// Returns the failure that an error of a running exchange means.
pub(crate) fn body_failure(error: &hyper::Error) -> Failure {
    let is_io = StdError::source(error).is_some_and(<dyn StdError>::is::<std::io::Error>);
    if error.is_parse_too_large() {
        Failure::ResponseHeaders
    } else if error.is_timeout() {
        Failure::ResponseTimeout
    } else if error.is_incomplete_message() || error.is_canceled() || error.is_closed() || is_io {
        Failure::Incomplete
    } else {
        Failure::Protocol
    }
}

//! One page of a pod, through a port-forward of the API server: it comes from loopback there, and needs no way into the
//! pod's network.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use machinist_core::value::error_chain::chain;

use crate::cluster::message_of;

/// How long the pod's side has to say why it closed a connection.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How often it is asked. The words are lost when its side closes while the request is still being sent.
const ATTEMPTS: usize = 3;

pub(crate) struct Target<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) port: u16,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The caller lacks the right.
    #[error("{message}")]
    Forbidden { message: String },
    /// There is no such pod.
    #[error("{message}")]
    NoPod { message: String },
    /// The server does not forward.
    #[error("{message}")]
    Refused { message: String },
    /// Nothing in the pod answers at the port.
    #[error("{message}")]
    NoAnswer { message: String },
    /// It answers with an error.
    #[error("it answers {status}: {text}")]
    Status {
        status: http::StatusCode,
        /// The beginning of the text.
        text: String,
    },
}

/// Gets the page. Reads at most so many bytes.
///
/// # Errors
/// When the server does not forward, or the pod does not answer.
pub(crate) async fn page(
    client: &Client,
    target: &Target<'_>,
    page: &str,
    most_bytes: usize,
) -> Result<String, Error> {
    let mut unexplained = String::new();
    for _ in 0..ATTEMPTS {
        match attempt(client, target, page, most_bytes).await? {
            Attempt::Answered(text) => return Ok(text),
            Attempt::Closed(message) => unexplained = message,
        }
    }
    Err(Error::NoAnswer { message: unexplained })
}

/// The end of one connection.
enum Attempt {
    Answered(String),
    /// It was closed, and the pod's side has not said why.
    Closed(String),
}

async fn attempt(
    client: &Client,
    target: &Target<'_>,
    page: &str,
    most_bytes: usize,
) -> Result<Attempt, Error> {
    let api: Api<Pod> = Api::namespaced(client.clone(), target.namespace);
    let mut forward = api.portforward(target.pod, &[target.port]).await.map_err(|error| refused(&error))?;
    let no_stream = || Error::NoAnswer { message: "the API server forwards nothing".to_owned() };
    let stream = forward.take_stream(target.port).ok_or_else(no_stream)?;
    let last_words = forward.take_error(target.port);
    let answer = get(TokioIo::new(stream), target.port, page, most_bytes).await;
    let answer = match answer {
        Ok(text) => Ok(Attempt::Answered(text)),
        Err(Error::NoAnswer { message }) => {
            // The error of the pod's side says more than the end of the connection.
            let words = async { last_words?.await };
            match tokio::time::timeout(LAST_WORDS, words).await.ok().flatten() {
                Some(words) => Err(Error::NoAnswer { message: words }),
                None => Ok(Attempt::Closed(message)),
            }
        }
        Err(error) => Err(error),
    };
    forward.abort();
    answer
}

async fn get<Io>(io: Io, port: u16, page: &str, most_bytes: usize) -> Result<String, Error>
where
    Io: hyper::rt::Read + hyper::rt::Write + Unpin + Send + 'static,
{
    let broken = |error: hyper::Error| Error::NoAnswer { message: chain(&error) };
    let (mut sender, connection) = http1::handshake(io).await.map_err(broken)?;
    let connection = tokio::spawn(connection);
    let request = http::Request::get(page)
        .header(http::header::HOST, format!("localhost:{port}"))
        .body(Empty::<Bytes>::new())
        .map_err(|error| Error::NoAnswer { message: error.to_string() })?;
    let answer = sender.send_request(request).await.map_err(broken)?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), most_bytes).collect().await;
    let body = body.map_err(|error| Error::NoAnswer { message: chain(error.as_ref()) })?.to_bytes();
    connection.abort();
    let text = String::from_utf8_lossy(&body).into_owned();
    if status.is_success() { Ok(text) } else { Err(Error::Status { status, text: text.trim().to_owned() }) }
}

fn refused(error: &kube::Error) -> Error {
    let message = message_of(error);
    match error {
        kube::Error::Api(status) if status.code == 403 => Error::Forbidden { message },
        kube::Error::Api(status) if status.code == 404 => Error::NoPod { message },
        _ => Error::Refused { message },
    }
}

//! Requests to the cloud over the host's outgoing handler.

use crate::bindings::machinist::host::secrets::{self, Encoding, Refusal};
use crate::bindings::machinist::host::{deadline, settings};
use crate::bindings::machinist::provider::types::{Code, DriverError};
use crate::bindings::wasi::http::outgoing_handler;
use crate::bindings::wasi::http::types::{
    self as wasi, Fields, FutureIncomingResponse, IncomingResponse, OutgoingBody, OutgoingRequest,
    RequestOptions,
};
use crate::bindings::wasi::io::streams::{OutputStream, StreamError};
use crate::cloud::{Answer, Call, Method, Transport};
use crate::errors::error;
use crate::settings::{Endpoint, Scheme};
use crate::trouble::Trouble;

/// The key of the Secret that authenticates.
pub(crate) const TOKEN_KEY: &str = "token";

/// No answer of this cloud takes longer unless it never comes.
const REQUEST_MS: u64 = 30_000;
const CONNECT_MS: u64 = 10_000;
/// Left for what is done after an answer, and for the answer to the host.
const RESERVE_MS: u64 = 250;
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
const PIECE_BYTES: u64 = 64 * 1024;

/// The way to the cloud of the running call.
pub(crate) struct Wasi {
    endpoint: Endpoint,
    authorization: String,
}

impl Wasi {
    /// Reads the settings and takes a placeholder for the token.
    pub(crate) fn open() -> Result<Self, Box<DriverError>> {
        let endpoint = Endpoint::from_settings(&settings::get())?;
        let Some(token) = secrets::open(TOKEN_KEY) else {
            return Err(Box::new(DriverError {
                terminal: true,
                ..error(
                    Code::Unauthenticated,
                    "the MachineClass's Secret has no key token: add the cloud's API token",
                )
            }));
        };
        let placeholder = token
            .placeholder(&[Encoding::Plain])
            .map_err(|refusal| ungranted(refusal, TOKEN_KEY, "{ header: authorization }"))?;
        Ok(Self { endpoint, authorization: format!("Bearer {placeholder}") })
    }

    fn request(&self, call: &Call) -> Result<OutgoingRequest, Trouble> {
        let mut headers = vec![
            ("accept".to_owned(), b"application/json".to_vec()),
            ("authorization".to_owned(), self.authorization.clone().into_bytes()),
        ];
        if call.body.is_some() {
            headers.push(("content-type".to_owned(), b"application/json".to_vec()));
        }
        if let Some(key) = &call.idempotency_key {
            headers.push(("idempotency-key".to_owned(), key.clone().into_bytes()));
        }
        let headers = Fields::from_list(&headers).map_err(|error| Trouble::Other(format!("{error:?}")))?;
        let request = OutgoingRequest::new(headers);
        let method = match call.method {
            Method::Get => wasi::Method::Get,
            Method::Post => wasi::Method::Post,
            Method::Delete => wasi::Method::Delete,
        };
        let scheme = match self.endpoint.scheme {
            Scheme::Http => wasi::Scheme::Http,
            Scheme::Https => wasi::Scheme::Https,
        };
        let target = format!("{}{}", self.endpoint.base, call.target);
        request
            .set_method(&method)
            .and_then(|()| request.set_scheme(Some(&scheme)))
            .and_then(|()| request.set_authority(Some(&self.endpoint.authority)))
            .and_then(|()| request.set_path_with_query(Some(&target)))
            .map_err(|()| Trouble::BadUrl)?;
        Ok(request)
    }
}

impl Transport for Wasi {
    fn host(&self) -> &str {
        self.endpoint.host()
    }

    fn send(&self, call: &Call) -> Result<Answer, Trouble> {
        let options = options()?;
        let request = self.request(call)?;
        let body = request.body().map_err(|()| Trouble::Other("the request has no body".to_owned()))?;
        let future = outgoing_handler::handle(request, Some(options)).map_err(|code| Trouble::of(&code))?;
        // Whoever refuses a body half-way says why in the answer.
        if let Some(bytes) = &call.body
            && let Ok(stream) = body.write()
        {
            let _ = write(&stream, bytes.as_bytes());
        }
        let _ = OutgoingBody::finish(body, None);
        read(&response(&future)?)
    }
}

/// What the machine gets at boot, as a placeholder for the base64 of it.
pub(crate) fn user_data() -> Result<Option<String>, Box<DriverError>> {
    let placeholder = secrets::user_data().map(|secret| secret.placeholder(&[Encoding::Base64]));
    placeholder.transpose().map_err(|refusal| ungranted(refusal, "userData", "{ json: /userData }"))
}

fn ungranted(refusal: Refusal, key: &str, place: &str) -> Box<DriverError> {
    let message = match refusal {
        Refusal::NotGranted => format!(
            "the secret {key} is not granted: add {{ key: {key}, places: [{place}] }} to secrets in the plugin's grants"
        ),
        Refusal::Encodings => format!("the secret {key} cannot be encoded: it is too large"),
        Refusal::TooMany => format!("the secret {key} has too many placeholders in one call"),
    };
    Box::new(error(Code::FailedPrecondition, message))
}

/// Time-outs that end before the host ends the call, so that the call can say what happened.
fn options() -> Result<RequestOptions, Trouble> {
    let left_ms = deadline::remaining_ms().saturating_sub(RESERVE_MS);
    if left_ms == 0 {
        return Err(Trouble::NoTimeLeft);
    }
    let nanoseconds = |ms: u64| Some(ms.min(left_ms).saturating_mul(1_000_000));
    let options = RequestOptions::new();
    // A host without one of these time-outs still ends the call.
    let _ = options.set_connect_timeout(nanoseconds(CONNECT_MS));
    let _ = options.set_first_byte_timeout(nanoseconds(REQUEST_MS));
    let _ = options.set_between_bytes_timeout(nanoseconds(REQUEST_MS));
    Ok(options)
}

fn write(stream: &OutputStream, bytes: &[u8]) -> Result<(), StreamError> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let room = usize::try_from(stream.check_write()?).unwrap_or(usize::MAX);
        if room == 0 {
            stream.subscribe().block();
            continue;
        }
        let (piece, later) = rest.split_at(room.min(rest.len()));
        stream.write(piece)?;
        rest = later;
    }
    Ok(())
}

fn response(future: &FutureIncomingResponse) -> Result<IncomingResponse, Trouble> {
    future.subscribe().block();
    match future.get() {
        Some(Ok(Ok(response))) => Ok(response),
        Some(Ok(Err(code))) => Err(Trouble::of(&code)),
        Some(Err(())) | None => Err(Trouble::Other("the host gave no answer".to_owned())),
    }
}

fn read(response: &IncomingResponse) -> Result<Answer, Trouble> {
    let status = response.status();
    let headers = response.headers();
    let header =
        |name: &str| headers.get(name).into_iter().next().and_then(|value| String::from_utf8(value).ok());
    let is_html = header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
    let seconds = header("retry-after").and_then(|text| text.trim().parse::<u64>().ok());
    let retry_after_ms = seconds.map(|seconds| seconds.saturating_mul(1_000));
    let taken = |()| Trouble::Other("the body was taken before".to_owned());
    let incoming = response.consume().map_err(taken)?;
    let stream = incoming.stream().map_err(taken)?;
    let mut body = Vec::new();
    loop {
        match stream.blocking_read(PIECE_BYTES) {
            Ok(bytes) => body.extend_from_slice(&bytes),
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(cause)) => {
                return Err(wasi::http_error_code(&cause).map_or(Trouble::CutOff, |code| Trouble::of(&code)));
            }
        }
        if body.len() > ANSWER_BYTES {
            return Err(Trouble::AnswerTooLarge);
        }
    }
    Ok(Answer { status, is_html, retry_after_ms, body })
}

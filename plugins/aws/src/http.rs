//! Requests to EC2 over the host's outgoing handler. The host signs them.

use crate::bindings::machinist::host::secrets::{self, Encoding, Refusal};
use crate::bindings::machinist::host::{deadline, settings};
use crate::bindings::machinist::provider::types::{Code, DriverError};
use crate::bindings::wasi::http::outgoing_handler;
use crate::bindings::wasi::http::types::{
    self as wasi, Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingBody, OutgoingRequest,
    RequestOptions,
};
use crate::bindings::wasi::io::streams::{OutputStream, StreamError};
use crate::credentials;
use crate::ec2::{Answer, Transport};
use crate::errors::{Target, error};
use crate::settings::{Endpoint, Scheme};
use crate::trouble::Trouble;

/// EC2 answers a launch within seconds. What takes longer than this never comes.
const REQUEST_MS: u64 = 60_000;
const CONNECT_MS: u64 = 10_000;
/// Left for what is done after an answer, and for the answer to the host.
const RESERVE_MS: u64 = 250;
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
const PIECE_BYTES: u64 = 64 * 1024;

const FORM: &[u8] = b"application/x-www-form-urlencoded; charset=utf-8";
/// The mark by which the host knows what to sign, and how.
const MARK: &str = "machinist-auth";
/// On an answer: the host could not sign.
const FAILED: &str = "failed";
const SKEW: &str = "machinist-clock-skew";

/// The way to EC2 of the running call.
pub(crate) struct Wasi {
    endpoint: Endpoint,
    region: String,
}

impl Wasi {
    /// Reads the settings, and sees that the Secret has what the host signs with.
    pub(crate) fn open(region: String) -> Result<Self, Box<DriverError>> {
        let endpoint = Endpoint::of(&settings::get(), &region)?;
        credentials::check(|key| secrets::open(key).map(|secret| secret.length()))?;
        Ok(Self { endpoint, region })
    }

    fn request(&self) -> Result<OutgoingRequest, Trouble> {
        let mark = format!("aws-sigv4; service=ec2; region={}", self.region);
        let headers = [
            ("content-type".to_owned(), FORM.to_vec()),
            ("accept".to_owned(), b"application/xml, text/xml".to_vec()),
            (MARK.to_owned(), mark.into_bytes()),
        ];
        let headers = Fields::from_list(&headers).map_err(|error| Trouble::Other(format!("{error:?}")))?;
        let request = OutgoingRequest::new(headers);
        let scheme = match self.endpoint.scheme {
            Scheme::Http => wasi::Scheme::Http,
            Scheme::Https => wasi::Scheme::Https,
        };
        request
            .set_method(&Method::Post)
            .and_then(|()| request.set_scheme(Some(&scheme)))
            .and_then(|()| request.set_authority(Some(&self.endpoint.authority)))
            .and_then(|()| request.set_path_with_query(Some(&self.endpoint.path)))
            .map_err(|()| Trouble::BadUrl)?;
        Ok(request)
    }
}

impl Transport for Wasi {
    fn target(&self) -> Target {
        Target {
            host: self.endpoint.host().to_owned(),
            region: self.region.clone(),
            is_override: self.endpoint.is_override,
        }
    }

    fn send(&self, form: &str) -> Result<Answer, Trouble> {
        let options = options()?;
        let request = self.request()?;
        let body = request.body().map_err(|()| Trouble::Other("the request has no body".to_owned()))?;
        let future = outgoing_handler::handle(request, Some(options)).map_err(|code| Trouble::of(&code))?;
        // Whoever refuses a body half-way says why in the answer.
        if let Ok(stream) = body.write() {
            let _ = write(&stream, form.as_bytes());
        }
        let _ = OutgoingBody::finish(body, None);
        read(&response(&future)?)
    }
}

/// What the instance gets at boot, as a placeholder for the base64 of it, as it stands in a form.
pub(crate) fn user_data() -> Result<String, Box<DriverError>> {
    let secret = secrets::user_data();
    credentials::check_user_data(secret.as_ref().map(secrets::Secret::length))?;
    let placeholder = secret.map(|secret| secret.placeholder(&[Encoding::Base64, Encoding::Form]));
    placeholder.transpose().map(Option::unwrap_or_default).map_err(ungranted)
}

fn ungranted(refusal: Refusal) -> Box<DriverError> {
    let message = match refusal {
        Refusal::NotGranted => {
            "the user data is not granted: add { key: userData, places: [{ form: UserData }] } to secrets in the \
             plugin's grants"
        }
        Refusal::Encodings => "the user data cannot be encoded: it is too large",
        Refusal::TooMany => "the user data has too many placeholders in one call",
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
    let seconds = header("retry-after").and_then(|text| text.trim().parse::<u64>().ok());
    let skew = header(SKEW).and_then(|text| text.trim().parse::<i64>().ok());
    let mut answer = Answer {
        status,
        is_html: header("content-type").is_some_and(|kind| kind.starts_with("text/html")),
        retry_after_ms: seconds.map(|seconds| seconds.saturating_mul(1_000)),
        is_unsigned: header(MARK).is_some_and(|text| text.trim() == FAILED),
        skew_s: skew.map(i64::unsigned_abs),
        body: Vec::new(),
    };
    let taken = |()| Trouble::Other("the body was taken before".to_owned());
    let incoming = response.consume().map_err(taken)?;
    let stream = incoming.stream().map_err(taken)?;
    loop {
        match stream.blocking_read(PIECE_BYTES) {
            Ok(bytes) => answer.body.extend_from_slice(&bytes),
            Err(StreamError::Closed) => return Ok(answer),
            Err(StreamError::LastOperationFailed(cause)) => {
                return Err(wasi::http_error_code(&cause).map_or(Trouble::CutOff, |code| Trouble::of(&code)));
            }
        }
        if answer.body.len() > ANSWER_BYTES {
            return Err(Trouble::AnswerTooLarge);
        }
    }
}

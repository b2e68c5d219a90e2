//! Requests through the host's `outgoing-handler`.

use crate::bindings::provider::wasi::http::outgoing_handler;
use crate::bindings::provider::wasi::http::types::{
    self as wasi, Fields, FutureIncomingResponse, IncomingResponse, OutgoingBody, OutgoingRequest,
    RequestOptions,
};
use crate::bindings::provider::wasi::io::streams::{OutputStream, StreamError};
use crate::driver::{HttpAnswer, HttpRequest, Limits, Method, NoAnswerReason, PIECE_BYTES, Scheme, Url};

/// Sends a request and waits for the complete answer.
pub(super) fn exchange(
    request: &HttpRequest,
    url: &Url,
    limits: Limits,
) -> Result<HttpAnswer, NoAnswerReason> {
    let outgoing = outgoing(request, url)?;
    let body = outgoing.body().map_err(|()| NoAnswerReason::Other("the request has no body".to_owned()))?;
    let future = outgoing_handler::handle(outgoing, Some(options(limits)))
        .map_err(|code| NoAnswerReason::of(&code))?;
    // A server that refuses a body half-way gives the reason in its answer.
    if let Some(bytes) = &request.body
        && let Ok(stream) = body.write()
    {
        let _ = write(&stream, bytes);
    }
    let _ = OutgoingBody::finish(body, None);
    read(&response(&future)?, limits.answer_bytes)
}

fn outgoing(request: &HttpRequest, url: &Url) -> Result<OutgoingRequest, NoAnswerReason> {
    let headers: Vec<(String, Vec<u8>)> =
        request.headers.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let headers = Fields::from_list(&headers).map_err(|error| NoAnswerReason::Other(format!("{error:?}")))?;
    let outgoing = OutgoingRequest::new(headers);
    let method = match request.method {
        Method::Get => wasi::Method::Get,
        Method::Head => wasi::Method::Head,
        Method::Post => wasi::Method::Post,
        Method::Put => wasi::Method::Put,
        Method::Patch => wasi::Method::Patch,
        Method::Delete => wasi::Method::Delete,
    };
    let scheme = match url.scheme {
        Scheme::Http => wasi::Scheme::Http,
        Scheme::Https => wasi::Scheme::Https,
    };
    outgoing
        .set_method(&method)
        .and_then(|()| outgoing.set_scheme(Some(&scheme)))
        .and_then(|()| outgoing.set_authority(Some(&url.authority)))
        .and_then(|()| outgoing.set_path_with_query(Some(&url.path_with_query)))
        .map_err(|()| NoAnswerReason::BadUrl)?;
    Ok(outgoing)
}

fn options(limits: Limits) -> RequestOptions {
    let nanoseconds = |ms: u64| Some(ms.saturating_mul(1_000_000));
    let options = RequestOptions::new();
    // A host without one of these timeouts still ends the call.
    let _ = options.set_connect_timeout(nanoseconds(limits.connect_ms));
    let _ = options.set_first_byte_timeout(nanoseconds(limits.answer_ms));
    let _ = options.set_between_bytes_timeout(nanoseconds(limits.answer_ms));
    options
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

fn response(future: &FutureIncomingResponse) -> Result<IncomingResponse, NoAnswerReason> {
    future.subscribe().block();
    match future.get() {
        Some(Ok(Ok(response))) => Ok(response),
        Some(Ok(Err(code))) => Err(NoAnswerReason::of(&code)),
        Some(Err(())) | None => Err(NoAnswerReason::Other("the host gave no answer".to_owned())),
    }
}

fn read(response: &IncomingResponse, most_bytes: usize) -> Result<HttpAnswer, NoAnswerReason> {
    let entries = response.headers().entries();
    let headers = entries
        .into_iter()
        .filter_map(|(name, value)| Some((name, String::from_utf8(value).ok()?)))
        .collect();
    let mut answer = HttpAnswer { status: response.status(), headers, body: Vec::new() };
    let taken = |()| NoAnswerReason::Other("the body was taken before".to_owned());
    let incoming = response.consume().map_err(taken)?;
    let stream = incoming.stream().map_err(taken)?;
    loop {
        match stream.blocking_read(PIECE_BYTES) {
            Ok(bytes) => answer.body.extend_from_slice(&bytes),
            Err(StreamError::Closed) => return Ok(answer),
            Err(StreamError::LastOperationFailed(cause)) => {
                return Err(wasi::http_error_code(&cause)
                    .map_or(NoAnswerReason::CutOff, |code| NoAnswerReason::of(&code)));
            }
        }
        if answer.body.len() > most_bytes {
            return Err(NoAnswerReason::AnswerTooLarge);
        }
    }
}

//! Routes the requests of a call: to the egress, through the recorder, or to a recording.

use std::sync::Arc;

use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::difference::UNREAD;
use super::matching::Named;
use super::player::{Played, Player, Playing};
use super::recorder::body::{Body, BodySide, Tee};
use super::{ActiveRecording, CallRecording};
use crate::egress::Session;
use crate::recording::matching::PlaceholderNames;
use crate::resources::threads;

/// Everything beyond the answer itself that a future of the hooks gives.
type BodyIo = Box<dyn Future<Output = Result<(), WasiError>> + Send>;

/// The hooks' answer to a request.
type ResponseFuture = Box<dyn Future<Output = Result<(Response<WasiBody>, BodyIo), WasiError>> + Send>;

/// The hooks of one call.
pub(crate) struct Wire {
    session: Session,
    recording: CallRecording,
}

impl Wire {
    pub(crate) fn new(session: Session, recording: CallRecording) -> Self {
        Self { session, recording }
    }

    fn sent(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        io: BodyIo,
    ) -> ResponseFuture {
        let Some(active) = &self.recording.0 else { return self.session.send_request(request, options, io) };
        // Noted before anything is awaited: the order is the component's.
        let (parts, body) = request.into_parts();
        let exchange =
            active.recorder.requested(parts.method.clone(), parts.uri.clone(), parts.headers.clone());
        let body = match exchange {
            Some(exchange) => {
                Tee { body, recorder: active.recorder.clone(), exchange, side: BodySide::Request }
                    .boxed_unsync()
            }
            None => body,
        };
        let request = Request::from_parts(parts, body);
        let (active, session) = (Arc::clone(active), self.session.clone());
        Box::new(async move {
            let answer = match &active.player {
                None => session.send(request, options).await,
                Some(player) => play(player, &active, &session, request, options).await,
            };
            let answer = noted(&active, exchange, answer)?;
            Ok((answer, Box::new(std::future::ready(Ok(()))) as BodyIo))
        })
    }
}

impl WasiHttpHooks for Wire {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        io: BodyIo,
    ) -> ResponseFuture {
        // The caller polls this in a task of its own.
        Box::new(threads::beside(Box::into_pin(self.sent(request, options, io))))
    }
}

/// The answer, which is copied while the component reads it.
fn noted(
    active: &ActiveRecording,
    exchange: Option<usize>,
    answer: Result<Response<WasiBody>, WasiError>,
) -> Result<Response<WasiBody>, WasiError> {
    let Some(exchange) = exchange else { return answer };
    match answer {
        Ok(response) => {
            active.recorder.began_to_answer(exchange, response.status(), response.headers().clone());
            let recorder = active.recorder.clone();
            Ok(response.map(|body| Tee { body, recorder, exchange, side: BodySide::Answer }.boxed_unsync()))
        }
        Err(error) => {
            active.recorder.failed(exchange, &error);
            Err(error)
        }
    }
}

/// The answer of a recording.
async fn play(
    player: &Player,
    active: &ActiveRecording,
    session: &Session,
    request: Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<Response<WasiBody>, WasiError> {
    let (parts, body) = request.into_parts();
    let headers: Vec<(String, String)> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let names = PlaceholderNames::of(&active.recorder.placeholders());
    let (method, url) = (parts.method.as_str(), parts.uri.to_string());
    if let Some(played) = player.answer_unread(&Named::new(method, &url, &headers, None, &names)) {
        return match played {
            Played::Outcome(outcome) => outcome,
            Played::Silence | Played::Unknown => std::future::pending().await,
        };
    }
    let body = body.collect().await?.to_bytes();
    let named_body = match Body::of(&body) {
        Body::Text(text) => Body::Text(names.named(&text)),
        other @ (Body::Base64(_) | Body::Unread | Body::LeftOut(_)) => other,
    };
    let named = Named::new(method, &url, &headers, Some(named_body), &names);
    match player.answer(&named) {
        Played::Outcome(outcome) => outcome,
        Played::Silence => std::future::pending().await,
        Played::Unknown if player.playing() == Playing::Shadow && session.may_read(&parts, &body) => {
            let body = Full::new(body).map_err(|never| match never {}).boxed_unsync();
            session.send(Request::from_parts(parts, body), options).await
        }
        Played::Unknown => {
            let reads = [Method::GET, Method::HEAD].contains(&parts.method);
            let why =
                if player.playing() == Playing::Shadow && reads { UNREAD } else { "not in the recording" };
            Err(WasiError::InternalError(Some(format!("{why}: {}", named.title()))))
        }
    }
}

//! Where the requests of a call pass: to the egress, by way of the recorder, or to a recording.

use std::sync::Arc;

use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::difference::UNREAD;
use super::recorder::body::{Body, Side, Tee};
use super::replay::matching::Named;
use super::replay::placeholders::Naming;
use super::replay::player::{Played, Player, Playing};
use super::{Deck, Tape};
use crate::calls::scheduling::threads;
use crate::egress::Session;

/// Everything beyond the answer itself that a future of the hooks gives.
type Io = Box<dyn Future<Output = Result<(), WasiError>> + Send>;

/// What the hooks give for a request.
type Answer = Box<dyn Future<Output = Result<(Response<WasiBody>, Io), WasiError>> + Send>;

/// The hooks of one call.
pub(crate) struct Wire {
    session: Session,
    tape: Tape,
}

impl Wire {
    pub(crate) fn new(session: Session, tape: Tape) -> Self {
        Self { session, tape }
    }

    fn sent(&mut self, request: Request<WasiBody>, options: Option<RequestOptions>, io: Io) -> Answer {
        let Some(deck) = &self.tape.0 else { return self.session.send_request(request, options, io) };
        // Noted before anything is awaited: the order is the component's.
        let (parts, body) = request.into_parts();
        let exchange =
            deck.recorder.requested(parts.method.clone(), parts.uri.clone(), parts.headers.clone());
        let body = match exchange {
            Some(exchange) => {
                Tee { body, recorder: deck.recorder.clone(), exchange, side: Side::Request }.boxed_unsync()
            }
            None => body,
        };
        let request = Request::from_parts(parts, body);
        let (deck, session) = (Arc::clone(deck), self.session.clone());
        Box::new(async move {
            let answer = match &deck.player {
                None => session.send(request, options).await,
                Some(player) => play(player, &deck, &session, request, options).await,
            };
            let answer = noted(&deck, exchange, answer)?;
            Ok((answer, Box::new(std::future::ready(Ok(()))) as Io))
        })
    }
}

impl WasiHttpHooks for Wire {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        io: Io,
    ) -> Answer {
        // Whoever polls this is a task of its own.
        Box::new(threads::beside(Box::into_pin(self.sent(request, options, io))))
    }
}

/// The answer, which is copied while the component reads it.
fn noted(
    deck: &Deck,
    exchange: Option<usize>,
    answer: Result<Response<WasiBody>, WasiError>,
) -> Result<Response<WasiBody>, WasiError> {
    let Some(exchange) = exchange else { return answer };
    match answer {
        Ok(response) => {
            deck.recorder.began_to_answer(exchange, response.status(), response.headers().clone());
            let recorder = deck.recorder.clone();
            Ok(response.map(|body| Tee { body, recorder, exchange, side: Side::Answer }.boxed_unsync()))
        }
        Err(error) => {
            deck.recorder.failed(exchange, &error);
            Err(error)
        }
    }
}

/// The answer of a recording.
async fn play(
    player: &Player,
    deck: &Deck,
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
    let naming = Naming::of(&deck.recorder.placeholders());
    let (method, url) = (parts.method.as_str(), parts.uri.to_string());
    if let Some(played) = player.answer_unread(&Named::new(method, &url, &headers, None, &naming)) {
        return match played {
            Played::Outcome(outcome) => outcome,
            Played::Silence | Played::Unknown => std::future::pending().await,
        };
    }
    let body = body.collect().await?.to_bytes();
    let named_body = match Body::of(&body) {
        Body::Text(text) => Body::Text(naming.named(&text)),
        other @ (Body::Base64(_) | Body::Unread | Body::LeftOut(_)) => other,
    };
    let named = Named::new(method, &url, &headers, Some(named_body), &naming);
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

//! A proxy between the plugin host and the cloud: it records requests, and injects faults by rule.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::profile::{Canned, Paging, Requests, Scripted};

/// How long a connection is held: longer than any call of the kit may take.
const HELD: Duration = Duration::from_secs(20);

/// The kind of a request to the cloud.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    Create,
    Delete,
    Other,
}

/// Which requests a rule befalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Any,
    Only(RequestKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Once,
    Always,
    /// From this request on, counted from 1.
    From(usize),
}

/// The fault of a request.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// This answer; the cloud sees nothing.
    Instead(Canned),
    /// This answer; the work is done.
    After(Canned),
    /// No answer; the cloud sees nothing.
    LoseRequest,
    /// No answer; the work is done.
    LoseAnswer,
    /// The work is done, and the answer comes when nobody waits for it any more.
    HoldAnswer,
    /// The work is done; the connection breaks within the answer's body.
    BreakBody,
    /// The work is done; half of the answer comes, as if it were all.
    HalveBody,
    /// The work is done; what comes is larger than anybody reads.
    Flood,
    /// The answer of the profile for reads that do not show a VM yet; without one, the cloud's answer.
    Invisible,
    /// The answer that the first request got is the answer to all that follow.
    Repeat,
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) on: On,
    pub(crate) times: Times,
    pub(crate) effect: Effect,
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) kind: RequestKind,
    /// As the driver named it, without port.
    pub(crate) host: String,
    pub(crate) target: String,
    pub(crate) body: Bytes,
}

/// The setup of the proxy while checks run.
pub(crate) struct Wiring {
    /// Where requests go on to; absent: nowhere.
    pub(crate) upstream: Option<String>,
    pub(crate) client: reqwest::Client,
    pub(crate) requests: Requests,
    pub(crate) invisible: Vec<Scripted>,
}

/// A proxy on a port of its own.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: AbortOnDropHandle<()>,
}

struct Shared {
    wiring: Wiring,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rules: Vec<(Rule, usize)>,
    journal: Vec<Entry>,
    paging: Option<Paging>,
    repeated: Option<Whole>,
}

/// An answer that was read to its end.
#[derive(Clone)]
struct Whole {
    status: u16,
    headers: HeaderMap,
    body: Bytes,
}

type Body = BoxBody<Bytes, io::Error>;

/// The connection ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection ends without an answer")]
struct Gone;

impl Proxy {
    pub(crate) async fn start(wiring: Wiring) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { wiring, state: Mutex::default() });
        let serving = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, _serving: AbortOnDropHandle::new(serving) })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Nothing is disturbed, nothing was asked.
    pub(crate) fn reset(&self) {
        *self.shared.state() = State::default();
    }

    /// From here on this befalls requests, and what was there no more.
    pub(crate) fn disturb(&self, on: On, times: Times, effect: Effect) {
        self.shared.state().rules = vec![(Rule { on, times, effect }, 0)];
    }

    /// From here on nothing is disturbed.
    pub(crate) fn calm(&self) {
        self.shared.state().rules.clear();
    }

    /// Listings get pages of this size.
    pub(crate) fn cut_pages(&self, paging: &Paging) {
        self.shared.state().paging = Some(paging.clone());
    }

    /// Forgets the requests so far.
    pub(crate) fn forget(&self) {
        self.shared.state().journal.clear();
    }

    /// The requests since it was last forgotten.
    pub(crate) fn journal(&self) -> Vec<Entry> {
        self.shared.state().journal.clone()
    }

    /// How many of these there were.
    pub(crate) fn count(&self, kind: RequestKind) -> usize {
        self.shared.state().journal.iter().filter(|entry| entry.kind == kind).count()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                let shared = Arc::clone(&shared);
                let _ = stream.set_nodelay(true);
                connections.spawn(async move {
                    let serve = service_fn(move |request| {
                        let shared = Arc::clone(&shared);
                        async move { shared.serve(request).await }
                    });
                    // A connection that ends badly is what some rules are for.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), serve).await;
                });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, Gone> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(|_| Gone)?.to_bytes();
        let (method, target) =
            (parts.method.as_str(), parts.uri.path_and_query().map_or("/", |target| target.as_str()));
        let kind = self.kind(method, target, &body);
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(name, _)| name).to_owned();
        let entry = Entry { kind, host, target: target.to_owned(), body: body.clone() };
        let (effect, target) = self.note(entry);
        let forward = || self.forward(&parts.method, &target, &parts.headers, body.clone());
        match effect {
            None => Ok(forward().await?.whole()),
            Some(Effect::Instead(canned)) => Ok(answer(&canned)?.whole()),
            Some(Effect::After(canned)) => {
                forward().await?;
                Ok(answer(&canned)?.whole())
            }
            Some(Effect::LoseRequest) => Err(Gone),
            Some(Effect::LoseAnswer) => {
                forward().await?;
                Err(Gone)
            }
            Some(Effect::HoldAnswer) => {
                forward().await?;
                tokio::time::sleep(HELD).await;
                Err(Gone)
            }
            Some(Effect::BreakBody) => Ok(forward().await?.broken()),
            Some(Effect::HalveBody) => Ok(forward().await?.halved().whole()),
            Some(Effect::Flood) => {
                let mut whole = forward().await?;
                whole.body = Bytes::from(vec![b' '; 6 << 20]);
                Ok(whole.whole())
            }
            Some(Effect::Invisible) => {
                let fits = |scripted: &&Scripted| scripted.on.fits(method, &target, &body);
                match self.wiring.invisible.iter().find(fits) {
                    Some(scripted) => Ok(answer(&scripted.answer)?.whole()),
                    None => Ok(forward().await?.whole()),
                }
            }
            Some(Effect::Repeat) => {
                let kept = self.state().repeated.clone();
                let whole = match kept {
                    Some(whole) => whole,
                    None => forward().await?,
                };
                self.state().repeated = Some(whole.clone());
                Ok(whole.whole())
            }
        }
    }

    fn kind(&self, method: &str, target: &str, body: &[u8]) -> RequestKind {
        let Requests { create, delete } = &self.wiring.requests;
        let is = |pattern: &Option<crate::profile::Pattern>| {
            pattern.as_ref().is_some_and(|pattern| pattern.fits(method, target, body))
        };
        if is(create) {
            RequestKind::Create
        } else if is(delete) {
            RequestKind::Delete
        } else {
            RequestKind::Other
        }
    }

    /// Records the request. Returns its fault and its destination.
    fn note(&self, entry: Entry) -> (Option<Effect>, String) {
        let mut state = self.state();
        let target = match &state.paging {
            Some(paging) => repaged(&entry.target, paging),
            None => entry.target.clone(),
        };
        let kind = entry.kind;
        state.journal.push(entry);
        let mut effect = None;
        for (rule, seen) in &mut state.rules {
            if rule.on != On::Any && rule.on != On::Only(kind) {
                continue;
            }
            *seen += 1;
            let fires = match rule.times {
                Times::Once => *seen == 1,
                Times::Always => true,
                Times::From(first) => *seen >= first,
            };
            if fires && effect.is_none() {
                effect = Some(rule.effect.clone());
            }
        }
        (effect, target)
    }

    async fn forward(
        &self,
        method: &http::Method,
        target: &str,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Whole, Gone> {
        let upstream = self.wiring.upstream.as_ref().ok_or(Gone)?;
        let mut headers = headers.clone();
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        let request = self.wiring.client.request(method.clone(), format!("{upstream}{target}"));
        let answer = request.headers(headers).body(body).send().await.map_err(|_| Gone)?;
        let (status, mut headers) = (answer.status().as_u16(), answer.headers().clone());
        for name in [CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
            headers.remove(name);
        }
        Ok(Whole { status, headers, body: answer.bytes().await.map_err(|_| Gone)? })
    }
}

impl Whole {
    fn response(&self, body: Body) -> Response<Body> {
        let mut response = Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(self.status).unwrap_or(http::StatusCode::OK);
        *response.headers_mut() = self.headers.clone();
        response
    }

    fn whole(&self) -> Response<Body> {
        self.response(Full::new(self.body.clone()).map_err(|never: Infallible| match never {}).boxed())
    }

    fn halved(&self) -> Self {
        Self { body: self.body.slice(..self.body.len() / 2), ..self.clone() }
    }

    /// Half of it under the length of all of it.
    fn broken(&self) -> Response<Body> {
        let half = self.body.slice(..self.body.len() / 2);
        let frames = [Ok(Frame::data(half)), Err(io::Error::other("cut"))];
        let mut response = self.response(BoxBody::new(StreamBody::new(futures::stream::iter(frames))));
        response.headers_mut().insert(CONTENT_LENGTH, self.body.len().max(1).into());
        response
    }
}

/// The profile's words as an answer. A header that is none counts as absent.
fn answer(canned: &Canned) -> Result<Whole, Gone> {
    let mut headers = HeaderMap::new();
    for (name, value) in &canned.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<http::HeaderName>(), value.parse()) {
            headers.insert(name, value);
        }
    }
    Ok(Whole { status: canned.status, headers, body: Bytes::from(canned.body.clone()) })
}

/// The target with the page's size in its query.
fn repaged(target: &str, paging: &Paging) -> String {
    let (Some(name), Some((path, query))) = (&paging.query, target.split_once('?')) else {
        return target.to_owned();
    };
    let is_size = |pair: &&str| pair.split('=').next() == Some(name.as_str());
    if !query.split('&').any(|pair| is_size(&pair)) {
        return target.to_owned();
    }
    let kept: Vec<&str> = query.split('&').filter(|pair| !is_size(pair)).collect();
    format!("{path}?{}&{name}={}", kept.join("&"), paging.size)
}

/// Answers that no cloud gives.
pub(crate) fn canned(status: u16, headers: &[(&str, &str)], body: &str) -> Canned {
    let headers: BTreeMap<String, String> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Canned { status, headers, body: body.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listings_get_other_pages() {
        let paging = Paging { machines: 5, query: Some("limit".to_owned()), size: 2 };
        assert_eq!(repaged("/v1/vms?a=1&limit=200&b=2", &paging), "/v1/vms?a=1&b=2&limit=2");
        assert_eq!(repaged("/v1/vms?a=1", &paging), "/v1/vms?a=1");
        assert_eq!(repaged("/v1/vms", &paging), "/v1/vms");
    }
}

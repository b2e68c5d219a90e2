//! The HTTP of one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use jiff::Timestamp;
use machinist_core::driver::error::Sent;
use machinist_core::value::id::PluginName;
use tokio::time::{Instant, timeout_at};
use tracing::{debug, warn};
use wasmtime_wasi_http::{Error as WasiError, RequestOptions, WasiBody, WasiHttpHooks};

use super::connection::deliver::{Times, deliver};
use super::credentials::{CredentialError, FoundCredential};
use super::failure::{Failure, Reason};
use super::listen::Asked;
use super::message::outgoing::{Outgoing, without_connection_headers};
use super::message::response::{ResponseLimits, hand_back};
use super::message::substitute::{Substituted, substitute};
use super::message::synthetic::Synthetic;
use super::metrics::{PluginMetrics, Wait};
use super::throttle::{CloudAccount, Passage, Who, clock_skew_seconds};
use super::{EgressState, RefusalNotice};
use crate::auth::{AuthGrant, Holder, MARK, Mark, Unauthenticated};
use crate::grants::PLACEHOLDER_PREFIX;
use crate::grants::{EgressDecision, EgressRule, Grants, is_range};
use crate::resources::budget::{Full, MemoryAccount, Taken};
use crate::resources::seat::Seat;
use crate::target::{Host, RequestTarget};
use crate::vault::Vault;

/// Enough for the largest user data of any cloud in any encoding.
const REQUEST_KIB: u64 = 1024;
/// A page of a large listing.
const RESPONSE_KIB: u64 = 4 * 1024;
/// A page, its details, and some polling.
const REQUESTS_PER_CALL: u64 = 100;
/// Buffers of a connection and heads, of each request on its way.
const REQUEST_BYTES: u64 = 64 * 1024;
/// The length of a URL in a notice.
const TARGET_CHARACTERS: usize = 256;

/// Everything beyond the answer itself that a future of the hooks gives.
type RequestIo = Box<dyn Future<Output = Result<(), WasiError>> + Send>;

/// The hooks of one call. A clone belongs to the same call. Running requests outlive it only as long as their futures
/// do.
#[derive(Clone)]
pub struct Session(Arc<Call>);

/// The state that all requests of one call share.
pub(super) struct Call {
    pub(super) egress: Arc<EgressState>,
    pub(super) plugin: PluginName,
    pub(super) grants: Arc<Grants>,
    pub(super) vault: Vault,
    pub(super) deadline: Instant,
    pub(super) metrics: PluginMetrics,
    /// The place that the call holds; `None` for one that holds none.
    seat: Option<Arc<Seat>>,
    memory: MemoryAccount,
    requests: AtomicU64,
    refusals: AtomicU64,
    has_sent: AtomicBool,
}

impl Session {
    pub(super) fn new(
        egress: Arc<EgressState>,
        plugin: PluginName,
        grants: Arc<Grants>,
        vault: Vault,
        deadline: Instant,
        (seat, memory): (Option<Arc<Seat>>, MemoryAccount),
    ) -> Self {
        let metrics = egress.metrics.of(&plugin);
        Self(Arc::new(Call {
            egress,
            plugin,
            grants,
            vault,
            deadline,
            metrics,
            seat,
            memory,
            requests: AtomicU64::new(0),
            refusals: AtomicU64::new(0),
            has_sent: AtomicBool::new(false),
        }))
    }

    /// Returns the number of requests of the component, refused ones included.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Those of them that were refused.
    pub fn refusals(&self) -> u64 {
        self.0.refusals.load(Ordering::Relaxed)
    }

    /// Whether the grants let a shadow read this of the cloud.
    pub(crate) fn may_read(&self, request: &http::request::Parts, body: &[u8]) -> bool {
        let call = &self.0;
        let Ok(target) = RequestTarget::new(&request.method, &request.uri) else { return false };
        // A read has no body, and some servers take one for parameters.
        body.is_empty() && {
            let has_credentials = has_credentials(request, &call.vault);
            let mut reads = call.grants.shadow_reads().iter();
            reads.any(|read| read.lets_pass(&target, &request.headers, has_credentials))
        }
    }

    /// Whether a request of the component has left the host, or was about to.
    pub fn sent(&self) -> Sent {
        if self.0.has_sent.load(Ordering::Relaxed) { Sent::Perhaps } else { Sent::Nothing }
    }

    /// Sends one request of the component; `send_request` of the hooks does nothing else.
    pub fn send(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> impl Future<Output = Result<Response<WasiBody>, WasiError>> + Send + use<> {
        let call = self.0.clone();
        async move { call.send(request, options).await.map_err(Failure::into_wasi) }
    }
}

impl WasiHttpHooks for Session {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: RequestIo,
    ) -> Box<dyn Future<Output = Result<(Response<WasiBody>, RequestIo), WasiError>> + Send> {
        let answer = self.send(request, options);
        Box::new(async move { Ok((answer.await?, Box::new(std::future::ready(Ok(()))) as RequestIo)) })
    }
}

impl Call {
    async fn send(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Response<WasiBody>, Failure> {
        let tally = Tally { metrics: &self.metrics, started: Instant::now(), outcome: "dropped" };
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let answer = self.exchange(request, options).await;
        match &answer {
            Ok(response) => tally.ended(class_of(response.status())),
            Err(failure) => {
                tally.ended(failure.name());
                self.note(failure, &method, &uri);
            }
        }
        answer
    }

    async fn exchange(
        &self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Response<WasiBody>, Failure> {
        self.count_request()?;
        let (mut parts, body) = request.into_parts();
        let target =
            RequestTarget::new(&parts.method, &parts.uri).map_err(|_| Failure::Refused(Reason::Target))?;
        self.judge(&target)?;
        let memory = self.memory.take(REQUEST_BYTES).map_err(no_memory)?;
        let marked = self.marked(&mut parts.headers, target.host())?;
        let body = self.collect(body).await?;
        let headers = self.allowed_headers(parts.headers);
        let outgoing = Outgoing { target, headers, body };
        let rule = self.judge_whole(&outgoing)?;
        let mut filled = substitute(outgoing, &self.grants, &self.vault).map_err(Failure::Refused)?;
        if !filled.used.is_empty() {
            // Another body than the one that was collected.
            let taken = self.memory.take(bytes_of(filled.outgoing.body.len())).map_err(no_memory)?;
            filled.outgoing.body = taken.tied_to(filled.outgoing.body);
        }
        match self.on_the_way(filled, marked, rule, (options, memory)).await {
            Ok(response) => Ok(response),
            Err(CredentialError::Answer(answer) | CredentialError::Throttled(answer)) => {
                Ok(answer.hand_back(self.vault.scrubber()))
            }
            Err(CredentialError::Failure(failure)) => Err(failure),
        }
    }

    /// Finishes a request that is complete: credential, turn, signature, sending. `Throttled` and `Answer` are answers
    /// of the host itself.
    async fn on_the_way(
        &self,
        filled: Substituted,
        marked: Option<(Mark, &AuthGrant)>,
        rule: &EgressRule,
        (options, memory): (Option<RequestOptions>, Taken),
    ) -> Result<Response<WasiBody>, CredentialError> {
        let Substituted { mut outgoing, used } = filled;
        let signer = match &marked {
            Some((mark, grant)) => Some((mark, self.find_credential(mark, grant, options).await?)),
            None => None,
        };
        let who = match &signer {
            Some((_, found)) => found.who(),
            None => match self.vault.digest(&used) {
                Some(digest) => Who::Holder(Holder::Digest(digest)),
                None => Who::Plugin(self.plugin.clone()),
            },
        };
        let account = CloudAccount::new(who, &outgoing.target);
        self.turn(&account, outgoing.target.host()).await.map_err(CredentialError::Throttled)?;
        // Signed when it is sent: a signature grows old while it waits.
        let now = (self.egress.settings.clock)();
        if let Some((mark, found)) = &signer {
            self.authenticate(&mut outgoing, mark, found, now)?;
        }
        let cached = signer.as_ref().and_then(|(_, found)| found.cached());
        let tls = signer.as_ref().and_then(|(_, found)| found.tls());
        let client = self.egress.pool.client(&self.plugin, &self.grants, rule.addresses(), tls)?;
        let (times, sent_at) = (Times::new(options, &self.egress.settings, self.deadline), Instant::now());
        self.metrics.sent(outgoing.body.len());
        self.has_sent.store(true, Ordering::Relaxed);
        let response = deliver(&client, &outgoing, times).await?;
        let (status, now) = (response.status(), (self.egress.settings.clock)());
        let asked =
            Asked { egress: self.egress.clone(), metrics: self.metrics.clone(), account, sent_at, cached };
        let is_refusal = status.is_client_error() || status.is_server_error();
        let skew =
            if is_refusal && signer.is_some() { clock_skew_seconds(response.headers(), now) } else { None };
        let terms = ResponseLimits {
            listener: asked.listen(status, response.headers(), now),
            clock_skew_seconds: skew,
            scrubber: self.vault.scrubber(),
            limit_bytes: self.grants.limits().response_kib.unwrap_or(RESPONSE_KIB).saturating_mul(1024),
            between_bytes: times.between_bytes,
            deadline: self.deadline,
            metrics: self.metrics.clone(),
            memory,
        };
        Ok(hand_back(response, outgoing.target.method(), terms)?)
    }

    /// Takes the mark off, and finds the grant under which the request is authenticated.
    fn marked(&self, headers: &mut HeaderMap, host: &Host) -> Result<Option<(Mark, &AuthGrant)>, Failure> {
        let refused = |reason| Failure::Refused(Reason::Auth(reason));
        let Some(mark) = Mark::take(headers).map_err(refused)? else { return Ok(None) };
        let grant = mark.grant(self.grants.auth(), host, headers).map_err(refused)?;
        Ok(Some((mark, grant)))
    }

    /// Waits until the account may send one more. An `Err` is an answer for the component.
    pub(super) async fn turn(&self, account: &CloudAccount, host: &Host) -> Result<(), Synthetic> {
        let throttle = &self.egress.throttle;
        if let Some(class) = self.seat.as_ref().and_then(|seat| seat.class.clone()) {
            throttle.learn(&(self.plugin.clone(), class), account);
        }
        match throttle.turn(account, self.seat.as_deref(), self.deadline).await {
            Ok(Passage::Straight) => Ok(()),
            Ok(Passage::Waited(time)) => {
                self.metrics.waited(Wait::Waited(time));
                Ok(())
            }
            Err(timeout) => {
                self.metrics.waited(if timeout.is_crowded { Wait::Crowded } else { Wait::Late });
                Err(Synthetic::throttled(host, timeout.retry_after))
            }
        }
    }

    fn authenticate(
        &self,
        outgoing: &mut Outgoing,
        mark: &Mark,
        found: &FoundCredential,
        now: Timestamp,
    ) -> Result<(), Failure> {
        let Outgoing { target, headers, body } = outgoing;
        let request = Unauthenticated { target, headers, body };
        let signature = mark
            .authenticate(found.credential(), request, now)
            .map_err(|reason| Failure::Refused(Reason::Auth(reason)))?;
        if let Some(signature) = signature {
            self.vault.hide_signature(&signature);
        }
        Ok(())
    }

    /// Refused ones count too, or a component could probe for ever.
    fn count_request(&self) -> Result<(), Failure> {
        let limit = self.grants.limits().requests_per_call.unwrap_or(REQUESTS_PER_CALL);
        if self.requests.fetch_add(1, Ordering::Relaxed) < limit {
            Ok(())
        } else {
            Err(Failure::Refused(Reason::RequestCount))
        }
    }

    /// Before the body is there: most requests that are refused are refused for their target.
    fn judge(&self, target: &RequestTarget) -> Result<(), Failure> {
        match self.grants.allows(target) {
            EgressDecision::Allowed(_) => Ok(()),
            EgressDecision::Denied(denial) => Err(Failure::Refused(Reason::Grant(denial))),
        }
    }

    fn judge_whole(&self, outgoing: &Outgoing) -> Result<&EgressRule, Failure> {
        match self.grants.allows_whole(&outgoing.target, &outgoing.headers, &outgoing.body) {
            EgressDecision::Allowed(rule) => Ok(rule),
            EgressDecision::Denied(denial) => Err(Failure::Refused(Reason::Grant(denial))),
        }
    }

    /// All of it, because its places and its length must be known, and because one segment is faster than two.
    async fn collect(&self, body: WasiBody) -> Result<Bytes, Failure> {
        let limit_bytes = self.grants.limits().request_kib.unwrap_or(REQUEST_KIB).saturating_mul(1024);
        match timeout_at(self.deadline, collected(body, limit_bytes, self.memory.nothing())).await {
            Ok(collected) => collected,
            Err(_elapsed) => Err(Failure::RequestBody),
        }
    }

    /// A component that holds secrets gets whole, uncompressed answers: what is cut or packed cannot be scrubbed.
    fn allowed_headers(&self, headers: HeaderMap) -> HeaderMap {
        let mut headers = without_connection_headers(headers);
        if !self.vault.is_idle() || self.vault.may_learn() {
            let ranges: Vec<_> = headers.keys().filter(|name| is_range(name)).cloned().collect();
            for name in ranges {
                headers.remove(name);
            }
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        headers
    }

    fn note(&self, failure: &Failure, method: &Method, uri: &Uri) {
        let target = self.describe(method, uri);
        let Some(reason) = failure.refusal() else {
            debug!(plugin = %self.plugin, target, error = failure as &dyn std::error::Error, "a request of a plugin failed");
            return;
        };
        warn!(plugin = %self.plugin, target, reason = reason.name(), "a request of a plugin was refused");
        self.refusals.fetch_add(1, Ordering::Relaxed);
        self.metrics.refused(reason);
        if let Some(listener) = &self.egress.settings.on_refusal {
            listener(&RefusalNotice { plugin: self.plugin.clone(), reason, target });
        }
    }

    /// Method and URL without user information, query and secrets.
    fn describe(&self, method: &Method, uri: &Uri) -> String {
        let (scheme, host) = (uri.scheme_str().unwrap_or("?"), uri.host().unwrap_or("?"));
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let text = format!("{method} {scheme}://{host}{port}{}", uri.path());
        self.vault.scrub_text(&text).chars().take(TARGET_CHARACTERS).collect()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.metrics.revealed(self.vault.reveals());
        self.metrics.withheld(self.vault.refusals());
    }
}

/// Counts a request also when its future is dropped half-way.
struct Tally<'a> {
    metrics: &'a PluginMetrics,
    started: Instant,
    outcome: &'static str,
}

impl Tally<'_> {
    fn ended(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Tally<'_> {
    fn drop(&mut self) {
        self.metrics.ended(self.outcome, self.started.elapsed());
    }
}

/// Whether a request would be authenticated, or holds something that is secret.
fn has_credentials(request: &http::request::Parts, vault: &Vault) -> bool {
    let is_secret = |text: &str| {
        text.contains(PLACEHOLDER_PREFIX) || matches!(vault.scrub_text(text), std::borrow::Cow::Owned(_))
    };
    let of_header = |(name, value): (&http::HeaderName, &HeaderValue)| {
        [MARK, AUTHORIZATION, COOKIE].contains(name) || is_secret(&String::from_utf8_lossy(value.as_bytes()))
    };
    is_secret(&request.uri.to_string()) || request.headers.iter().any(of_header)
}

fn class_of(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

/// Collects a body as long as it is within its limit and there is memory for it.
async fn collected(mut body: WasiBody, limit_bytes: u64, mut taken: Taken) -> Result<Bytes, Failure> {
    let mut collected = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame.map_err(|_| Failure::RequestBody)?.into_data() else { continue };
        let bytes = bytes_of(collected.len()).saturating_add(bytes_of(piece.len()));
        if bytes > limit_bytes {
            return Err(Failure::RequestSize { limit_bytes });
        }
        taken.grow_to(bytes).map_err(no_memory)?;
        collected.extend_from_slice(&piece);
        // It grows by more than what comes.
        taken.grow_to(bytes_of(collected.capacity())).map_err(no_memory)?;
    }
    Ok(taken.tied_to(collected.freeze()))
}

fn bytes_of(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn no_memory(_full: Full) -> Failure {
    Failure::Refused(Reason::Memory)
}

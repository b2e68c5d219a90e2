//! Probes the API servers and the freeze request of operators, and sets the gate.

use std::time::Duration;

use futures::future::OptionFuture;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::{Api, Resource};
use machinist_api::{Machine, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Severity;
use machinist_core::safety::freeze::{CheckInterval, Freeze, FreezeChange, ServerCheck, ServerState};
use machinist_core::scheduling::gate::{FREEZE_REQUEST, FreezeReason};
use machinist_core::scheduling::retry;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{info, warn};

use crate::cache::{Refresh, WatchedKind, backoff};
use crate::client::errors::{act_error, within_deadline};
use crate::client::field_manager::{LED_UNTIL, PROBE_NAME};
use crate::client::one_object::OneObject;
use crate::context::GateState;
use crate::events::About;
use crate::metrics::QueueName;

use super::SafetyWatch;
use super::mark_claim::{Holder, MarkClaim};

/// A freeze request of an operator is noticed within this time, where the account may not watch it; else at once.
const REQUEST_PERIOD: Duration = Duration::from_secs(10);

/// The longest pause until the holder of the mark is asked for, which knows itself when that is due.
const CLAIM_PERIOD: Duration = Duration::from_secs(15);

/// How long one answer may take at most.
const LONGEST_ANSWER: SignedDuration = SignedDuration::from_secs(10);

/// The shortest time that an API server gets for an answer.
const SHORTEST_ANSWER: SignedDuration = SignedDuration::from_secs(1);

/// The longest pause until the Lease is asked for again, when it could not be read.
const LEASE_PAUSE: Duration = Duration::from_secs(1);

/// Opens and shuts the gate, for as long as it is not aborted.
pub(super) async fn keep_gate(watch: SafetyWatch, gate_state: watch::Sender<GateState>, refresh: Refresh) {
    let settings = &watch.tenant.settings;
    let pace = CheckInterval { period: settings.api_check_period, timeout: settings.api_check_timeout };
    let now = || watch.context.clock.now();
    let mut leads = watch.context.leads.clone();
    let mut freeze = Freeze::starting(now());
    let mut request = FreezeRequest::new(&watch);
    let mut claim = MarkClaim::default();
    let mut led_from: Option<(Timestamp, Instant)> = None;
    loop {
        // Read before the probe: a process that begins to lead meanwhile probes again, for the mark, before anything is
        // done.
        let is_leading = *leads.borrow_and_update();
        let began = now();
        let (holder, look) =
            tokio::join!(claim.holder(&watch, is_leading), look(&watch, &refresh, &mut request, pace));
        watch.metrics.queue.round(QueueName::SafetyApiServer, now().duration_since(began));
        let look = claimed(look, holder);
        let change = freeze.observe(look, pace, now());
        if change == FreezeChange::CatchUp {
            info!("the API servers answer again: listing everything before dangerous work goes on");
            refresh.ask();
        }
        if is_leading && led_from.is_none() {
            led_from = Some((whole_seconds(now()), Instant::now()));
            if settings.controllers.machines && was_absent(&watch, pace).await {
                info!("nobody has looked after the Machines for a while: health clocks start anew");
                freeze.was_absent(now());
            }
        }
        show(&gate_state, &freeze, led_from);
        report(&watch, change);
        let next = freeze.next_check(pace);
        let end = Instant::now() + next.unsigned_abs();
        while Instant::now() < end {
            let pause = (end - Instant::now()).min(CLAIM_PERIOD);
            tokio::select! {
                biased;
                changed = leads.changed() => match changed {
                    Ok(()) if *leads.borrow() => break,
                    Ok(()) => {}
                    // The tenant is ending.
                    Err(_) => return,
                },
                () = refresh.done(), if freeze.is_catching_up() => break,
                is_requested = request.changed() => match is_requested == look.is_requested {
                    true => continue,
                    false => break,
                },
                () = tokio::time::sleep(pause) => {}
            }
            if Instant::now() < end && claim.holder(&watch, is_leading).await != holder {
                break;
            }
        }
    }
}

fn show(gate_state: &watch::Sender<GateState>, freeze: &Freeze, led_from: Option<(Timestamp, Instant)>) {
    let is_known = led_from.is_some() && !freeze.is_starting();
    let wanted = GateState {
        gate: freeze.gate(),
        thawed_at: freeze.thawed_at(),
        watched_since: led_from.map(|(at, _)| at),
        leads_from: led_from.map(|(_, instant)| instant),
        is_known,
    };
    gate_state.send_if_modified(|shown| std::mem::replace(shown, wanted) != wanted);
}

async fn look(
    watch: &SafetyWatch,
    refresh: &Refresh,
    request: &mut FreezeRequest,
    pace: CheckInterval,
) -> ServerCheck {
    let context = &watch.context;
    let machines: Api<Machine> = Api::namespaced(context.control.clone(), &watch.namespace);
    let nodes: Option<Api<Node>> = context.target.clone().map(Api::all);
    let deadline = (pace.timeout / 2).clamp(SHORTEST_ANSWER, LONGEST_ANSWER);
    let control = async {
        // One request for both, where the account may read the ConfigMap.
        match request.ask(deadline).await {
            Some(state) => state,
            None => ask(&machines, PROBE_NAME, deadline).await.0,
        }
    };
    let target =
        OptionFuture::from(nodes.as_ref().map(|nodes| async { ask(nodes, PROBE_NAME, deadline).await.0 }));
    let (control, target) = tokio::join!(control, target);
    let is_requested = request.is_there;
    ServerCheck { control, target, is_requested, is_mark_held: false, is_caught_up: refresh.is_done() }
}

/// A target cluster that does not say who holds the mark counts as one that does not answer.
fn claimed(look: ServerCheck, holder: Holder) -> ServerCheck {
    match holder {
        Holder::Own => look,
        Holder::Another => ServerCheck { is_mark_held: true, ..look },
        Holder::Unknown => ServerCheck { target: look.target.map(|_| ServerState::Down), ..look },
    }
}

/// Asks for an object, and returns the answer beside the state of the server. An API server that knows its storage says
/// of an object that it is there, or that it is not. One that cannot reach it, a balancer in front of nothing, or a
/// server that does not know us any more, does not: of what happens there we see nothing.
async fn ask<T>(api: &Api<T>, name: &str, deadline: SignedDuration) -> (ServerState, kube::Result<Option<T>>)
where
    T: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let silent = || Err(kube::Error::Service("no answer in time".into()));
    let answer = tokio::time::timeout(deadline.unsigned_abs(), api.get(name)).await;
    match answer.unwrap_or_else(|_| silent()) {
        Ok(object) => (ServerState::Up, Ok(Some(object))),
        Err(kube::Error::Api(status)) if status.code == 404 && status.reason == "NotFound" => {
            (ServerState::Up, Ok(None))
        }
        // It asks for a pause, so it is reachable.
        Err(kube::Error::Api(status)) if status.code == 429 => {
            (ServerState::Up, Err(kube::Error::Api(status)))
        }
        Err(error) => (ServerState::Down, Err(error)),
    }
}

/// The operator's ConfigMap, as it was seen last.
struct FreezeRequest {
    object: OneObject<ConfigMap>,
    /// The source of random pauses of its watch.
    seed: [u8; 32],
    is_there: bool,
    has_warned: bool,
}

impl FreezeRequest {
    fn new(watch: &SafetyWatch) -> Self {
        let api = Api::namespaced(watch.context.control.clone(), &watch.namespace);
        let object = OneObject::new(api, FREEZE_REQUEST, REQUEST_PERIOD);
        Self { object, seed: watch.seed, is_there: false, has_warned: false }
    }

    /// Reads it, and says whether the control cluster answers: a watch that broke without a word may not have shown it.
    /// `None`: the account may not read it, so the answer says nothing of the server.
    async fn ask(&mut self, deadline: SignedDuration) -> Option<ServerState> {
        let (state, answer) = ask(self.object.api(), FREEZE_REQUEST, deadline).await;
        let answer = answer.map_err(|error| act_error(&error));
        let is_denied = matches!(answer, Err(ActError::Denied { .. }));
        self.note(answer);
        (!is_denied).then_some(state)
    }

    /// Waits for the next answer.
    async fn changed(&mut self) -> bool {
        let seed = self.seed;
        let answer = self.object.next(|| backoff(seed, WatchedKind::FreezeRequest)).await;
        self.note(answer)
    }

    /// If it cannot be read, it stays as it was.
    fn note(&mut self, answer: Result<Option<ConfigMap>, ActError>) -> bool {
        match answer {
            Ok(found) => self.is_there = found.is_some(),
            Err(error @ ActError::Denied { .. }) if !self.has_warned => {
                self.has_warned = true;
                warn!(error = %error, "ConfigMap {FREEZE_REQUEST} cannot be read: nobody can ask to pause everything");
            }
            Err(_) => {}
        }
        self.is_there
    }
}

/// Rounds as objects store times.
fn whole_seconds(at: Timestamp) -> Timestamp {
    Timestamp::from_second(at.as_second()).unwrap_or(at)
}

/// True unless the Lease proves that somebody led until shortly before this process: else it may have been an outage,
/// and what statuses say is older than it.
async fn was_absent(watch: &SafetyWatch, pace: CheckInterval) -> bool {
    let api: Api<Lease> = Api::namespaced(watch.context.control.clone(), &watch.namespace);
    let mut failures = 0;
    loop {
        match within_deadline(api.get_opt(names::leases::MACHINE_CONTROLLER)).await {
            Ok(lease) => return lease.is_some_and(|lease| shows_absence(&lease, &watch.identity, pace)),
            Err(ActError::Denied { .. } | ActError::Gone) => return false,
            Err(_) if !*watch.context.leads.borrow() => return false,
            Err(_) => {
                failures += 1;
                tokio::time::sleep(retry::soon(failures).unsigned_abs().min(LEASE_PAUSE)).await;
            }
        }
    }
}

fn shows_absence(lease: &Lease, identity: &str, pace: CheckInterval) -> bool {
    let Some(spec) = &lease.spec else { return false };
    let annotations = lease.metadata.annotations.as_ref();
    let led_until: Option<Timestamp> =
        annotations.and_then(|all| all.get(LED_UNTIL)).and_then(|text| text.parse().ok());
    let is_ours = spec.holder_identity.as_deref() == Some(identity);
    let was_led = led_until
        .zip(spec.acquire_time.as_ref())
        .is_some_and(|(led_until, acquired)| acquired.0.duration_since(led_until) <= pace.timeout);
    is_ours && !was_led
}

fn report(watch: &SafetyWatch, change: FreezeChange) {
    let now = watch.context.clock.now();
    match change {
        FreezeChange::None | FreezeChange::CatchUp => {}
        FreezeChange::Froze { reason } => {
            let sentence = reason.sentence();
            warn!(reason = reason.name(), "dangerous work is held");
            let message = format!(
                "no VM is made, no Machine is failed and no VM without a Machine is deleted: {sentence}"
            );
            watch.events.write(about(watch, reason), "Frozen".to_owned(), &message, Severity::Warning, now);
        }
        FreezeChange::Thawed { since, reason } => {
            info!(%since, reason = reason.name(), "dangerous work goes on");
            let message = format!(
                "work goes on that was held since {}; health clocks of Machines start anew",
                since.round(jiff::Unit::Second).unwrap_or(since)
            );
            watch.events.write(about(watch, reason), "Thawed".to_owned(), &message, Severity::Normal, now);
        }
    }
}

/// Returns the object of the Event: the freeze request; else the Lease, since operators find the leader there.
fn about(watch: &SafetyWatch, reason: FreezeReason) -> About {
    let (api_version, kind, name) = match reason {
        FreezeReason::Requested => ("v1", "ConfigMap", FREEZE_REQUEST),
        FreezeReason::ControlClusterUnreachable
        | FreezeReason::TargetClusterUnreachable
        | FreezeReason::ClusterMarkHeld
        | FreezeReason::CatchingUp => {
            let lease = if watch.tenant.settings.controllers.machines {
                names::leases::MACHINE_CONTROLLER
            } else {
                names::leases::MACHINE_CONTROLLER_MANAGER
            };
            ("coordination.k8s.io/v1", "Lease", lease)
        }
    };
    About {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: watch.namespace.clone(),
        name: name.to_owned(),
        uid: String::new(),
    }
}

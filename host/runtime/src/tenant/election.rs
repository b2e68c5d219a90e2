//! Leadership: the Lease of each binary of machine-controller-manager whose controllers run here, so that the same controllers
//! never run twice.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use machinist_core::scheduling::lease::{Election, LeaseAction, LeaseFact, LeaseTimes, Moment, Seat};
use machinist_core::scheduling::retry;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::client::field_manager::LED_UNTIL;
use crate::context::clock::Clock;
pub use crate::context::settings::LeaseNames;
use crate::metrics::Metrics;

/// How a candidate takes part.
pub struct Candidate {
    /// The control cluster.
    pub client: Client,
    /// Where the Leases are.
    pub namespace: String,
    /// Which of them. Leader is who holds all.
    pub leases: LeaseNames,
    /// Unique for this start of this process.
    pub identity: String,
    /// The times.
    pub times: LeaseTimes,
    /// The clock.
    pub clock: Clock,
}

/// Takes part until `stop` or until leadership was held and is lost; tells through `leads`. Gives the Leases back at the end.
pub async fn take_part(
    candidate: Candidate,
    leads: watch::Sender<bool>,
    metrics: Arc<Metrics>,
    stop: CancellationToken,
) {
    let started = Instant::now();
    let clock = candidate.clock.clone();
    let moment = move || Moment {
        monotonic: SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX),
        wall: clock.now(),
    };
    let api = Api::namespaced(candidate.client.clone(), &candidate.namespace);
    let record = |name| Record { name, api: api.clone(), seen: None, renewed_at: None, has_failed: false };
    let (first, second) = match candidate.leases {
        LeaseNames::One(name) => (record(name), None),
        LeaseNames::Both(first, second) => (record(first), Some(record(second))),
    };
    let election = || Election::new(candidate.identity.clone(), candidate.times);
    let mut records = Records {
        seat: Seat { first: election(), second: second.is_some().then(election) },
        first,
        second,
        retry: candidate.times.retry,
        failures: 0,
        renew_deadline: candidate.times.renew_deadline.unsigned_abs(),
    };
    let set_leading = |leading: bool| {
        leads.send_replace(leading);
        metrics.leads(leading);
    };
    loop {
        let pause = match records.held_until().filter(|_| *leads.borrow()) {
            // Requests may take longer than a claim lasts, and it ends when it ends.
            Some(until) => tokio::time::timeout_at(until, records.reconcile(&moment)).await.unwrap_or(SOON),
            None => records.reconcile(&moment).await,
        };
        // Read before the match: the guard of the watch must be gone when it is told.
        let led = *leads.borrow();
        match (led, records.seat.leads(moment())) {
            (true, false) => {
                warn!("leadership lost");
                set_leading(false);
                return;
            }
            (false, true) => {
                info!(identity = candidate.identity, "leading");
                set_leading(true);
            }
            (true, true) | (false, false) => {}
        }
        let next = Instant::now() + pause.unsigned_abs();
        // A claim ends when it ends, also in a pause.
        let next = records
            .held_until()
            .filter(|until| *until > Instant::now())
            .map_or(next, |until| next.min(until));
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = tokio::time::sleep_until(next) => {}
        }
    }
    set_leading(false);
    records.release(&moment).await;
}

/// One request, below the renewal deadline.
const REQUEST: Duration = Duration::from_secs(5);

/// The shortest pause between two turns, after one that changed something.
const SOON: SignedDuration = SignedDuration::from_millis(20);

/// The Leases, as decided and as they are on the server.
struct Records {
    seat: Seat,
    first: Record,
    /// There where the seat has a second one.
    second: Option<Record>,
    retry: SignedDuration,
    /// Turns in a row in which a request had no good answer.
    failures: u32,
    renew_deadline: Duration,
}

impl Records {
    /// When the first of all claims ends, should no request be answered any more.
    fn held_until(&self) -> Option<Instant> {
        let second = self.second.as_ref().and_then(|second| second.renewed_at);
        let renewed_at = self.first.renewed_at.into_iter().chain(second).min()?;
        Some(renewed_at + self.renew_deadline)
    }

    fn both(&mut self) -> impl Iterator<Item = (&mut Election, &mut Record)> {
        let first = (&mut self.seat.first, &mut self.first);
        std::iter::once(first).chain(self.seat.second.as_mut().zip(self.second.as_mut()))
    }

    /// Looks at what is not held, does what is decided about each, and says when to come again.
    async fn reconcile(&mut self, moment: &impl Fn() -> Moment) -> SignedDuration {
        let retry = self.retry;
        let mut can_be_read = true;
        for (election, record) in self.both() {
            // Without a look nothing is decided: what cannot be read may be another's.
            if can_be_read && !election.holds(moment()) {
                can_be_read = record.look(election, moment).await;
            }
        }
        if !can_be_read {
            return self.failed();
        }
        let actions = self.seat.decide(moment());
        let mut again = retry;
        let decided = std::iter::once(actions.first).chain(actions.second);
        for ((election, record), action) in self.both().zip(decided) {
            again = again.min(record.perform(action, election, moment).await);
        }
        if self.first.take_failure() | self.second.as_mut().is_some_and(Record::take_failure) {
            return self.failed();
        }
        self.failures = 0;
        again.max(SOON)
    }

    /// Quick at first, since nothing is done without a leader, and not quicker than others are asked later.
    fn failed(&mut self) -> SignedDuration {
        self.failures = self.failures.saturating_add(1);
        retry::soon(self.failures).min(self.retry)
    }

    async fn release(&mut self, moment: &impl Fn() -> Moment) {
        if let (Some(election), Some(record)) = (&mut self.seat.second, &mut self.second) {
            record.perform(LeaseAction::Release, election, moment).await;
        }
        self.first.perform(LeaseAction::Release, &mut self.seat.first, moment).await;
    }
}

/// A Lease on the server.
struct Record {
    name: &'static str,
    api: Api<Lease>,
    /// As it was read or written last.
    seen: Option<Lease>,
    /// The last claim of ours that was accepted was sent then.
    renewed_at: Option<Instant>,
    /// A write was refused or not answered.
    has_failed: bool,
}

impl Record {
    fn take_failure(&mut self) -> bool {
        std::mem::take(&mut self.has_failed)
    }

    /// Does it, and says when to come again.
    async fn perform(
        &mut self,
        action: LeaseAction,
        election: &mut Election,
        moment: &impl Fn() -> Moment,
    ) -> SignedDuration {
        match action {
            LeaseAction::Acquire { transitions } => {
                self.claim(election, transitions, moment).await;
                SOON
            }
            LeaseAction::Renew => {
                self.claim(election, election.transitions(), moment).await;
                SignedDuration::MAX
            }
            LeaseAction::Wait { delay } => delay,
            LeaseAction::Release => {
                if let Some(released) = election.released(moment()) {
                    self.write(&released).await;
                }
                election.gave_back();
                SignedDuration::MAX
            }
            LeaseAction::Lost => {
                election.gave_back();
                SignedDuration::MAX
            }
        }
    }

    async fn claim(&mut self, election: &mut Election, transitions: i32, moment: &impl Fn() -> Moment) {
        let (sent_at, sent) = (moment(), Instant::now());
        let claim = election.claim(transitions, sent_at);
        if self.write(&claim).await {
            election.wrote(claim, sent_at);
            self.renewed_at = Some(sent);
        } else {
            self.look(election, moment).await;
        }
    }

    /// True when it could be read.
    async fn look(&mut self, election: &mut Election, moment: &impl Fn() -> Moment) -> bool {
        match tokio::time::timeout(REQUEST, self.api.get_opt(self.name)).await {
            Ok(Ok(lease)) => {
                election.observed(lease.as_ref().map(fact), moment());
                self.seen = lease;
                true
            }
            Ok(Err(error)) => {
                warn!(lease = self.name, error = %error, "lease not readable");
                false
            }
            Err(_) => {
                warn!(lease = self.name, "lease not readable: no answer");
                false
            }
        }
    }

    /// Writes on the version that was seen, so that of several candidates one succeeds. True when it was accepted.
    async fn write(&mut self, fields: &LeaseFact) -> bool {
        match tokio::time::timeout(REQUEST, self.put(fields)).await {
            Ok(Ok(lease)) => {
                self.seen = Some(lease);
                return true;
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
            Ok(Err(error)) => {
                self.has_failed = true;
                warn!(lease = self.name, error = %error, "lease not written");
            }
            Err(_) => {
                self.has_failed = true;
                warn!(lease = self.name, "lease not written: no answer");
            }
        }
        false
    }

    async fn put(&self, fields: &LeaseFact) -> Result<Lease, kube::Error> {
        let acquired = match self.seen.as_ref().and_then(|seen| seen.spec.as_ref()) {
            Some(spec) if spec.holder_identity.as_deref() == Some(&fields.holder) => {
                spec.acquire_time.clone()
            }
            Some(_) | None => fields.renewed_at.map(MicroTime),
        };
        let spec = LeaseSpec {
            holder_identity: Some(fields.holder.clone()),
            lease_duration_seconds: i32::try_from(fields.duration.as_secs()).ok(),
            lease_transitions: Some(fields.transitions),
            renew_time: fields.renewed_at.map(MicroTime),
            acquire_time: acquired,
            ..LeaseSpec::default()
        };
        match &self.seen {
            Some(seen) => {
                let mut lease = Lease { metadata: seen.metadata.clone(), spec: Some(spec) };
                note_predecessor(&mut lease, seen);
                self.api.replace(self.name, &PostParams::default(), &lease).await
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.name.to_owned()), ..ObjectMeta::default() };
                self.api.create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await
            }
        }
    }
}

/// Who takes over notes until when somebody led, so that it can be told for how long nobody did.
fn note_predecessor(lease: &mut Lease, seen: &Lease) {
    let holder = |lease: &Lease| lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone());
    let renewed = seen.spec.as_ref().and_then(|spec| spec.renew_time.as_ref());
    let is_taken_over =
        holder(lease).is_some_and(|holder| !holder.is_empty()) && holder(lease) != holder(seen);
    if let Some(renewed) = renewed.filter(|_| is_taken_over) {
        let annotations = lease.metadata.annotations.get_or_insert_default();
        annotations.insert(LED_UNTIL.to_owned(), renewed.0.to_string());
    }
}

fn fact(lease: &Lease) -> LeaseFact {
    let spec = lease.spec.clone().unwrap_or_default();
    LeaseFact {
        holder: spec.holder_identity.unwrap_or_default(),
        transitions: spec.lease_transitions.unwrap_or_default(),
        duration: SignedDuration::from_secs(i64::from(spec.lease_duration_seconds.unwrap_or_default())),
        renewed_at: spec.renew_time.map(|time| time.0),
    }
}

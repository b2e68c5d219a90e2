//! Leadership: both of machine-controller-manager's Leases, so that the two never run side by side.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use machinist_core::lease::{Election, LeaseAction, LeaseFact, LeaseTimes, Moment};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::metrics::Metrics;

/// How a candidate takes part.
pub struct Candidate {
    /// The control cluster.
    pub client: Client,
    /// Where the Leases are.
    pub namespace: String,
    /// Their names. Leader is who holds all of them.
    pub names: [&'static str; 2],
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
    let api: Api<Lease> = Api::namespaced(candidate.client.clone(), &candidate.namespace);
    let mut seats: Vec<Seat> = candidate.names.iter().map(|name| Seat::new(name, &candidate)).collect();
    let moment = || Moment {
        monotonic: SignedDuration::try_from(started.elapsed()).unwrap_or(SignedDuration::MAX),
        wall: candidate.clock.now(),
    };
    loop {
        let mut pause = candidate.times.retry;
        let mut is_lost = false;
        for at in 0..seats.len() {
            // The second Lease is for whoever has the first: two candidates never hold one each for long.
            let may_acquire = seats.iter().take(at).all(|seat| seat.election.holds(moment()));
            let Some(seat) = seats.get_mut(at) else { continue };
            match seat.turn(&api, may_acquire, &moment).await {
                Turn::Goes(next) => pause = pause.min(next),
                Turn::Lost => is_lost = true,
            }
        }
        let led = *leads.borrow();
        let now_leads = !is_lost && seats.iter().all(|seat| seat.election.holds(moment()));
        if led && !now_leads {
            warn!("leadership lost");
            leads.send_replace(false);
            metrics.leads(false);
            return;
        }
        if !led && now_leads {
            info!(identity = candidate.identity, "leading");
            leads.send_replace(true);
            metrics.leads(true);
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(pause.max(SignedDuration::from_millis(50)).unsigned_abs()) => {}
        }
    }
    leads.send_replace(false);
    metrics.leads(false);
    for seat in &mut seats {
        seat.give_back(&api, moment()).await;
    }
}

/// One Lease of the candidate.
struct Seat {
    name: &'static str,
    election: Election,
    /// The record as it was read last.
    record: Option<Lease>,
    has_looked: bool,
}

enum Turn {
    /// Come back after this.
    Goes(SignedDuration),
    Lost,
}

/// One request, far below the renewal deadline.
const REQUEST: Duration = Duration::from_secs(5);

impl Seat {
    fn new(name: &'static str, candidate: &Candidate) -> Self {
        let election = Election::new(candidate.identity.clone(), candidate.times);
        Self { name, election, record: None, has_looked: false }
    }

    async fn turn(&mut self, api: &Api<Lease>, may_acquire: bool, moment: &impl Fn() -> Moment) -> Turn {
        if !self.has_looked || !self.election.holds(moment()) {
            self.look(api, moment).await;
        }
        if !self.has_looked {
            return Turn::Goes(SignedDuration::from_secs(2));
        }
        match self.election.decide(moment()) {
            LeaseAction::Acquire { transitions } if may_acquire => {
                self.write(api, transitions, moment).await;
                Turn::Goes(SignedDuration::from_millis(50))
            }
            LeaseAction::Acquire { .. } => Turn::Goes(SignedDuration::from_secs(2)),
            LeaseAction::Renew => {
                let transitions = self.election.transitions();
                self.write(api, transitions, moment).await;
                Turn::Goes(SignedDuration::from_secs(2))
            }
            LeaseAction::Wait { delay } => Turn::Goes(delay),
            LeaseAction::Release | LeaseAction::Lost => Turn::Lost,
        }
    }

    async fn look(&mut self, api: &Api<Lease>, moment: &impl Fn() -> Moment) {
        match tokio::time::timeout(REQUEST, api.get_opt(self.name)).await {
            Ok(Ok(lease)) => {
                self.election.observed(lease.as_ref().map(fact), moment());
                self.record = lease;
                self.has_looked = true;
            }
            Ok(Err(error)) => warn!(lease = self.name, error = %error, "lease not readable"),
            Err(_) => warn!(lease = self.name, "lease not readable: no answer"),
        }
    }

    /// Writes on the version that was read, so that of several candidates one succeeds.
    async fn write(&mut self, api: &Api<Lease>, transitions: i32, moment: &impl Fn() -> Moment) {
        let sent_at = moment();
        let claim = self.election.claim(transitions, sent_at);
        let written = tokio::time::timeout(REQUEST, self.put(api, &claim)).await;
        match written {
            Ok(Ok(lease)) => {
                self.record = Some(lease);
                self.election.wrote(claim, sent_at);
            }
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => self.look(api, moment).await,
            Ok(Err(error)) => warn!(lease = self.name, error = %error, "lease not written"),
            Err(_) => {
                warn!(lease = self.name, "lease not written: no answer");
                self.look(api, moment).await;
            }
        }
    }

    async fn put(&self, api: &Api<Lease>, claim: &LeaseFact) -> Result<Lease, kube::Error> {
        let acquired = match &self.record {
            Some(Lease { spec: Some(spec), .. })
                if spec.holder_identity.as_deref() == Some(&claim.holder) =>
            {
                spec.acquire_time.clone()
            }
            _ => claim.renewed_at.map(MicroTime),
        };
        let spec = LeaseSpec {
            holder_identity: Some(claim.holder.clone()),
            lease_duration_seconds: i32::try_from(claim.duration.as_secs()).ok(),
            lease_transitions: Some(claim.transitions),
            renew_time: claim.renewed_at.map(MicroTime),
            acquire_time: acquired,
            ..LeaseSpec::default()
        };
        match &self.record {
            Some(record) => {
                let lease = Lease { metadata: record.metadata.clone(), spec: Some(spec) };
                api.replace(self.name, &PostParams::default(), &lease).await
            }
            None => {
                let metadata = ObjectMeta { name: Some(self.name.to_owned()), ..ObjectMeta::default() };
                api.create(&PostParams::default(), &Lease { metadata, spec: Some(spec) }).await
            }
        }
    }

    async fn give_back(&mut self, api: &Api<Lease>, now: Moment) {
        if let Some(released) = self.election.released(now) {
            match tokio::time::timeout(REQUEST, self.put(api, &released)).await {
                Ok(Ok(_)) => self.election.gave_back(),
                Ok(Err(error)) => warn!(lease = self.name, error = %error, "lease not given back"),
                Err(_) => warn!(lease = self.name, "lease not given back: no answer"),
            }
        }
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

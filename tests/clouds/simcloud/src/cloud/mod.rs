//! The model: all of the cloud's state, changed by calls and by time alone.
//!
//! | module | what it does |
//! | --- | --- |
//! | `directory` | the callers, and their permissions |
//! | `create` | creates a VM: at most one for a key, and only within quota and capacity |
//! | `act` | reads and changes VMs that exist |
//! | `vm`, `vms` | a VM and its console; all VMs, with indexes and counts |
//! | `volumes` | volumes, whose reads do not lag |
//! | `lifecycle` | the effects of time on VMs |
//! | `keys` | idempotency keys: the request and the result of each |
//! | `paging` | cursors and page sizes |
//! | `faults`, `fault_book` | rules of faults as the admin API has them, and the faults of each call |
//! | `journal` | the deltas of the cloud, for readers that follow it |
//! | `admin` | the admin functions for tests and the node simulator |

mod act;
mod admin;
mod create;
mod directory;
pub(crate) mod fault_book;
pub(crate) mod faults;
pub(crate) mod journal;
mod keys;
mod lifecycle;
mod paging;
mod vm;
mod vms;
mod volumes;

use std::time::Duration;

use jiff::Timestamp;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::de::DeserializeOwned;

use crate::cloud::fault_book::{FaultBook, Injection, Plan, Spoil};
use crate::cloud::journal::Journal;
use crate::config::{Config, Latency};
use crate::request::Request;
use crate::route::{Operation, Pace};
use crate::stats::Calls;
use crate::wire::answer::{Answer, Delivery, Reply};
use crate::wire::error::{ApiError, Code};
use directory::{Caller, Directory};
use keys::Keys;
use lifecycle::Timers;
use vms::Vms;
use volumes::Volumes;

/// The simulated cloud.
///
/// # Guarantees
/// The same configuration, calls and times give the same answers: randomness comes from the seed alone, and nothing
/// iterates in an order that is not defined. Work is done when a call arrives; only its answer takes time.
///
/// # Assumptions
/// Times never go back; a call with an earlier time is handled at the latest time seen.
#[derive(Debug)]
pub struct Cloud {
    config: Config,
    rng: Xoshiro256PlusPlus,
    now: Timestamp,
    requests: u64,
    directory: Directory,
    faults: FaultBook,
    vms: Vms,
    volumes: Volumes,
    keys: Keys,
    timers: Timers,
    journal: Journal,
    calls: Calls,
}

impl Cloud {
    /// An empty cloud at this time.
    pub fn new(config: Config, now: Timestamp) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(config.seed),
            now,
            requests: 0,
            directory: Directory::new(&config),
            faults: FaultBook::default(),
            vms: Vms::new(&config.machine_tag, config.seed),
            volumes: Volumes::new(config.seed),
            keys: Keys::default(),
            timers: Timers::default(),
            journal: Journal::new(config.journal_events),
            calls: Calls::default(),
            config,
        }
    }

    /// Handles one call that arrives at `now`.
    pub fn handle(&mut self, request: &Request, now: Timestamp) -> Answer {
        self.advance(now);
        self.requests += 1;
        let request_id = format!("req-{:08x}", self.requests);
        let Some(operation) = Operation::parse(request) else {
            self.calls.count("unknown", Code::NotFound.as_str());
            return self.dress(Err(ApiError::not_found("this operation")), &request_id);
        };
        let caller = match self.directory.admit(request.token.as_deref(), &operation) {
            Ok(caller) => caller,
            Err(error) => {
                self.calls.count(operation.name(), error.code.as_str());
                return self.dress(Err(error), &request_id);
            }
        };
        let plan = self.plan(request, &caller, &operation);
        let delay = plan.delay + self.pace(operation.pace());
        let (outcome, mut answer) = match plan.injection {
            Injection::Proceed => {
                let reply = self.execute(&operation, &caller, request);
                let outcome = reply.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
                (outcome, self.dress(reply, &request_id))
            }
            Injection::Before(spoil) => self.spoil(spoil, Ok(Reply::empty(200)), &request_id),
            Injection::After(spoil) => {
                let reply = self.execute(&operation, &caller, request);
                self.spoil(spoil, reply, &request_id)
            }
        };
        answer.delay += delay;
        self.calls.count(operation.name(), outcome);
        answer
    }

    /// Lets time pass up to `now`: VMs boot and terminate.
    pub fn advance(&mut self, now: Timestamp) {
        while let Some((at, due)) = self.timers.pop(now) {
            self.now = self.now.max(at);
            self.fall_due(due);
        }
        self.now = self.now.max(now);
    }

    /// When [`Cloud::advance`] has something to do next.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.timers.next()
    }

    fn execute(
        &mut self,
        operation: &Operation<'_>,
        caller: &Caller,
        request: &Request,
    ) -> Result<Reply, ApiError> {
        match operation {
            Operation::Regions => self.regions(),
            Operation::CreateVm => self.create_vm(caller.account()?, request),
            Operation::GetVm(id) => self.get_vm(caller, id),
            Operation::ListVms => self.list_vms(caller.account()?, request),
            Operation::DeleteVm(id) => self.delete_vm(caller, id),
            Operation::RebootVm(id) => self.reboot_vm(caller, id),
            Operation::TagVm(id) => self.tag_vm(caller, id, request),
            Operation::InitializeVm(id) => self.initialize_vm(caller, id, request),
            Operation::UserData(id) => self.user_data(caller, id),
            Operation::Console(id) => self.console(caller, id),
            Operation::CreateVolume => self.create_volume(caller.account()?, request),
            Operation::GetVolume(id) => self.get_volume(caller, id),
            Operation::ListVolumes => self.list_volumes(caller.account()?, request),
            Operation::DeleteVolume(id) => self.delete_volume(caller, id),
            Operation::AttachVolume(id) => self.attach_volume(caller, id, request),
            Operation::DetachVolume(id) => self.detach_volume(caller, id),
            Operation::Stats => Reply::json(200, &self.stats()),
            Operation::Admin(operation) => self.administer(operation, request),
        }
    }

    /// Admin calls and the statistics are spared, so that faults can always be taken back.
    fn plan(&mut self, request: &Request, caller: &Caller, operation: &Operation<'_>) -> Plan {
        match (operation, caller) {
            (Operation::Stats | Operation::Admin(_), _) | (_, Caller::Admin | Caller::Nobody) => {
                Plan { delay: Duration::ZERO, injection: Injection::Proceed }
            }
            (_, Caller::Account { name, .. }) => {
                self.faults.plan(request, Some(name), self.now, &mut self.rng)
            }
        }
    }

    fn spoil(
        &self,
        spoil: Spoil,
        reply: Result<Reply, ApiError>,
        request_id: &str,
    ) -> (&'static str, Answer) {
        match spoil {
            Spoil::Error(error) => (error.code.as_str(), self.dress(Err(error), request_id)),
            Spoil::Silence { hold } => {
                let mut answer = self.dress(reply, request_id);
                answer.delay = hold;
                answer.delivery = Delivery::Never;
                ("timeout", answer)
            }
            Spoil::Truncate { bytes } => {
                let mut answer = self.dress(reply, request_id);
                let most = answer.body.len().saturating_sub(1);
                let bytes = bytes.unwrap_or(answer.body.len() / 2).min(most);
                answer.delivery = Delivery::Truncated { bytes };
                ("truncated", answer)
            }
            Spoil::Garbage => ("garbage", self.dress(reply, request_id).into_garbage()),
            Spoil::Html { status } => ("html", self.dress(reply, request_id).into_html(status)),
        }
    }

    fn dress(&self, reply: Result<Reply, ApiError>, request_id: &str) -> Answer {
        let skew = jiff::SignedDuration::from_millis(self.faults.faults().clock_skew_ms);
        Answer::of(reply, request_id, self.now.checked_add(skew).unwrap_or(self.now))
    }

    fn latency(&self) -> Latency {
        self.faults.faults().latency.unwrap_or(self.config.latency)
    }

    fn pace(&mut self, pace: Pace) -> Duration {
        let latency = self.latency();
        self.jittered(match pace {
            Pace::Create => latency.create_ms,
            Pace::Get => latency.get_ms,
            Pace::List => latency.list_ms,
            Pace::Delete => latency.delete_ms,
            Pace::Change => latency.change_ms,
            Pace::Instant => 0,
        })
    }

    /// The duration with the jitter of the latency settings.
    fn jittered(&mut self, ms: u64) -> Duration {
        let percent = self.latency().jitter_percent;
        let exact = Duration::from_millis(ms);
        if ms == 0 || percent == 0 {
            return exact;
        }
        let factor = 1.0 + (self.rng.random::<f64>() * 2.0 - 1.0) * f64::from(percent.min(100)) / 100.0;
        exact.mul_f64(factor)
    }

    /// The time after this duration.
    fn after(&self, wait: Duration) -> Timestamp {
        self.now.checked_add(wait).unwrap_or(Timestamp::MAX)
    }

    /// From when reads see what changes at this moment.
    fn visible_from(&self) -> Timestamp {
        self.after(Duration::from_millis(self.faults.faults().read_lag_ms))
    }
}

/// The body as this type; an empty body counts as an empty object.
fn parse_body<T: DeserializeOwned>(request: &Request) -> Result<T, ApiError> {
    let body = if request.body.is_empty() { b"{}".as_slice() } else { &request.body };
    serde_json::from_slice(body).map_err(|error| ApiError::invalid(format!("the body is wrong: {error}")))
}

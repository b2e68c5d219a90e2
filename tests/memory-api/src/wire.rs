//! The wire between hosts and the outside: calls are recorded, counted, and disturbed where a test wants it.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use machinist_core::driver::error::CallError;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long anything is on its way to a server.
const TRAVEL: Duration = Duration::from_millis(1);

/// One request to an API server or call of a driver, before it is carried out.
#[derive(Clone, Debug)]
pub struct Call {
    /// The position among all calls of all hosts, from 1.
    pub number: usize,
    pub actor: String,
    /// LIST, WATCH, GET, POST, PUT, PATCH, DELETE, or CALL for a driver.
    pub verb: &'static str,
    /// Resource and subresource (`v1/events` for Events of the core group), or the driver's function.
    pub what: String,
    /// Name of the object, also where a list or a watch is of this one; empty for a collection.
    pub name: String,
}

impl Call {
    /// Changes something in an API server. Leases and claims, Events and questions whether it is there are counted
    /// apart.
    pub fn is_write(&self) -> bool {
        matches!(self.verb, "POST" | "PUT" | "PATCH" | "DELETE") && !self.is_apart()
    }

    /// A request to an API server about one object. Leases, Events and questions whether it is there are counted apart.
    pub fn is_request(&self) -> bool {
        self.is_write() || (self.verb == "GET" && !self.is_apart())
    }

    /// A call of this function of the driver.
    pub fn calls(&self, function: &str) -> bool {
        self.verb == "CALL" && self.what == function
    }

    fn is_apart(&self) -> bool {
        let is_question = matches!(self.name.as_str(), "machinist-probe" | "machinist-freeze");
        // Kept as a Lease is.
        let is_claim = self.name.starts_with("machinist-cluster-mark-");
        matches!(self.what.as_str(), "leases" | "events" | "v1/events") || is_question || is_claim
    }
}

/// A call and what came of it.
#[derive(Clone, Debug)]
pub struct Record {
    /// When it was sent, since the beginning.
    pub at: Duration,
    pub call: Call,
    /// The answer's code; `None` while there is none. Drivers answer 200 or the number of their code.
    pub code: Option<u16>,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { number, actor, verb, what, name } = &self.call;
        let code = self.code.map_or_else(|| "-".to_owned(), |code| code.to_string());
        let at = self.at.as_millis();
        write!(f, "{at:>8} ms  #{number:<4} {actor:<6} {verb:<6} {what} {name} → {code}")
    }
}

/// The treatment of a call.
#[derive(Clone, Debug)]
pub enum Handling {
    /// It is carried out and answered.
    Pass,
    /// It is refused with this code: of HTTP, or for a driver the number of its code.
    Refuse(u16),
    /// The connection breaks before it arrives.
    Lose,
    /// It is carried out, and the connection breaks before the answer.
    LoseAnswer,
    /// It is not carried out, and nobody ever answers.
    Hang,
    /// It is carried out, and nobody ever answers.
    HangAfter,
    /// The host dies: `true` after, `false` before the call is carried out.
    Crash(bool),
    /// The driver answers so, and nothing is carried out.
    Answer(CallError),
    /// It is carried out, and the driver answers so all the same.
    AnswerAfter(CallError),
    /// It is carried out so long after it was sent, and answered.
    Delay(Duration),
    /// It is carried out at once, and answered so long after.
    DelayAnswer(Duration),
    /// A listing that asks for any version shows what was a moment ago. Everything else is carried out.
    Stale,
}

/// How a request is to be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As it is meant.
    Plain,
    /// From what was a moment ago.
    Stale,
}

/// Why there is no proper answer.
#[derive(Clone, Debug)]
pub enum CallFailure {
    /// Refused with this code.
    Refused(u16),
    NotSent,
    /// It may have been carried out.
    NoAnswer,
    Answered(CallError),
}

type Plan = Box<dyn FnMut(&Call) -> Handling + Send>;

struct Inner {
    records: VecDeque<Record>,
    /// How many records were made and are forgotten.
    forgotten: usize,
    /// How many are kept.
    limit: usize,
    hash: DefaultHasher,
    plan: Plan,
    cut: BTreeSet<String>,
}

/// Everything that hosts send goes through one wire.
#[derive(Clone)]
pub struct Wire {
    inner: Arc<Mutex<Inner>>,
    crashed: Arc<Notify>,
    crashes: Arc<Mutex<VecDeque<String>>>,
    start: Instant,
}

impl Wire {
    /// A wire that carries everything.
    #[expect(clippy::new_without_default, reason = "time begins with it")]
    pub fn new() -> Self {
        let inner = Inner {
            records: VecDeque::new(),
            forgotten: 0,
            limit: usize::MAX,
            hash: DefaultHasher::new(),
            plan: Box::new(|_| Handling::Pass),
            cut: BTreeSet::new(),
        };
        Self {
            inner: Arc::new(Mutex::new(inner)),
            crashed: Arc::new(Notify::new()),
            crashes: Arc::default(),
            start: Instant::now(),
        }
    }

    /// Keeps no more than the last records.
    pub fn keep_last(&self, records: usize) {
        self.lock().limit = records;
    }

    /// A hash of all calls so far, with their times and answers, and of everything noted beside them.
    pub fn hash(&self) -> u64 {
        self.lock().hash.finish()
    }

    /// Makes something else part of the hash.
    pub fn note(&self, what: &impl Hash) {
        let at = self.elapsed();
        let mut inner = self.lock();
        at.hash(&mut inner.hash);
        what.hash(&mut inner.hash);
    }

    /// Decides the fate of all further calls.
    pub fn plan(&self, plan: impl FnMut(&Call) -> Handling + Send + 'static) {
        self.lock().plan = Box::new(plan);
    }

    /// All further calls pass.
    pub fn heal(&self) {
        self.plan(|_| Handling::Pass);
    }

    /// Nothing that this actor sends arrives any more.
    pub fn cut(&self, actor: &str) {
        self.lock().cut.insert(actor.to_owned());
    }

    /// Until a plan has let a host crash.
    pub async fn crashed(&self) {
        self.crashed.notified().await;
    }

    /// The next host that a plan has let crash.
    pub async fn crashed_actor(&self) -> String {
        loop {
            let next = self.crashes.lock().unwrap().pop_front();
            match next {
                Some(actor) => return actor,
                None => self.crashed().await,
            }
        }
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// How many calls there were.
    pub fn len(&self) -> usize {
        let inner = self.lock();
        inner.forgotten + inner.records.len()
    }

    /// True before the first call.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The calls that `choose` chooses.
    pub fn records(&self, choose: impl Fn(&Call) -> bool) -> Vec<Record> {
        self.lock().records.iter().filter(|record| choose(&record.call)).cloned().collect()
    }

    /// The calls since `from` (a value of [`Wire::len`]) that `choose` chooses.
    pub fn records_since(&self, from: usize, choose: impl Fn(&Call) -> bool) -> Vec<Record> {
        self.records(|call| call.number > from && choose(call))
    }

    /// When these calls were sent.
    pub fn times(&self, choose: impl Fn(&Call) -> bool) -> Vec<Duration> {
        self.records(choose).into_iter().map(|record| record.at).collect()
    }

    /// All calls, for comparison and for whoever has to understand a failure.
    pub fn trace(&self) -> String {
        let inner = self.lock();
        inner.records.iter().map(|record| format!("{record}\n")).collect()
    }

    /// Carries a call: `act` does it and says the code of the answer; `broken` makes an answer of trouble.
    pub async fn carry<T>(
        &self,
        actor: &str,
        (verb, what, name): (&'static str, String, String),
        act: impl Future<Output = (u16, T)>,
        broken: impl FnOnce(CallFailure) -> T,
    ) -> T {
        self.carry_in_a_manner(actor, (verb, what, name), |_| act, broken).await
    }

    /// As `carry`, and `act` gets the manner.
    pub async fn carry_in_a_manner<T, A: Future<Output = (u16, T)>>(
        &self,
        actor: &str,
        (verb, what, name): (&'static str, String, String),
        act: impl FnOnce(Manner) -> A,
        broken: impl FnOnce(CallFailure) -> T,
    ) -> T {
        let (number, handling) = self.begin(actor, verb, what, name);
        tokio::time::sleep(TRAVEL).await;
        if self.lock().cut.contains(actor) {
            return std::future::pending().await;
        }
        match handling {
            Handling::Pass => {
                let (code, answer) = act(Manner::Plain).await;
                self.end(number, code);
                answer
            }
            Handling::Delay(delay) => {
                tokio::time::sleep(delay).await;
                if self.lock().cut.contains(actor) {
                    return std::future::pending().await;
                }
                let (code, answer) = act(Manner::Plain).await;
                self.end(number, code);
                answer
            }
            Handling::DelayAnswer(delay) => {
                let (code, answer) = act(Manner::Plain).await;
                tokio::time::sleep(delay).await;
                if self.lock().cut.contains(actor) {
                    return std::future::pending().await;
                }
                self.end(number, code);
                answer
            }
            Handling::Stale => {
                let (code, answer) = act(Manner::Stale).await;
                self.end(number, code);
                answer
            }
            Handling::Refuse(code) => {
                self.end(number, code);
                broken(CallFailure::Refused(code))
            }
            Handling::Answer(error) => {
                self.end(number, u16::from(error.code().number()));
                broken(CallFailure::Answered(error))
            }
            Handling::AnswerAfter(error) => {
                act(Manner::Plain).await;
                self.end(number, u16::from(error.code().number()));
                broken(CallFailure::Answered(error))
            }
            Handling::Lose => broken(CallFailure::NotSent),
            Handling::LoseAnswer => {
                act(Manner::Plain).await;
                broken(CallFailure::NoAnswer)
            }
            Handling::Hang => std::future::pending().await,
            Handling::HangAfter => {
                act(Manner::Plain).await;
                std::future::pending().await
            }
            Handling::Crash(is_carried_out) => {
                if is_carried_out {
                    act(Manner::Plain).await;
                }
                self.cut(actor);
                self.crashes.lock().unwrap().push_back(actor.to_owned());
                self.crashed.notify_one();
                std::future::pending().await
            }
        }
    }

    fn begin(&self, actor: &str, verb: &'static str, what: String, name: String) -> (usize, Handling) {
        let at = self.elapsed();
        let mut inner = self.lock();
        let number = inner.forgotten + inner.records.len() + 1;
        let call = Call { number, actor: actor.to_owned(), verb, what, name };
        let handling = (inner.plan)(&call);
        (at, &call.actor, call.verb, &call.what, &call.name).hash(&mut inner.hash);
        inner.records.push_back(Record { at, call, code: None });
        if inner.records.len() > inner.limit {
            inner.records.pop_front();
            inner.forgotten += 1;
        }
        (number, handling)
    }

    fn end(&self, number: usize, code: u16) {
        let at = self.elapsed();
        let mut inner = self.lock();
        (at, number, code).hash(&mut inner.hash);
        let place = number.checked_sub(inner.forgotten + 1);
        if let Some(record) = place.and_then(|place| inner.records.get_mut(place)) {
            record.code = Some(code);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }
}

/// One call a line.
pub fn table(records: &[Record]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

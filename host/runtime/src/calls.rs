//! The last calls of drivers for each Machine: a short book in memory, for people who ask what the cloud said.
//!
//! It holds who was asked for what, how long it took and how it ended. No request, no answer and no text of a cloud is in it,
//! hence no secret either.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use jiff::Timestamp;
use machinist_core::driver::{
    Answer, ClassSpec, Creation, Deletion, DriverFacts, ListRequest, MachineRequest, Operation,
    Page as ListPage, Vm,
};
use machinist_core::driver_digest::DriverDigest;
use machinist_core::driver_error::{CallError, Refusal};
use machinist_core::id::{ObjectKey, ProviderName};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::metrics::Metrics;
use crate::ports::Drivers;

/// For one Machine: enough for a creation with its retries, or a deletion with its looks.
const CALLS_PER_MACHINE: usize = 16;

/// Beyond it the Machines whose last call is oldest are forgotten. A call takes about 200 bytes.
const MACHINES: usize = 20_000;

/// The longest word of a cloud that is kept.
const WORD_BYTES: usize = 100;

/// One call of a driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// What was asked for.
    pub operation: String,
    /// Which provider's driver.
    pub provider: String,
    /// The uid of the Machine, which is also the key by which the cloud knows a repeated create.
    pub machine_uid: String,
    /// When it began.
    pub started: Timestamp,
    /// How long it took; absent while it runs.
    pub took_ms: Option<u64>,
    /// `running`, `ok`, `in-progress`, or whose fault: `guest` (the driver answered with an error), `broken` (the plugin
    /// broke), `refused` (the host did not let it).
    pub outcome: String,
    /// The code, after an error.
    pub code: Option<String>,
    /// The cloud's own code, where it gave one.
    pub cloud_code: Option<String>,
}

/// The book.
#[derive(Debug, Default)]
pub(crate) struct CallBook {
    pages: Mutex<BTreeMap<ObjectKey, Page>>,
}

#[derive(Debug, Default)]
struct Page {
    calls: VecDeque<(u64, Call)>,
    next: u64,
}

/// How a call ended that was no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Success {
    Done,
    InProgress,
}

impl CallBook {
    /// The last calls for a Machine, the latest first.
    pub(crate) fn of(&self, machine: &ObjectKey) -> Vec<Call> {
        let pages = self.pages();
        let calls = pages.get(machine).into_iter().flat_map(|page| page.calls.iter().rev());
        calls.map(|(_, call)| call.clone()).collect()
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.pages().remove(machine);
    }

    fn begin(&self, machine: ObjectKey, call: Call) -> u64 {
        let mut pages = self.pages();
        if pages.len() >= MACHINES && !pages.contains_key(&machine) {
            let started = |page: &Page| page.calls.back().map(|(_, call)| call.started);
            let oldest = pages.iter().min_by_key(|(_, page)| started(page)).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                pages.remove(&oldest);
            }
        }
        let page = pages.entry(machine).or_default();
        let number = page.next;
        page.next += 1;
        page.calls.push_back((number, call));
        if page.calls.len() > CALLS_PER_MACHINE {
            page.calls.pop_front();
        }
        number
    }

    fn end(&self, machine: &ObjectKey, number: u64, now: Timestamp, result: Result<Success, &CallError>) {
        let mut pages = self.pages();
        let calls = pages.get_mut(machine).into_iter().flat_map(|page| page.calls.iter_mut());
        for (_, call) in calls.filter(|(of, _)| *of == number) {
            call.took_ms = u64::try_from(now.duration_since(call.started).as_millis()).ok();
            match result {
                Ok(Success::Done) => "ok".clone_into(&mut call.outcome),
                Ok(Success::InProgress) => "in-progress".clone_into(&mut call.outcome),
                Err(error) => {
                    error.category().clone_into(&mut call.outcome);
                    call.code = Some(error.code().name().to_owned());
                    call.cloud_code = cloud_code(error);
                }
            }
        }
    }

    fn pages(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, Page>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A word, and not a text in which anything might stand.
fn cloud_code(error: &CallError) -> Option<String> {
    let code = match error {
        CallError::Guest(error) => error.cloud_code.as_deref()?,
        CallError::Broken(_) | CallError::Refused(_) => return None,
    };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/' | b':');
    (code.len() <= WORD_BYTES && code.bytes().all(is_word)).then(|| code.to_owned())
}

/// Drivers whose calls are written into a book and counted.
pub(crate) struct Recorded {
    drivers: Arc<dyn Drivers>,
    book: Arc<CallBook>,
    metrics: Arc<Metrics>,
    clock: Clock,
}

impl Recorded {
    /// Puts book and metrics around drivers.
    pub(crate) fn new(
        drivers: Arc<dyn Drivers>,
        book: Arc<CallBook>,
        metrics: Arc<Metrics>,
        clock: Clock,
    ) -> Self {
        Self { drivers, book, metrics, clock }
    }

    fn about_machine<'a, T: Send + 'a>(
        &'a self,
        operation: Operation,
        request: MachineRequest,
        success: fn(&T) -> Success,
        call: impl FnOnce(MachineRequest) -> BoxFuture<'a, Answer<T>>,
    ) -> BoxFuture<'a, Answer<T>> {
        let machine =
            ObjectKey { namespace: request.machine.namespace.clone(), name: request.machine.name.clone() };
        let provider = request.class.provider.clone();
        let started = self.clock.now();
        let number = self.book.begin(
            machine.clone(),
            Call {
                operation: operation.name().to_owned(),
                provider: provider.to_string(),
                machine_uid: request.machine.uid.to_string(),
                started,
                took_ms: None,
                outcome: "running".to_owned(),
                code: None,
                cloud_code: None,
            },
        );
        let answer = call(request);
        Box::pin(async move {
            let answer = answer.await;
            let now = self.clock.now();
            self.metrics.driver_called(
                &provider,
                operation,
                now.duration_since(started),
                answer.as_ref().err(),
            );
            self.book.end(&machine, number, now, answer.as_ref().map(success));
            answer
        })
    }

    /// Counted, and in no Machine's book.
    fn about_no_machine<'a, T: Send + 'a>(
        &'a self,
        operation: Operation,
        provider: ProviderName,
        answer: BoxFuture<'a, Answer<T>>,
    ) -> BoxFuture<'a, Answer<T>> {
        let started = self.clock.now();
        Box::pin(async move {
            let answer = answer.await;
            let took = self.clock.now().duration_since(started);
            self.metrics.driver_called(&provider, operation, took, answer.as_ref().err());
            answer
        })
    }
}

impl Drivers for Recorded {
    fn facts(&self, provider: &ProviderName, pin: Option<DriverDigest>) -> Result<DriverFacts, Refusal> {
        self.drivers.facts(provider, pin)
    }

    fn create(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Creation>> {
        let success = |creation: &Creation| match creation {
            Creation::Created(_) => Success::Done,
            Creation::InProgress(_) => Success::InProgress,
        };
        self.about_machine(Operation::Create, request, success, |request| self.drivers.create(request))
    }

    fn initialize(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        self.about_machine(
            Operation::Initialize,
            request,
            |_| Success::Done,
            |request| self.drivers.initialize(request),
        )
    }

    fn delete(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Deletion>> {
        let success = |deletion: &Deletion| match deletion {
            Deletion::Deleted { .. } => Success::Done,
            Deletion::InProgress(_) => Success::InProgress,
        };
        self.about_machine(Operation::Delete, request, success, |request| self.drivers.delete(request))
    }

    fn get_status(&self, request: MachineRequest) -> BoxFuture<'_, Answer<Vm>> {
        self.about_machine(
            Operation::GetStatus,
            request,
            |_| Success::Done,
            |request| self.drivers.get_status(request),
        )
    }

    fn reboot(&self, request: MachineRequest) -> BoxFuture<'_, Answer<()>> {
        self.about_machine(
            Operation::Reboot,
            request,
            |()| Success::Done,
            |request| self.drivers.reboot(request),
        )
    }

    fn list(&self, request: ListRequest) -> BoxFuture<'_, Answer<ListPage>> {
        let provider = request.class.provider.clone();
        self.about_no_machine(Operation::List, provider, self.drivers.list(request))
    }

    fn get_volume_ids(
        &self,
        provider: ProviderName,
        pin: Option<DriverDigest>,
        volume_specs: Vec<String>,
    ) -> BoxFuture<'_, Answer<Vec<Option<String>>>> {
        let answer = self.drivers.get_volume_ids(provider.clone(), pin, volume_specs);
        self.about_no_machine(Operation::GetVolumeIds, provider, answer)
    }

    fn validate_class(&self, class: ClassSpec) -> BoxFuture<'_, Answer<Vec<String>>> {
        let provider = class.provider.clone();
        self.about_no_machine(Operation::ValidateClass, provider, self.drivers.validate_class(class))
    }
}

#[cfg(test)]
mod tests {
    use machinist_core::driver_error::{Code, DriverError};

    use super::*;

    fn call(second: i64) -> Call {
        Call {
            operation: "CreateMachine".into(),
            provider: "sim".into(),
            machine_uid: "u".into(),
            started: Timestamp::from_second(second).unwrap(),
            took_ms: None,
            outcome: "running".into(),
            code: None,
            cloud_code: None,
        }
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("n", name)
    }

    #[test]
    fn the_latest_calls_are_kept_and_the_latest_comes_first() {
        let book = CallBook::default();
        for second in 0..40 {
            book.begin(key("m"), call(second));
        }
        let calls = book.of(&key("m"));
        assert_eq!(calls.len(), CALLS_PER_MACHINE);
        assert_eq!(calls.first().map(|call| call.started.as_second()), Some(39));
        book.forget(&key("m"));
        assert!(book.of(&key("m")).is_empty());
    }

    #[test]
    fn a_call_that_ended_says_how_and_one_that_runs_says_so() {
        let book = CallBook::default();
        let first = book.begin(key("m"), call(10));
        book.begin(key("m"), call(11));
        let mut error = DriverError::new(Code::ResourceExhausted, "no room for token abc");
        error.cloud_code = Some("InsufficientInstanceCapacity".into());
        let now = Timestamp::from_second(12).unwrap();
        book.end(&key("m"), first, now, Err(&CallError::Guest(error)));
        let [running, ended] = book.of(&key("m")).try_into().unwrap();
        assert_eq!((running.outcome.as_str(), running.took_ms), ("running", None));
        assert_eq!((ended.outcome.as_str(), ended.took_ms), ("guest", Some(2_000)));
        assert_eq!(ended.code.as_deref(), Some("ResourceExhausted"));
        assert_eq!(ended.cloud_code.as_deref(), Some("InsufficientInstanceCapacity"));
        assert!(
            !serde_json::to_string(&ended).unwrap().contains("token abc"),
            "texts of clouds are not kept"
        );
    }

    #[test]
    fn a_cloud_code_that_is_no_word_is_not_kept() {
        let mut error = DriverError::new(Code::Unknown, "");
        for (code, kept) in
            [("Throttling.User", true), ("user data was <script>", false), (&"x".repeat(101), false)]
        {
            error.cloud_code = Some(code.to_owned());
            assert_eq!(cloud_code(&CallError::Guest(error.clone())).is_some(), kept, "{code}");
        }
    }

    #[test]
    fn the_book_is_bounded_and_the_machine_called_longest_ago_goes() {
        let book = CallBook::default();
        for number in 0..=MACHINES {
            book.begin(key(&number.to_string()), call(i64::try_from(number).unwrap()));
        }
        assert_eq!(book.pages().len(), MACHINES);
        assert!(book.of(&key("0")).is_empty());
        assert_eq!(book.of(&key("1")).len(), 1);
    }
}

//! The last calls of drivers for each Machine: a short book in memory, for people who ask what the cloud said.
//!
//! It holds who was asked for what, how long it took and how it ended. No request, no answer and no text of a cloud is in it,
//! hence no secret either.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use machinist_core::driver::error::CallError;
use machinist_core::value::id::ObjectKey;
use serde::{Deserialize, Serialize};

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
pub(crate) struct CallHistory {
    machines: Mutex<BTreeMap<ObjectKey, MachineCalls>>,
}

#[derive(Debug, Default)]
struct MachineCalls {
    calls: VecDeque<(u64, Call)>,
    next: u64,
}

/// How a call ended that was no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Success {
    /// It is done.
    Done,
    /// The cloud works on it.
    InProgress,
}

impl CallHistory {
    /// The last calls for a Machine, the latest first.
    pub(crate) fn of(&self, machine: &ObjectKey) -> Vec<Call> {
        let machines = self.machines();
        let calls = machines.get(machine).into_iter().flat_map(|calls| calls.calls.iter().rev());
        calls.map(|(_, call)| call.clone()).collect()
    }

    /// The Machine is gone.
    pub(crate) fn forget(&self, machine: &ObjectKey) {
        self.machines().remove(machine);
    }

    /// A call begins; answers its number.
    pub(crate) fn begin(&self, machine: ObjectKey, call: Call) -> u64 {
        let mut machines = self.machines();
        if machines.len() >= MACHINES && !machines.contains_key(&machine) {
            let started = |calls: &MachineCalls| calls.calls.back().map(|(_, call)| call.started);
            let oldest = machines.iter().min_by_key(|(_, calls)| started(calls)).map(|(key, _)| key.clone());
            if let Some(oldest) = oldest {
                machines.remove(&oldest);
            }
        }
        let calls = machines.entry(machine).or_default();
        let number = calls.next;
        calls.next += 1;
        calls.calls.push_back((number, call));
        if calls.calls.len() > CALLS_PER_MACHINE {
            calls.calls.pop_front();
        }
        number
    }

    /// The call of this number has ended.
    pub(crate) fn end(
        &self,
        machine: &ObjectKey,
        number: u64,
        now: Timestamp,
        result: Result<Success, &CallError>,
    ) {
        let mut machines = self.machines();
        let calls = machines.get_mut(machine).into_iter().flat_map(|calls| calls.calls.iter_mut());
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

    fn machines(&self) -> MutexGuard<'_, BTreeMap<ObjectKey, MachineCalls>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use machinist_core::driver::error::{Code, DriverError};

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
        let history = CallHistory::default();
        for second in 0..40 {
            history.begin(key("m"), call(second));
        }
        let calls = history.of(&key("m"));
        assert_eq!(calls.len(), CALLS_PER_MACHINE);
        assert_eq!(calls.first().map(|call| call.started.as_second()), Some(39));
        history.forget(&key("m"));
        assert!(history.of(&key("m")).is_empty());
    }

    #[test]
    fn a_call_that_ended_says_how_and_one_that_runs_says_so() {
        let history = CallHistory::default();
        let first = history.begin(key("m"), call(10));
        history.begin(key("m"), call(11));
        let mut error = DriverError::new(Code::ResourceExhausted, "no room for token abc");
        error.cloud_code = Some("InsufficientInstanceCapacity".into());
        let now = Timestamp::from_second(12).unwrap();
        history.end(&key("m"), first, now, Err(&CallError::Guest(error)));
        let [running, ended] = history.of(&key("m")).try_into().unwrap();
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
    fn the_history_is_bounded_and_the_machine_called_longest_ago_goes() {
        let history = CallHistory::default();
        for number in 0..=MACHINES {
            history.begin(key(&number.to_string()), call(i64::try_from(number).unwrap()));
        }
        assert_eq!(history.machines().len(), MACHINES);
        assert!(history.of(&key("0")).is_empty());
        assert_eq!(history.of(&key("1")).len(), 1);
    }
}

//! Injected faults: the treatment of each request and call, drawn from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use machinist_core::driver::error::{CallError, Code, DriverError, GuestFailure, Sent};
use memory_api::wire::{Call, Handling, Wire};

use crate::check::Watchman;
use crate::names::HOST;
use crate::plan::CallFaults;
use crate::rng::Rng;

struct FaultState {
    rng: Rng,
    calls: CallFaults,
    /// Hosts that reach no API server.
    cut_off: BTreeSet<String>,
    /// The cloud answers all calls so.
    cloud_code: Option<Code>,
    /// Nobody may delete bootstrap tokens.
    keeps_tokens: bool,
    /// Hosts that die at a call that comes so many calls later.
    doomed: BTreeMap<String, (usize, bool)>,
    counts: BTreeMap<&'static str, u64>,
    is_calm: bool,
}

#[derive(Clone)]
pub(crate) struct Faults(Arc<Mutex<FaultState>>);

impl Faults {
    /// Decides the fate of everything that goes over this wire.
    pub(crate) fn rule(seed: u64, calls: CallFaults, wire: &Wire, watchman: &Watchman) -> Self {
        let inner = FaultState {
            rng: Rng::new(seed, "faults"),
            calls,
            cut_off: BTreeSet::new(),
            cloud_code: None,
            keeps_tokens: false,
            doomed: BTreeMap::new(),
            counts: BTreeMap::new(),
            is_calm: false,
        };
        let faults = Self(Arc::new(Mutex::new(inner)));
        let (decider, watchman) = (faults.clone(), watchman.clone());
        wire.plan(move |call| {
            watchman.sent(call);
            decider.lock().handling(call)
        });
        faults
    }

    /// Another fault that is not one of a call.
    pub(crate) fn count(&self, what: &'static str) {
        *self.lock().counts.entry(what).or_default() += 1;
    }

    /// How often what went wrong.
    pub(crate) fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.lock().counts.clone()
    }

    /// All of them together.
    pub(crate) fn total(&self) -> u64 {
        self.lock().counts.values().sum()
    }

    /// No faults from now on.
    pub(crate) fn calm(&self) {
        let mut inner = self.lock();
        inner.is_calm = true;
        inner.cut_off.clear();
        inner.cloud_code = None;
        inner.keeps_tokens = false;
        inner.doomed.clear();
    }

    /// A host reaches the API server no more, or again.
    pub(crate) fn cut_off(&self, host: &str, is_cut: bool) {
        let mut inner = self.lock();
        if is_cut {
            inner.cut_off.insert(host.to_owned());
        } else {
            inner.cut_off.remove(host);
        }
    }

    /// The cloud answers every call so, or properly again.
    pub(crate) fn cloud_answers(&self, code: Option<Code>) {
        self.lock().cloud_code = code;
    }

    /// Bootstrap tokens cannot be deleted, or can again.
    pub(crate) fn keep_tokens(&self, keeps: bool) {
        self.lock().keeps_tokens = keeps;
    }

    /// The host dies at the call so many calls from now, before or after it is carried out.
    pub(crate) fn doom(&self, host: &str, calls: usize, is_carried_out: bool) {
        self.lock().doomed.insert(host.to_owned(), (calls, is_carried_out));
    }

    fn lock(&self) -> MutexGuard<'_, FaultState> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl FaultState {
    fn handling(&mut self, call: &Call) -> Handling {
        if self.is_calm || !call.actor.starts_with(HOST) {
            return Handling::Pass;
        }
        if let Some((left, is_carried_out)) = self.doomed.get_mut(&call.actor) {
            let is_carried_out = *is_carried_out;
            match left.checked_sub(1) {
                Some(fewer) => *left = fewer,
                None => {
                    self.doomed.remove(&call.actor);
                    return self.counted("crash", Handling::Crash(is_carried_out));
                }
            }
        }
        if call.verb == "CALL" { self.of_driver() } else { self.of_request(call) }
    }

    fn of_request(&mut self, call: &Call) -> Handling {
        if self.cut_off.contains(&call.actor) {
            return self.counted("cut off", Handling::Lose);
        }
        let rates = self.calls;
        let is_write = matches!(call.verb, "POST" | "PUT" | "PATCH" | "DELETE");
        let is_stream = matches!(call.verb, "LIST" | "WATCH");
        if is_write && self.rng.happens(rates.conflict) {
            return self.counted("409", Handling::Refuse(409));
        }
        let is_token = call.what == "secrets" && call.name.starts_with("bootstrap-token-");
        if self.keeps_tokens && call.verb == "DELETE" && is_token {
            return self.counted("token kept", Handling::Refuse(403));
        }
        if self.rng.happens(rates.throttled) {
            return self.counted("429", Handling::Refuse(429));
        }
        if self.rng.happens(rates.broken) {
            return self.counted("500", Handling::Refuse(500));
        }
        if self.rng.happens(rates.lost) {
            return self.counted("lost", Handling::Lose);
        }
        if is_write && self.rng.happens(rates.answer_lost) {
            return self.counted("answer lost", Handling::LoseAnswer);
        }
        if self.rng.happens(rates.slow) {
            let delay = self.rng.between(Duration::from_millis(50), Duration::from_secs(4));
            let handling =
                if self.rng.happens(0.5) { Handling::Delay(delay) } else { Handling::DelayAnswer(delay) };
            return self.counted("slow", handling);
        }
        // A listing or watch that nobody answers ends with its connection, which is not simulated.
        if !is_stream && self.rng.happens(rates.hangs) {
            let handling = if self.rng.happens(0.5) { Handling::Hang } else { Handling::HangAfter };
            return self.counted("hangs", handling);
        }
        if call.verb == "LIST" && self.rng.happens(rates.stale) {
            return self.counted("stale", Handling::Stale);
        }
        Handling::Pass
    }

    fn of_driver(&mut self) -> Handling {
        if let Some(code) = self.cloud_code {
            return self.counted("cloud outage", Handling::Refuse(u16::from(code.number())));
        }
        if !self.rng.happens(self.calls.cloud) {
            return Handling::Pass;
        }
        let unclear = |code: Code| -> CallError {
            DriverError { may_have_happened: true, ..DriverError::new(code, "the cloud broke") }.into()
        };
        let trap = || CallError::from(GuestFailure::Trap { detail: "out of bounds".into() });
        let fates = [
            (3, 0),
            (2, 1),
            (3, 2),
            (3, 3),
            (1, 4),
            (1, 5),
            (2, 6),
            (1, 7),
            (2, 8),
            (1, 9),
            (1, 10),
            (1, 11),
        ];
        let handling = match self.rng.weighed(&fates).unwrap_or_default() {
            0 => Handling::Refuse(u16::from(Code::Unavailable.number())),
            1 => Handling::Answer(unclear(Code::Internal)),
            2 => Handling::LoseAnswer,
            3 => Handling::Delay(self.rng.between(Duration::from_secs(1), Duration::from_secs(90))),
            4 => Handling::Answer(trap()),
            5 => Handling::Hang,
            6 => Handling::Refuse(u16::from(Code::ResourceExhausted.number())),
            7 => Handling::HangAfter,
            // It was done, and the driver says that nobody knows.
            8 => Handling::AnswerAfter(unclear(Code::Unavailable)),
            9 => Handling::AnswerAfter(trap()),
            10 => Handling::Answer(trap().having_sent(Sent::Nothing)),
            _ => Handling::Refuse(u16::from(Code::InvalidArgument.number())),
        };
        self.counted("cloud", handling)
    }

    fn counted(&mut self, what: &'static str, handling: Handling) -> Handling {
        *self.counts.entry(what).or_default() += 1;
        handling
    }
}

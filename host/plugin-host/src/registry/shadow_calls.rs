//! Asks a version that answers nobody what the version that serves was asked, afterwards and in the background.
//!
//! What it reads comes from the recording of the call that counted, and so do the answers to its writes. A read that the recording lacks goes
//! to the cloud where `shadow-reads` of its grants list it; anything else that it lacks fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use jiff::Timestamp;
use machinist_core::driver::DriverResult;
use machinist_core::driver::error::CallError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tracing::{debug, info};

use crate::calls::exports::Ask;
use crate::calls::scheduling::cpu_time::Effort;
use crate::host::Inner;
use crate::recording::{Difference, Player, Playing, Recording, Tape, difference};
use crate::registry::canary::Shadowed;
use crate::registry::generation::{Generation, is_fault};

/// Calls that are shadowed at the same time, running or in line. Each holds a recording.
const MOST_HELD: usize = 16;
/// Of these, those that run.
const MOST_RUNNING: usize = 2;
/// How long one stands in line before it is left out.
const PATIENCE: Duration = Duration::from_secs(30);

/// Room for calls that answer nobody.
pub(crate) struct Shadows {
    held: Arc<Semaphore>,
    running: Arc<Semaphore>,
}

impl Default for Shadows {
    fn default() -> Self {
        Self { held: Arc::new(Semaphore::new(MOST_HELD)), running: Arc::new(Semaphore::new(MOST_RUNNING)) }
    }
}

/// The version that is to be asked, too.
pub(crate) struct Behind {
    pub(crate) candidate: Arc<Generation>,
}

/// A call that will be shadowed: what it is asked, and the tape that runs beside it.
pub(crate) struct Held<A> {
    candidate: Arc<Generation>,
    ask: A,
    subject: String,
    tape: Tape,
    _place: OwnedSemaphorePermit,
}

impl<A> Held<A> {
    pub(crate) fn tape(&self) -> &Tape {
        &self.tape
    }
}

impl Inner {
    /// Keeps what a call is asked, if there is room.
    pub(crate) fn hold<A: Ask>(&self, behind: &Behind, ask: &A) -> Option<Held<A>> {
        let candidate = Arc::clone(&behind.candidate);
        let subject = ask.subject();
        let Ok(place) = Arc::clone(&self.shadows.held).try_acquire_owned() else {
            self.compared(&candidate, A::OPERATION.name(), &subject, &Shadowed::LeftOut);
            return None;
        };
        Some(Held { candidate, ask: ask.clone(), subject, tape: Tape::recording(), _place: place })
    }

    /// The call is over: the other version is asked. Nobody waits for it.
    pub(crate) fn shadow<A: Ask>(self: &Arc<Self>, held: Held<A>, answer: &DriverResult<A::Answer>) {
        let has_answered = matches!(answer, Ok(_) | Err(CallError::Guest(_)));
        let inner = Arc::clone(self);
        let closed = self.has_closed.clone();
        self.guests.usual.spawn(async move {
            let shadowed =
                async { if has_answered { inner.ask_shadow(&held).await } else { Shadowed::LeftOut } };
            let Some(shadowed) = closed.run_until_cancelled(shadowed).await else { return };
            inner.compared(&held.candidate, A::OPERATION.name(), &held.subject, &shadowed);
        });
    }

    async fn ask_shadow<A: Ask>(self: &Arc<Self>, held: &Held<A>) -> Shadowed {
        let Ok(Ok(_running)) = timeout(PATIENCE, Arc::clone(&self.shadows.running).acquire_owned()).await
        else {
            return Shadowed::LeftOut;
        };
        let tape = held.tape.clone();
        // Takes secrets out of megabytes of text.
        let finished = tokio::task::spawn_blocking(move || tape.finish()).await;
        let Ok(Some(recording)) = finished else { return Shadowed::LeftOut };
        let recording = Arc::new(recording);
        let Ok(player) = Player::new(Arc::clone(&recording), Playing::Shadow) else {
            return Shadowed::LeftOut;
        };
        // Calls that somebody waits for go first.
        let Ok(_turn) = timeout(PATIENCE, self.queue.spare_turn(&held.candidate)).await else {
            return Shadowed::LeftOut;
        };
        let tape = Tape::playing(player);
        let call = {
            let (inner, candidate, ask, tape) =
                (Arc::clone(self), Arc::clone(&held.candidate), held.ask.clone(), tape.clone());
            let deadline = Instant::now()
                + A::OPERATION.deadline().unsigned_abs().min(candidate.prepared.limits.deadline);
            async move {
                let _running = candidate.counts.enter();
                let code = candidate.prepared.code.load_full();
                inner.sandbox.taped(&code, &candidate.prepared, ask, deadline, &tape).await
            }
        };
        let effort = Effort::default();
        match self.guests.run(call.boxed(), &effort, (&held.candidate.manners, true)).await {
            Ok(Err(CallError::Broken(broken))) if is_fault(&broken.breakage) => {
                Shadowed::Broke(broken.to_string())
            }
            Ok(Err(CallError::Refused(_))) | Err(_) => Shadowed::LeftOut,
            Ok(Ok(_) | Err(CallError::Guest(_) | CallError::Broken(_))) => {
                match tokio::task::spawn_blocking(move || tape.finish()).await {
                    Ok(Some(shadow)) => compare(&recording, &shadow),
                    Ok(None) | Err(_) => Shadowed::LeftOut,
                }
            }
        }
    }

    fn compared(
        &self,
        candidate: &Arc<Generation>,
        function: &'static str,
        subject: &str,
        shadowed: &Shadowed,
    ) {
        let Some(trial) = &candidate.trial else { return };
        let plugin = &candidate.prepared.plugin;
        self.metrics.shadowed(plugin, function, shadowed);
        let (verdict, is_news) = trial.shadowed(function, subject, shadowed, Timestamp::now());
        match shadowed {
            Shadowed::Differs(differences) | Shadowed::Unread(differences) => {
                let text = differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
                info!(%plugin, version = %candidate.about.version, function, subject, differences = text, "a shadow would have done otherwise");
            }
            Shadowed::Broke(detail) => {
                info!(%plugin, version = %candidate.about.version, function, subject, detail, "a shadow broke");
            }
            Shadowed::Same | Shadowed::LeftOut => {
                debug!(%plugin, function, subject, result = shadowed.name(), "a shadow was asked");
            }
        }
        if let Some(verdict) = verdict {
            self.shelf.end_trial(candidate, &verdict);
        } else if is_news {
            self.shelf.refresh();
        }
    }
}

/// What a version logs is its own affair.
fn compare(recording: &Recording, shadow: &Recording) -> Shadowed {
    let mut differences = difference(recording, shadow);
    differences.retain(|difference| !matches!(difference, Difference::Log { .. }));
    if differences.is_empty() {
        Shadowed::Same
    } else if differences.iter().any(|difference| matches!(difference, Difference::Unread { .. })) {
        Shadowed::Unread(differences)
    } else {
        Shadowed::Differs(differences)
    }
}

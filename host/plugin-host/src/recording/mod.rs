//! Record and replay. A recording runs beside a call: it notes all that the component sees and does. In a replay it
//! shows the component an earlier recording, and notes all that the component does then.
//!
//! | question | module |
//! | --- | --- |
//! | what is in a recording? | `model` |
//! | what is noted during a call? | `recorder` |
//! | how do secrets stay out of it? | `recorder::finish` |
//! | what does a component see in a replay? | `player`, `rng` (clocks, too) |
//! | where do requests pass? | `wire` |
//! | how do two recordings differ? | `difference` |
//! | which recorded request is most like a new one? | `matching` |
//! | where are recordings stored? | `archive` (the queue), `folder` (the files) |
//!
//! Requests are noted above the egress, so that a recording has placeholders and no signatures. Random numbers of a
//! recorded call come from SHA-256 over a seed that is drawn for it. One thread writes, behind a queue of 256
//! recordings and 64 MiB; drops are counted. A recording holds 16 MiB of bodies, and names the parts that it leaves
//! out.
//!
//! A player answers a request by the first recorded one that is equal, else by the first with the same method and URL,
//! else by the path (and `Action` of a form). In a **replay** nothing else answers, and placeholders are those of the
//! recording. In a **shadow** the call's own vault gives placeholders, and a read that the recording lacks goes to the
//! cloud where `shadow-reads` of the grants list it: host, path, method and parameters, without credentials unless the
//! line says so. Elsewhere it fails, and is counted as unread.
//!
//! A call without a recording pays one comparison for each of these.

pub(crate) mod archive;
mod difference;
pub(crate) mod folder;
mod matching;
mod model;
mod player;
mod recorder;
pub(crate) mod rng;
mod wire;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use machinist_core::driver::error::{Broken, CallError, GuestFailure};
use serde::Serialize;
use wasmtime_wasi::WasiCtxBuilder;

use crate::vault::{PlaceholderEncoding, Refusal, Vault};

pub use archive::RecordSettings;
pub(crate) use difference::change::Change;
pub use difference::{Difference, difference};
pub use model::WireError;
pub use model::{End, Exchange, ExchangeOutcome, FORMAT, KeyFact, Recording};
pub(crate) use model::{Levels, LimitsTaken, LogEntry, Secrets};
pub use recorder::body::Body;

pub(crate) use archive::Archive;
pub(crate) use player::{NoSeed, Player, Playing};
pub(crate) use recorder::Beginning;
pub(crate) use wire::Wire;

use recorder::{Recorder, prefix_digest};
use rng::Seed;
use rng::{Monotonic, Wall};

/// For `tests/fuzz`: asks a player for all that its recording holds, as a component that does the same again. Returns
/// the number of answered requests.
pub(crate) fn play_through(player: &Player, again: &Recording) -> usize {
    let names = matching::PlaceholderNames::of(&again.secrets.placeholders);
    let _times = (player.wall_ns(), player.monotonic_ns(), player.remaining_ms(), player.levels());
    for placeholder in &again.secrets.placeholders {
        let _answer = player.placeholder(&placeholder.key, &[PlaceholderEncoding::Base64]);
        let _answer = (player.reveals(&placeholder.key), player.starts_with(&placeholder.key, ""));
    }
    let named = again.http.iter().map(|exchange| matching::Named::of(exchange, &names));
    named
        .filter(|request| match player.answer_unread(request) {
            Some(played) => !matches!(played, player::Played::Unknown),
            None => !matches!(player.answer(request), player::Played::Unknown),
        })
        .count()
}

/// The recording beside a call. A clone is the same recording; by default there is none.
#[derive(Clone, Default)]
pub(crate) struct CallRecording(Option<Arc<ActiveRecording>>);

/// A recording that runs.
pub(crate) struct ActiveRecording {
    recorder: Recorder,
    player: Option<Player>,
    seed: Seed,
    started: Instant,
}

impl CallRecording {
    pub(crate) fn off() -> Self {
        Self(None)
    }

    pub(crate) fn start() -> Self {
        Self::of(None, Seed::draw())
    }

    /// Shows what `player` holds, and notes what happens.
    pub(crate) fn replaying(player: Player) -> Self {
        let seed = player.seed();
        Self::of(Some(player), seed)
    }

    fn of(player: Option<Player>, seed: Seed) -> Self {
        Self(Some(Arc::new(ActiveRecording {
            recorder: Recorder::new(seed),
            player,
            seed,
            started: Instant::now(),
        })))
    }

    /// The call is about to begin.
    pub(crate) fn begin(&self, vault: &Vault, beginning: impl FnOnce() -> Beginning) {
        if let Some(active) = &self.0 {
            active.recorder.begin(beginning(), vault.clone());
        }
    }

    /// Whether placeholders and revealed values come from a recording.
    pub(crate) fn is_replay(&self) -> bool {
        self.0.as_ref().and_then(|active| active.player.as_ref()).is_some_and(Player::is_replay)
    }

    /// Whether anything is noted.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The arguments, as the component gets them.
    pub(crate) fn asked(&self, question: &impl Serialize) {
        if let Some(active) = &self.0 {
            active.recorder.asked(question);
        }
    }

    /// The answer, as the component gave it.
    pub(crate) fn answered(&self, answer: &impl Serialize) {
        if let Some(active) = &self.0 {
            active.recorder.answered(answer);
        }
    }

    /// The call is over.
    pub(crate) fn ended(&self, error: Option<&CallError>) {
        if let Some(active) = &self.0 {
            let answer = active.recorder.took_answer();
            active.recorder.ended(end_of(answer, error));
        }
    }

    /// Returns the recording without secrets; `None` if nothing is recorded, or the call did not begin. Takes time: not
    /// for the path of a call.
    pub(crate) fn finish(&self) -> Option<Recording> {
        self.0.as_ref().and_then(|active| recorder::finish::finish(active.recorder.copy()))
    }

    /// About as much memory as it takes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |active| active.recorder.size_bytes())
    }

    /// Returns the milliseconds that the component is given, if a recording says so.
    pub(crate) fn deadline_ms(&self) -> Option<u64> {
        self.0.as_ref()?.player.as_ref().map(Player::deadline_ms)
    }

    /// `call`, cut off where a replay has come to the point at which the recorded call was cut off by its deadline.
    pub(crate) async fn bounded<T>(&self, call: impl Future<Output = Option<T>>) -> Option<T> {
        match self.0.as_ref().and_then(|active| active.player.as_ref()) {
            None => call.await,
            Some(player) => tokio::select! {
                ended = call => ended,
                () = player.ran_out() => None,
            },
        }
    }

    /// Clocks and randomness of the call.
    pub(crate) fn prepare(&self, builder: &mut WasiCtxBuilder) {
        let Some(active) = &self.0 else { return };
        builder
            .wall_clock(Wall(Arc::clone(active)))
            .monotonic_clock(Monotonic(Arc::clone(active)))
            .secure_random(active.seed.stream("secure"))
            .insecure_random(active.seed.stream("insecure"))
            .insecure_random_seed(u128::from_le_bytes(active.seed.stream("insecure-seed").array()));
    }

    /// Milliseconds that are left; `real_ms` where no recording says otherwise.
    pub(crate) fn remaining_ms(&self, real_ms: u64) -> u64 {
        let Some(active) = &self.0 else { return real_ms };
        let ms = active.player.as_ref().map_or(real_ms, Player::remaining_ms);
        active.recorder.remaining(ms);
        ms
    }

    /// The levels of the log that a recording says are written.
    pub(crate) fn levels(&self) -> Option<Levels> {
        self.0.as_ref()?.player.as_ref().map(Player::levels)
    }

    /// Records a log line. Returns whether the line may also go to the host's log: not in a replay.
    pub(crate) fn logged(&self, level: &'static str, message: &str, fields: &[(String, String)]) -> bool {
        let Some(active) = &self.0 else { return true };
        active.recorder.log(LogEntry {
            level: level.to_owned(),
            message: message.to_owned(),
            fields: fields.to_vec(),
        });
        active.player.is_none()
    }

    /// A placeholder for `key`: `real` unless a recording has one.
    pub(crate) fn placeholder(
        &self,
        key: &str,
        encodings: &[PlaceholderEncoding],
        real: impl FnOnce() -> Result<String, Refusal>,
    ) -> Result<String, Refusal> {
        let Some(active) = &self.0 else { return real() };
        let answer = match active.player.as_ref().and_then(|player| player.placeholder(key, encodings)) {
            Some(answer) => answer,
            None => real(),
        };
        active.recorder.placeholder(key, encodings, &answer);
        answer
    }

    /// Whether the value of `key` begins with `prefix`: `real` unless a recording knows.
    pub(crate) fn starts_with(&self, key: &str, prefix: &[u8], real: impl FnOnce() -> bool) -> bool {
        let Some(active) = &self.0 else { return real() };
        let player = active.player.as_ref();
        let played = player.and_then(|player| player.starts_with(key, &prefix_digest(prefix)));
        let answer = played.unwrap_or_else(real);
        active.recorder.prefix(key, prefix, answer);
        answer
    }

    /// The value of `key`: `real` unless a recording says that it was refused.
    pub(crate) fn reveal(
        &self,
        key: &str,
        real: impl FnOnce() -> Result<Vec<u8>, Refusal>,
        stand_in: impl FnOnce() -> Vec<u8>,
    ) -> Result<Vec<u8>, Refusal> {
        let Some(active) = &self.0 else { return real() };
        let answer = match active.player.as_ref().and_then(|player| player.reveals(key)) {
            Some(true) => Ok(stand_in()),
            Some(false) => Err(Refusal::NotGranted),
            None => real(),
        };
        active.recorder.reveal(key, answer.is_ok());
        answer
    }
}

impl ActiveRecording {
    fn wall_ns(&self) -> u64 {
        let ns = match &self.player {
            Some(player) => player.wall_ns(),
            None => {
                let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
            }
        };
        self.recorder.wall(ns);
        ns
    }

    fn monotonic_ns(&self) -> u64 {
        let ns = match &self.player {
            Some(player) => player.monotonic_ns(),
            None => u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX),
        };
        self.recorder.monotonic(ns);
        ns
    }
}

impl Levels {
    /// Whether lines of the level of this name are written.
    pub(crate) fn has(self, level: &str) -> bool {
        match level {
            "trace" => self.trace,
            "debug" => self.debug,
            "info" => self.info,
            "warn" => self.warn,
            _ => self.error,
        }
    }
}

impl Secrets {
    /// Returns the facts about a vault that may be recorded.
    pub(crate) fn of(vault: &Vault) -> Self {
        let fact = |key: String| {
            let bytes = vault.open(&key).map_or(0, |id| vault.length(id));
            KeyFact { key, bytes }
        };
        Self {
            keys: vault.keys().into_iter().map(fact).collect(),
            user_data_bytes: vault.user_data().map(|id| vault.length(id)),
            ..Self::default()
        }
    }

    /// Returns the values that the component was shown, by key, as far as the recording has them.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        let granted = self.reveals.iter().filter(|reveal| reveal.granted);
        granted.filter_map(|reveal| Some((reveal.key.as_str(), reveal.value.as_deref()?)))
    }
}

fn broken(answer: Option<serde_json::Value>, failure: &GuestFailure) -> End {
    match (answer, failure) {
        (Some(answer), GuestFailure::Contract { detail }) => {
            End::Answered { answer, breaks: Some(detail.clone()) }
        }
        (_, GuestFailure::Limit { limit, detail }) => {
            End::Limit { limit: limit.name().to_owned(), detail: detail.clone() }
        }
        (_, GuestFailure::Trap { detail } | GuestFailure::Contract { detail }) => {
            End::Trapped { detail: detail.clone() }
        }
        (_, GuestFailure::CutOff { .. }) => End::Dropped,
    }
}

fn end_of(answer: Option<serde_json::Value>, error: Option<&CallError>) -> End {
    match (answer, error) {
        (answer, Some(CallError::Broken(Broken { failure, .. }))) => broken(answer, failure),
        (_, Some(CallError::Refused(refusal))) => End::Refused { detail: refusal.to_string() },
        (Some(answer), None | Some(CallError::Guest(_))) => End::Answered { answer, breaks: None },
        // An answer of the host's own, such as "offers no reboot".
        (None, Some(CallError::Guest(error))) => End::Refused { detail: error.to_string() },
        (None, None) => End::Dropped,
    }
}

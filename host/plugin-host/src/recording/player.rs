//! Shows a component what a recording holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use tokio::sync::Notify;
use wasmtime_wasi_http::{Error as WasiError, WasiBody};

use super::matching::{MatchLevel, Named};
use crate::grants::PLACEHOLDER_PREFIX;
use crate::output_limits::hex;
use crate::recording::matching::PlaceholderNames;
use crate::recording::model::{End, ExchangeOutcome, Levels, Recording};
use crate::recording::recorder::body::{Body, Ending, played};
use crate::recording::recorder::{encoding_name, refusal_named};
use crate::recording::rng::Seed;
use crate::vault::{PlaceholderEncoding, Refusal};
use machinist_core::driver::error::Limit;

/// The sources of answers beside the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Playing {
    /// Nothing: nothing leaves the host, and secrets are as recorded.
    Replay,
    /// The call's own vault gives placeholders, and a read that is not in the recording goes to the cloud if
    /// `shadow-reads` of the grants list it. No other request is sent.
    Shadow,
}

pub(crate) struct Player {
    recording: Arc<Recording>,
    playing: Playing,
    seed: Seed,
    requests: Vec<Named>,
    place: Mutex<ReplayPosition>,
    ran_out: Arc<Notify>,
}

/// How far it is.
#[derive(Default)]
struct ReplayPosition {
    used: Vec<bool>,
    wall: usize,
    monotonic: usize,
    remaining: usize,
}

/// The recorded answer to a request.
pub(crate) enum Played {
    /// An answer or its absence.
    Outcome(Result<Response<WasiBody>, WasiError>),
    /// The component waited without success, or gave up.
    Silence,
    /// Not in the recording.
    Unknown,
}

/// A seed in a recording is no seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chance is not 64 hex digits")]
pub struct NoSeed;

impl Player {
    /// From its beginning. Each player plays once.
    pub(crate) fn new(recording: Arc<Recording>, playing: Playing) -> Result<Self, NoSeed> {
        let seed = Seed::parse(&recording.seed).ok_or(NoSeed)?;
        let names = PlaceholderNames::of(&recording.secrets.placeholders);
        let requests: Vec<Named> =
            recording.http.iter().map(|exchange| Named::of(exchange, &names)).collect();
        let place =
            Mutex::new(ReplayPosition { used: vec![false; requests.len()], ..ReplayPosition::default() });
        Ok(Self { recording, playing, seed, requests, place, ran_out: Arc::default() })
    }

    /// Whether nothing but the recording answers.
    pub(crate) fn is_replay(&self) -> bool {
        self.playing == Playing::Replay
    }

    pub(crate) fn seed(&self) -> Seed {
        self.seed
    }

    pub(crate) fn deadline_ms(&self) -> u64 {
        self.recording.limits.deadline_ms
    }

    pub(crate) fn levels(&self) -> Levels {
        self.recording.levels
    }

    pub(crate) async fn ran_out(&self) {
        self.ran_out.notified().await;
    }

    pub(crate) fn wall_ns(&self) -> u64 {
        next(&self.recording.clocks.wall_ns, &mut self.place().wall, 1_000_000)
    }

    pub(crate) fn monotonic_ns(&self) -> u64 {
        next(&self.recording.clocks.monotonic_ns, &mut self.place().monotonic, 1_000_000)
    }

    pub(crate) fn remaining_ms(&self) -> u64 {
        let readings = &self.recording.clocks.remaining_ms;
        if readings.is_empty() {
            return self.deadline_ms();
        }
        next(readings, &mut self.place().remaining, 0)
    }

    /// `None`: the vault is to be asked.
    pub(crate) fn placeholder(
        &self,
        key: &str,
        encodings: &[PlaceholderEncoding],
    ) -> Option<Result<String, Refusal>> {
        match self.playing {
            Playing::Shadow => None,
            Playing::Replay => {
                let names: Vec<&str> = encodings.iter().map(|encoding| encoding_name(*encoding)).collect();
                let recorded = self
                    .recording
                    .secrets
                    .placeholders
                    .iter()
                    .find(|placeholder| placeholder.key == key && placeholder.encodings == names);
                Some(match recorded {
                    Some(placeholder) => {
                        placeholder.answer.clone().map_err(|refusal| refusal_named(&refusal))
                    }
                    // A secret that was not requested may have been granted: the comparison shows its use.
                    None => Ok(self.token(&format!("placeholder {key} {}", names.join(" ")))),
                })
            }
        }
    }

    fn token(&self, purpose: &str) -> String {
        let digits = hex(&self.seed.stream(purpose).array::<13>());
        format!("{PLACEHOLDER_PREFIX}{}", digits.chars().take(25).collect::<String>())
    }

    /// `None`: the vault is to be asked.
    pub(crate) fn starts_with(&self, key: &str, sha256: &str) -> Option<bool> {
        match self.playing {
            Playing::Shadow => None,
            Playing::Replay => {
                let prefixes = &self.recording.secrets.prefixes;
                let asked = prefixes.iter().find(|prefix| prefix.key == key && prefix.sha256 == sha256);
                Some(asked.is_some_and(|prefix| prefix.answer))
            }
        }
    }

    /// `None`: the vault is to be asked.
    pub(crate) fn reveals(&self, key: &str) -> Option<bool> {
        match self.playing {
            Playing::Shadow => None,
            Playing::Replay => {
                let reveals = &self.recording.secrets.reveals;
                Some(reveals.iter().any(|reveal| reveal.key == key && reveal.granted))
            }
        }
    }

    /// Returns the sources of answers beside the recording.
    pub(crate) fn playing(&self) -> Playing {
        self.playing
    }

    /// Returns the recorded answer to a request whose body was not read: only if the recorded body was not read either,
    /// as for a request that the host refused.
    pub(crate) fn answer_unread(&self, request: &Named) -> Option<Played> {
        let found = self.find(|known| request.is_like(known, MatchLevel::Same))?;
        self.requests.get(found)?.body.is_none().then(|| self.play(found))
    }

    /// Returns the recorded answer to this request: the first equal request that was not played yet, else the first
    /// similar one, so that a driver whose requests differ a little gets an answer and can continue.
    pub(crate) fn answer(&self, request: &Named) -> Played {
        let mut like = MatchLevel::ALL.into_iter();
        let found = like.find_map(|level| self.find(|known| request.is_like(known, level)));
        found.map_or(Played::Unknown, |found| self.play(found))
    }

    /// The first that was not played.
    fn find(&self, is_it: impl Fn(&Named) -> bool) -> Option<usize> {
        let place = self.place();
        let is_free = |index: usize| place.used.get(index) == Some(&false);
        let mut requests = self.requests.iter().enumerate();
        requests.find(|(index, known)| is_free(*index) && is_it(known)).map(|(index, _)| index)
    }

    fn play(&self, index: usize) -> Played {
        if let Some(used) = self.place().used.get_mut(index) {
            *used = true;
        }
        let Some(exchange) = self.recording.http.get(index) else { return Played::Unknown };
        match &exchange.outcome {
            ExchangeOutcome::Unanswered => {
                match &self.recording.end {
                    End::Dropped => self.ran_out.notify_one(),
                    End::Limit { limit, .. } if limit == Limit::Deadline.name() => self.ran_out.notify_one(),
                    End::Limit { .. } | End::Answered { .. } | End::Trapped { .. } | End::Refused { .. } => {}
                }
                Played::Silence
            }
            ExchangeOutcome::Failed(error) => Played::Outcome(Err(error.clone().into())),
            ExchangeOutcome::Answer { status, headers, body, broke_off, stalls } => {
                let ending = match broke_off {
                    Some(error) => Ending::Broken(error.clone().into()),
                    None if *stalls => Ending::Stalls(Arc::clone(&self.ran_out)),
                    None => Ending::Whole,
                };
                Played::Outcome(answer(*status, headers, body, ending))
            }
        }
    }

    fn place(&self) -> MutexGuard<'_, ReplayPosition> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the next reading; behind the last one, time advances by `step` each.
fn next(readings: &[u64], at: &mut usize, step: u64) -> u64 {
    let index = *at;
    *at += 1;
    match readings.get(index) {
        Some(reading) => *reading,
        None => {
            let beyond = u64::try_from(index + 1 - readings.len()).unwrap_or(u64::MAX);
            readings.last().copied().unwrap_or_default().saturating_add(beyond.saturating_mul(step))
        }
    }
}

fn answer(
    status: u16,
    headers: &[(String, String)],
    body: &Body,
    ending: Ending,
) -> Result<Response<WasiBody>, WasiError> {
    let not_played =
        |what: &str| WasiError::InternalError(Some(format!("the recording cannot be played: {what}")));
    let bytes = body.bytes().ok_or_else(|| not_played("it left out the body of this answer"))?;
    let mut response = Response::new(played(bytes, ending));
    *response.status_mut() = StatusCode::from_u16(status).map_err(|_| not_played("a status is none"))?;
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| not_played("a header's name is none"))?;
        let value = HeaderValue::from_str(value).map_err(|_| not_played("a header's value is none"))?;
        map.append(name, value);
    }
    *response.headers_mut() = map;
    Ok(response)
}

#[cfg(test)]
#[path = "player_tests.rs"]
mod tests;

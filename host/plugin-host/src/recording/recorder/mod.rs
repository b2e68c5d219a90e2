//! Takes notes of a running call. Nothing here waits, writes or scrubs: that follows when the call is over.
//!
//! | module | what it does |
//! | --- | --- |
//! | `body` | bodies of requests and answers |
//! | `finish` | notes to a recording: all text passes the vault |

pub(crate) mod body;
pub(crate) mod finish;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{HeaderMap, Method, StatusCode, Uri};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use wasmtime_wasi_http::Error as WasiError;

use super::model::{Clocks, End, Levels, LimitsTaken, LogEntry, Placeholder, Prefix, Reveal, Secrets};
use super::rng::Seed;
use crate::output_limits::hex;
use crate::recording::model::WireError;
use crate::vault::{PlaceholderEncoding, Refusal, Vault};
use body::BodySide;

/// Bodies of one recording together. A create sends its user data, a listing gets some pages.
const MOST_BODY_BYTES: usize = 16 * 1024 * 1024;
/// The number of clock readings, log lines, requests and questions about secrets: far more than a normal call makes.
const MOST_ENTRIES: usize = 10_000;
/// Enough to tell formats apart. A component that asks for more spells out the value, and its answers would be the
/// value.
const MOST_PREFIXES: usize = 16;
const MOST_PREFIX_BYTES: usize = 16;
/// As the contract bounds the log.
const MOST_LOG_BYTES: usize = 256 * 1024;

/// The facts about a call at its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Beginning {
    pub(crate) plugin: String,
    pub(crate) digest: String,
    pub(crate) operation: &'static str,
    pub(crate) subject: String,
    pub(crate) limits: LimitsTaken,
    pub(crate) settings: Arc<str>,
    pub(crate) secrets: Secrets,
    pub(crate) levels: Levels,
}

/// A clone takes its notes on the same sheet.
#[derive(Clone)]
pub(crate) struct Recorder(Arc<Mutex<RawRecording>>);

/// The raw recording: secrets that the component saw may still be in it.
#[derive(Clone)]
pub(super) struct RawRecording {
    pub(super) beginning: Option<(Beginning, Vault)>,
    pub(super) at: Timestamp,
    started: Instant,
    pub(super) took: Duration,
    pub(super) seed: Seed,
    pub(super) question: Value,
    pub(super) placeholders: Vec<Placeholder>,
    pub(super) prefixes: Vec<Prefix>,
    pub(super) reveals: Vec<Reveal>,
    pub(super) clocks: Clocks,
    pub(super) log: Vec<LogEntry>,
    log_bytes: usize,
    pub(super) http: Vec<RawExchange>,
    body_bytes: usize,
    pub(super) answer: Option<Value>,
    pub(super) end: End,
    pub(super) left_out: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct RawExchange {
    pub(super) method: Method,
    pub(super) url: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Captured,
    pub(super) outcome: RawOutcome,
}

#[derive(Clone, Debug)]
pub(super) enum RawOutcome {
    Unanswered,
    Failed {
        error: WireError,
        after: Duration,
    },
    Answer {
        status: StatusCode,
        headers: HeaderMap,
        body: Captured,
        broke_off: Option<(WireError, Duration)>,
    },
}

/// As much of a body as passed.
#[derive(Clone, Debug, Default)]
pub(super) struct Captured {
    pub(super) bytes: Vec<u8>,
    pub(super) is_read: bool,
    /// Up to its end.
    pub(super) is_whole: bool,
    /// All that passed, when not all of it was kept.
    pub(super) left_out_bytes: u64,
}

impl Recorder {
    pub(super) fn new(seed: Seed) -> Self {
        Self(Arc::new(Mutex::new(RawRecording {
            beginning: None,
            at: Timestamp::now(),
            started: Instant::now(),
            took: Duration::ZERO,
            seed,
            question: Value::Null,
            placeholders: Vec::new(),
            prefixes: Vec::new(),
            reveals: Vec::new(),
            clocks: Clocks::default(),
            log: Vec::new(),
            log_bytes: 0,
            http: Vec::new(),
            body_bytes: 0,
            answer: None,
            end: End::Dropped,
            left_out: Vec::new(),
        })))
    }

    pub(super) fn begin(&self, beginning: Beginning, vault: Vault) {
        self.notes().beginning = Some((beginning, vault));
    }

    pub(super) fn asked(&self, question: &impl Serialize) {
        // The contract's types are all JSON can hold.
        let question = serde_json::to_value(question).unwrap_or_default();
        self.notes().question = question;
    }

    pub(super) fn answered(&self, answer: &impl Serialize) {
        let answer = serde_json::to_value(answer).unwrap_or_default();
        self.notes().answer = Some(answer);
    }

    pub(super) fn ended(&self, end: End) {
        let notes = &mut *self.notes();
        (notes.end, notes.took) = (end, notes.started.elapsed());
    }

    pub(super) fn took_answer(&self) -> Option<Value> {
        self.notes().answer.clone()
    }

    pub(super) fn placeholder(
        &self,
        key: &str,
        encodings: &[PlaceholderEncoding],
        answer: &Result<String, Refusal>,
    ) {
        let answer = match answer {
            Ok(token) => Ok(token.clone()),
            Err(refusal) => Err(refusal_name(*refusal).to_owned()),
        };
        let encodings = encodings.iter().map(|encoding| encoding_name(*encoding).to_owned()).collect();
        let placeholder = Placeholder { key: key.to_owned(), encodings, answer };
        let mut notes = self.notes();
        if !notes.placeholders.contains(&placeholder) {
            let notes = &mut *notes;
            keep(&mut notes.placeholders, placeholder, "placeholders", &mut notes.left_out);
        }
    }

    pub(super) fn prefix(&self, key: &str, prefix: &[u8], answer: bool) {
        let what = "questions about the beginning of a value";
        let notes = &mut *self.notes();
        if prefix.len() > MOST_PREFIX_BYTES || notes.prefixes.len() >= MOST_PREFIXES {
            leave_out(what, &mut notes.left_out);
            return;
        }
        let prefix = Prefix { key: key.to_owned(), sha256: prefix_digest(prefix), answer };
        if !notes.prefixes.contains(&prefix) {
            keep(&mut notes.prefixes, prefix, what, &mut notes.left_out);
        }
    }

    pub(super) fn reveal(&self, key: &str, granted: bool) {
        let reveal = Reveal { key: key.to_owned(), granted, value: None };
        let notes = &mut *self.notes();
        if !notes.reveals.contains(&reveal) {
            keep(&mut notes.reveals, reveal, "reveals", &mut notes.left_out);
        }
    }

    pub(super) fn wall(&self, ns: u64) {
        let notes = &mut *self.notes();
        keep(&mut notes.clocks.wall_ns, ns, "readings of the wall clock", &mut notes.left_out);
    }

    pub(super) fn monotonic(&self, ns: u64) {
        let notes = &mut *self.notes();
        keep(&mut notes.clocks.monotonic_ns, ns, "readings of the monotonic clock", &mut notes.left_out);
    }

    pub(super) fn remaining(&self, ms: u64) {
        let notes = &mut *self.notes();
        keep(&mut notes.clocks.remaining_ms, ms, "readings of the deadline", &mut notes.left_out);
    }

    pub(super) fn log(&self, line: LogEntry) {
        let bytes: usize = line.message.len()
            + line.fields.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>();
        let notes = &mut *self.notes();
        let (is_small, what) = (notes.log_bytes.saturating_add(bytes) <= MOST_LOG_BYTES, "lines of the log");
        if is_small {
            notes.log_bytes += bytes;
            keep(&mut notes.log, line, what, &mut notes.left_out);
        } else {
            leave_out(what, &mut notes.left_out);
        }
    }

    /// A request begins. `None` when there are too many of them.
    pub(super) fn requested(&self, method: Method, url: Uri, headers: HeaderMap) -> Option<usize> {
        let exchange =
            RawExchange { method, url, headers, body: Captured::default(), outcome: RawOutcome::Unanswered };
        let notes = &mut *self.notes();
        let index = notes.http.len();
        keep(&mut notes.http, exchange, "requests", &mut notes.left_out).then_some(index)
    }

    pub(super) fn failed(&self, exchange: usize, error: &WasiError) {
        let notes = &mut *self.notes();
        let after = notes.started.elapsed();
        if let Some(exchange) = notes.http.get_mut(exchange) {
            exchange.outcome = RawOutcome::Failed { error: error.into(), after };
        }
    }

    pub(super) fn began_to_answer(&self, exchange: usize, status: StatusCode, headers: HeaderMap) {
        if let Some(exchange) = self.notes().http.get_mut(exchange) {
            let body = Captured::default();
            exchange.outcome = RawOutcome::Answer { status, headers, body, broke_off: None };
        }
    }

    /// A piece of a body passes.
    pub(super) fn body_piece(&self, exchange: usize, side: BodySide, piece: &[u8]) {
        let notes = &mut *self.notes();
        let is_small = notes.body_bytes.saturating_add(piece.len()) <= MOST_BODY_BYTES;
        let Some(captured) = notes.http.get_mut(exchange).and_then(|exchange| exchange.captured(side)) else {
            return;
        };
        captured.is_read = true;
        if captured.left_out_bytes > 0 || !is_small {
            let known = u64::try_from(captured.bytes.len()).unwrap_or(u64::MAX);
            notes.body_bytes = notes.body_bytes.saturating_sub(captured.bytes.len());
            captured.bytes = Vec::new();
            captured.left_out_bytes += known + u64::try_from(piece.len()).unwrap_or(u64::MAX);
            leave_out("bodies", &mut notes.left_out);
        } else {
            captured.bytes.extend_from_slice(piece);
            notes.body_bytes += piece.len();
        }
    }

    /// A body has passed up to its end.
    pub(super) fn body_end(&self, exchange: usize, side: BodySide) {
        let notes = &mut *self.notes();
        if let Some(captured) = notes.http.get_mut(exchange).and_then(|exchange| exchange.captured(side)) {
            (captured.is_read, captured.is_whole) = (true, true);
        }
    }

    pub(super) fn broke_off(&self, exchange: usize, side: BodySide, error: &WasiError) {
        if side == BodySide::Request {
            return;
        }
        let notes = &mut *self.notes();
        let after = notes.started.elapsed();
        if let Some(RawExchange { outcome: RawOutcome::Answer { body, broke_off, .. }, .. }) =
            notes.http.get_mut(exchange)
        {
            body.is_read = true;
            *broke_off = Some((error.into(), after));
        }
    }

    /// Placeholders that were given so far.
    pub(super) fn placeholders(&self) -> Vec<Placeholder> {
        self.notes().placeholders.clone()
    }

    /// About as much memory as the notes take.
    pub(super) fn size_bytes(&self) -> usize {
        let notes = self.notes();
        let entries = notes.clocks.wall_ns.len() + notes.clocks.monotonic_ns.len() + notes.log.len();
        notes.body_bytes + notes.log_bytes + 16 * entries + 4 * 1024 * (1 + notes.http.len())
    }

    pub(super) fn copy(&self) -> RawRecording {
        self.notes().clone()
    }

    /// A panic elsewhere leaves the state consistent, so a poisoned lock is usable.
    fn notes(&self) -> MutexGuard<'_, RawRecording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RawExchange {
    fn captured(&mut self, side: BodySide) -> Option<&mut Captured> {
        match (side, &mut self.outcome) {
            (BodySide::Request, _) => Some(&mut self.body),
            (BodySide::Answer, RawOutcome::Answer { body, .. }) => Some(body),
            (BodySide::Answer, RawOutcome::Unanswered | RawOutcome::Failed { .. }) => None,
        }
    }
}

fn keep<T>(list: &mut Vec<T>, entry: T, what: &str, left_out: &mut Vec<String>) -> bool {
    if list.len() >= MOST_ENTRIES {
        leave_out(what, left_out);
        return false;
    }
    list.push(entry);
    true
}

fn leave_out(what: &str, left_out: &mut Vec<String>) {
    if !left_out.iter().any(|known| known == what) {
        left_out.push(what.to_owned());
    }
}

/// In the words of the contract.
pub(super) fn encoding_name(encoding: PlaceholderEncoding) -> &'static str {
    match encoding {
        PlaceholderEncoding::Plain => "plain",
        PlaceholderEncoding::Base64 => "base64",
        PlaceholderEncoding::Form => "form",
        PlaceholderEncoding::JsonEscape => "json-escape",
        PlaceholderEncoding::Gzip => "gzip",
    }
}

/// In the words of the contract.
pub(super) fn refusal_name(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::NotGranted => "not-granted",
        Refusal::Encodings => "encodings",
        Refusal::TooMany => "too-many",
    }
}

/// A refusal that was written; what is unknown was none that this host gives.
pub(super) fn refusal_named(name: &str) -> Refusal {
    match name {
        "encodings" => Refusal::Encodings,
        "too-many" => Refusal::TooMany,
        _ => Refusal::NotGranted,
    }
}

/// Returns the digest that is recorded for a prefix.
pub(super) fn prefix_digest(prefix: &[u8]) -> String {
    use sha2::Digest as _;
    hex(&sha2::Sha256::digest(prefix))
}

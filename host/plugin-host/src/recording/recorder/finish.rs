//! Makes a recording from the raw one: each text passes the vault, so that no value of a secret stays in a spelling
//! that the host knows. Values that the grants reveal stay, if they do not look like credentials.

use std::time::Duration;

use http::HeaderMap;
use machinist_core::driver::error::Limit;
use serde_json::Value;

use super::body::Body;
use super::{Captured, RawExchange, RawOutcome, RawRecording};
use crate::recording::model::WireError;
use crate::recording::model::{End, Exchange, ExchangeOutcome, FORMAT, LogEntry, Recording, Reveal, Secrets};
use crate::vault::Vault;

/// Returns the recording; `None` for a call that did not begin. Searches all texts for secrets: not for the path of a
/// call.
pub(crate) fn finish(notes: RawRecording) -> Option<Recording> {
    let (begun, vault) = notes.beginning?;
    let clean = Clean(&vault);
    let cut_off_ms = is_cut_off(&notes.end).then_some(begun.limits.deadline_ms);
    Some(Recording {
        format: FORMAT,
        plugin: begun.plugin,
        digest: begun.digest,
        operation: begun.operation.to_owned(),
        subject: clean.text(&begun.subject),
        at: notes.at,
        took_ms: u64::try_from(notes.took.as_millis()).unwrap_or(u64::MAX),
        limits: begun.limits,
        settings: clean.text(&begun.settings),
        question: clean.value(notes.question),
        secrets: Secrets {
            placeholders: notes.placeholders,
            prefixes: notes.prefixes,
            reveals: notes.reveals.into_iter().map(|reveal| clean.reveal(reveal)).collect(),
            ..begun.secrets
        },
        seed: notes.seed.text(),
        clocks: notes.clocks,
        levels: begun.levels,
        log: notes.log.into_iter().map(|line| clean.line(line)).collect(),
        http: notes.http.into_iter().map(|exchange| clean.exchange(exchange, cut_off_ms)).collect(),
        end: clean.end(notes.end),
        left_out: notes.left_out,
    })
}

/// Between the end of a request at the deadline and the end of its call there are some turns of the scheduler.
const MOMENT: Duration = Duration::from_millis(50);

fn is_cut_off(end: &End) -> bool {
    matches!(end, End::Limit { limit, .. } if limit == Limit::Deadline.name())
}

struct Clean<'a>(&'a Vault);

impl Clean<'_> {
    fn text(&self, text: &str) -> String {
        match self.nested(text) {
            Some(clean) => clean,
            None => self.0.scrub_recorded(text).into_owned(),
        }
    }

    /// Scrubs a text that is JSON from the inside as well: nested escapes have too many spellings to search for. Writes
    /// the text again only if a value was found.
    fn nested(&self, text: &str) -> Option<String> {
        if !text.trim_start().starts_with(['{', '[']) {
            return None;
        }
        let value: Value = serde_json::from_str(text).ok()?;
        let clean = self.value(value.clone());
        (clean != value).then(|| clean.to_string())
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(list) => Value::Array(list.into_iter().map(|value| self.value(value)).collect()),
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(key, value)| (self.text(&key), self.value(value))).collect(),
            ),
            other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
        }
    }

    /// With the value, unless a recording masks it.
    fn reveal(&self, reveal: Reveal) -> Reveal {
        let value = if reveal.granted { self.0.recorded_value(&reveal.key) } else { None };
        Reveal { value, ..reveal }
    }

    fn line(&self, line: LogEntry) -> LogEntry {
        let field = |(key, value): (String, String)| (self.text(&key), self.text(&value));
        LogEntry {
            level: line.level,
            message: self.text(&line.message),
            fields: line.fields.into_iter().map(field).collect(),
        }
    }

    /// `cut_off_ms`: the deadline that ended the call. Requests that failed at that moment failed because of it, and
    /// the component did not see the failure.
    fn exchange(&self, raw: RawExchange, cut_off_ms: Option<u64>) -> Exchange {
        let is_too_late = |after: Duration| {
            cut_off_ms.is_some_and(|ms| after.saturating_add(MOMENT) >= Duration::from_millis(ms))
        };
        let outcome = match raw.outcome {
            RawOutcome::Unanswered => ExchangeOutcome::Unanswered,
            RawOutcome::Failed { after, .. } if is_too_late(after) => ExchangeOutcome::Unanswered,
            RawOutcome::Failed { error, .. } => ExchangeOutcome::Failed(self.error(error)),
            RawOutcome::Answer { status, headers, body, broke_off } => {
                let broke_off = broke_off.filter(|(_, after)| !is_too_late(*after));
                ExchangeOutcome::Answer {
                    status: status.as_u16(),
                    headers: self.headers(&headers),
                    stalls: cut_off_ms.is_some() && !body.is_whole && broke_off.is_none(),
                    body: self.body(&body),
                    broke_off: broke_off.map(|(error, _)| self.error(error)),
                }
            }
        };
        Exchange {
            method: raw.method.to_string(),
            url: self.text(&raw.url.to_string()),
            headers: self.headers(&raw.headers),
            body: self.body(&raw.body),
            outcome,
        }
    }

    /// Values that are no UTF-8 lose what is not: no header of a cloud is like that.
    fn headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        headers
            .iter()
            .map(|(name, value)| {
                (self.text(name.as_str()), self.text(&String::from_utf8_lossy(value.as_bytes())))
            })
            .collect()
    }

    fn body(&self, captured: &Captured) -> Body {
        if captured.left_out_bytes > 0 {
            Body::LeftOut(captured.left_out_bytes)
        } else if captured.is_read {
            match std::str::from_utf8(&captured.bytes) {
                Ok(text) => Body::Text(self.text(text)),
                Err(_) => Body::of(&self.0.scrub_recorded_bytes(&captured.bytes)),
            }
        } else {
            Body::Unread
        }
    }

    fn error(&self, error: WireError) -> WireError {
        match error {
            WireError::Internal(Some(detail)) => WireError::Internal(Some(self.text(&detail))),
            other => other,
        }
    }

    fn end(&self, end: End) -> End {
        match end {
            End::Answered { answer, breaks } => {
                End::Answered { answer: self.value(answer), breaks: breaks.map(|breaks| self.text(&breaks)) }
            }
            End::Trapped { detail } => End::Trapped { detail: self.text(&detail) },
            End::Limit { limit, detail } => End::Limit { limit, detail: self.text(&detail) },
            End::Refused { detail } => End::Refused { detail: self.text(&detail) },
            End::Dropped => End::Dropped,
        }
    }
}

//! Checks a policy's answer, and turns it into an opinion.

use jiff::{SignedDuration, Timestamp};

use super::cache::Asked;
use super::opinion::{Action, Opinion, PolicyVerdict};
use super::question::{MAX_HOLD, MIN_HOLD};

/// The pause before a policy that failed is asked again: short enough to notice a fix, long enough to cost nothing. One
/// that fails on every call is quarantined long before.
pub const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// The longest reason: more than a sentence needs, and short enough for an Event.
const MOST_CHARACTERS: usize = 300;

/// An answer of a policy, unchecked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAnswer {
    pub verdict: PolicyVerdict,
    pub reason: String,
    pub action: Action,
    /// Until when it holds.
    pub holds_until: Timestamp,
}

/// Returns the opinion of an answer, or of a missing one: `Err` says why there is none. Whatever a policy writes, the
/// opinion is one printable sentence, began in the past, and expires between [`MIN_HOLD`] and [`MAX_HOLD`] from `now`.
pub fn opinion_of(asked: &Asked, answer: Result<RawAnswer, String>, now: Timestamp) -> Opinion {
    let raw = answer.unwrap_or_else(|why| RawAnswer {
        verdict: PolicyVerdict::Unknown,
        reason: format!("policy {} gave no answer: {why}", asked.policy),
        action: Action::None,
        holds_until: after(now, ASK_AGAIN),
    });
    let verdict = match raw.verdict {
        PolicyVerdict::Unhealthy { since } => PolicyVerdict::Unhealthy { since: since.min(now) },
        PolicyVerdict::Healthy => PolicyVerdict::Healthy,
        PolicyVerdict::Unknown => PolicyVerdict::Unknown,
    };
    Opinion {
        policy: asked.policy.clone(),
        mode: asked.mode,
        verdict,
        reason: presentable(&raw.reason),
        action: raw.action,
        holds_until: raw.holds_until.clamp(after(now, MIN_HOLD), after(now, MAX_HOLD)),
    }
}

fn after(now: Timestamp, time: SignedDuration) -> Timestamp {
    now.checked_add(time).unwrap_or(Timestamp::MAX)
}

/// Returns one line without control characters, cut to the longest length.
fn presentable(text: &str) -> String {
    let is_blank = |character: char| character.is_whitespace() || character.is_control();
    let words = text.split(is_blank).filter(|word| !word.is_empty());
    let mut shown = String::new();
    let mut characters = 0;
    for word in words {
        let blank = (!shown.is_empty()).then_some(' ');
        for character in blank.into_iter().chain(word.chars()) {
            if characters >= MOST_CHARACTERS {
                shown.push('…');
                return shown;
            }
            shown.push(character);
            characters += 1;
        }
    }
    if shown.is_empty() { "it gives no reason".to_owned() } else { shown }
}

//! From what a policy answered to what may be relied upon.

use jiff::{SignedDuration, Timestamp};

use super::cache::Asked;
use super::opinion::{Action, Opinion, PolicyVerdict};
use super::question::{MAX_HOLD, MIN_HOLD};

/// When a policy that broke is asked again: soon enough to see that it was mended, seldom enough to cost nothing. One that
/// breaks on every call is left alone by its quarantine long before.
pub const ASK_AGAIN: SignedDuration = SignedDuration::from_secs(30);

/// More than a sentence needs, and less than hurts in an Event.
const MOST_CHARACTERS: usize = 300;

/// An answer, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawAnswer {
    /// Healthy or not.
    pub verdict: PolicyVerdict,
    /// Why.
    pub reason: String,
    /// What to do.
    pub action: Action,
    /// Until when it holds.
    pub holds_until: Timestamp,
}

/// Makes an opinion of an answer, or of the lack of one: `Err` says why there is none. Whatever a policy writes, the
/// opinion is one sentence that can be shown, began in the past, and ends between [`MIN_HOLD`] and [`MAX_HOLD`] from `now`.
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

/// One line without control characters, cut to a length that can be shown.
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

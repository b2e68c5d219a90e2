//! When a drain is reconciled again.

use jiff::{SignedDuration, Timestamp};

use super::pods::pod::PodFact;
use super::pods::state::{DOUBT_EVERY, PodState};
use super::pods::volume_moves::{VolumeLocation, VolumeMove};
use super::report::WaitCause;
use super::request::DrainRequest;

/// The shortest pause: most pods end within seconds, and someone may wait for them.
const FIRST: SignedDuration = SignedDuration::from_secs(1);

/// The longest pause for pods that have been terminating for minutes: it adds at most a quarter to their time, and a
/// thousand waiting drains cost a few dozen lists a second, so that others are not delayed.
const ENDING: SignedDuration = SignedDuration::from_secs(30);

/// The shortest and the longest pause between two evictions of a pod that its budget blocks; it grows with the time
/// that passes.
const BUDGET: (SignedDuration, SignedDuration) =
    (SignedDuration::from_secs(5), SignedDuration::from_secs(20));

/// The pause after an error, and for overdue pods.
pub(super) const PAUSE: SignedDuration = SignedDuration::from_secs(20);

/// The longest wait that the API server can ask for.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_mins(1);

/// The pause where an event wakes the drain, in case one is missed.
const EVENTS: SignedDuration = SignedDuration::from_secs(10);

/// The pause for attachments on other Nodes, which do not wake this drain.
const ELSEWHERE: SignedDuration = SignedDuration::from_secs(5);

/// Returns when a queued drain comes back. It is woken when a slot is free; the timer is for a missed wake-up. A server
/// that asks to wait is obeyed.
pub(super) fn in_line(
    request: &DrainRequest<'_>,
    pause: Option<SignedDuration>,
    now: Timestamp,
) -> SignedDuration {
    let pause = pause.unwrap_or(EVENTS).clamp(FIRST, LONGEST_PAUSE);
    stages(request, now).chain([pause]).min().unwrap_or(FIRST).max(FIRST)
}

fn stages(request: &DrainRequest<'_>, now: Timestamp) -> impl Iterator<Item = SignedDuration> {
    let stages = [request.patience_at(), request.timeout_at()];
    stages.into_iter().filter(move |at| *at > now).map(move |at| at.duration_since(now))
}

/// Returns the shortest pause of all that is awaited, and never past the next stage of the drain.
pub(super) fn wake(
    request: &DrainRequest<'_>,
    standings: &[PodState<'_>],
    transits: &[VolumeMove],
    now: Timestamp,
) -> SignedDuration {
    let elapsed = request.elapsed(now);
    let is_throttled = standings.iter().any(|standing| standing.cause == WaitCause::Throttled);
    // No pod is evicted before the API server's pause is over.
    let is_idle = |standing: &&PodState<'_>| is_throttled && standing.cause == WaitCause::NotAsked;
    let pods =
        standings.iter().filter(|standing| !is_idle(standing)).map(|standing| pod(standing, elapsed, now));
    let volumes = transits.iter().map(|transit| volume(transit, now));
    pods.chain(volumes).chain(stages(request, now)).chain(unlisted(request)).min().unwrap_or(FIRST)
}

fn unlisted(request: &DrainRequest<'_>) -> Option<SignedDuration> {
    request.facts.attachments.is_none().then_some(EVENTS)
}

fn pod(standing: &PodState<'_>, elapsed: SignedDuration, now: Timestamp) -> SignedDuration {
    let pause = standing.pause.unwrap_or_default().min(LONGEST_PAUSE);
    match standing.cause {
        WaitCause::Ending => ending(standing.pod, standing.ending_since.unwrap_or(now), now).max(pause),
        WaitCause::Overdue | WaitCause::Failed => PAUSE,
        WaitCause::Budget => (elapsed / 8).clamp(BUDGET.0, BUDGET.1).max(pause),
        // A fixed budget must not wait for the next trial eviction: listing pods evicts none.
        WaitCause::BudgetMisconfigured | WaitCause::SeveralBudgets => until_doubt(elapsed).min(PAUSE),
        WaitCause::NotAsked | WaitCause::JustAsked => FIRST,
        WaitCause::Throttled => pause.max(FIRST),
        // The pod before it decides when.
        WaitCause::WaitsForTurn
        | WaitCause::Detaching
        | WaitCause::DetachingTooLong
        | WaitCause::Reattaching => LONGEST_PAUSE,
    }
}

/// Soon after its deletion, then further apart, and once just after the end of its grace period.
fn ending(pod: &PodFact, since: Timestamp, now: Timestamp) -> SignedDuration {
    let waited = now.duration_since(since).max(SignedDuration::ZERO);
    let poll = (waited / 4).clamp(FIRST, ENDING);
    let deadline =
        pod.ending.map_or(poll, |ending| ending.deadline.duration_since(now).saturating_add(FIRST));
    if deadline >= FIRST { poll.min(deadline) } else { poll }
}

fn until_doubt(elapsed: SignedDuration) -> SignedDuration {
    let into = SignedDuration::from_millis_i128(elapsed.as_millis() % DOUBT_EVERY.as_millis());
    DOUBT_EVERY.saturating_sub(into)
}

fn volume(transit: &VolumeMove, now: Timestamp) -> SignedDuration {
    let left = transit.until.duration_since(now);
    match transit.place {
        VolumeLocation::Here => left.min(EVENTS),
        VolumeLocation::Between => left.min(ELSEWHERE),
        VolumeLocation::HereTooLong => LONGEST_PAUSE,
    }
}

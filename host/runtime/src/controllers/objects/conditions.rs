//! Conditions in `status.machinist`, and what counts as news among them.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_core::events::masked::masked;

/// Our condition on every object: why it is as it is.
pub(crate) const READY: &str = "Ready";

/// The longest message of a condition.
pub(crate) const MESSAGE_BYTES: usize = 2_048;

/// A condition as it is to stand. Its time stays where its status does.
pub(crate) fn condition(
    old: &[Condition],
    (kind, status): (&str, &str),
    (reason, message): (&str, &str),
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let since = old.iter().find(|old| old.type_ == kind && old.status == status);
    Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: crate::events::clip(message, MESSAGE_BYTES),
        observed_generation: generation,
        last_transition_time: since
            .map_or(machinist_api::value::time(now), |old| old.last_transition_time.clone()),
    }
}

/// They say the same. Times are no difference, and of a failure that `repeats` neither are ids of requests.
pub(crate) fn is_same(old: &Condition, new: &Condition, repeats: bool) -> bool {
    (&old.type_, &old.status, &old.reason) == (&new.type_, &new.status, &new.reason)
        && is_same_text(&old.message, &new.message, repeats)
}

/// Two texts say the same. Of a failure that `repeats`, ids that a cloud puts into each of its answers are no
/// difference.
pub(crate) fn is_same_text(old: &str, new: &str, repeats: bool) -> bool {
    old == new || (repeats && masked(old) == masked(new))
}

/// All of them say what stands there already.
pub(crate) fn are_unchanged(old: &[Condition], new: &[Condition]) -> bool {
    new.iter().all(|new| old.iter().any(|old| is_same(old, new, false)))
}

/// The list with those that changed in their places at the end.
pub(crate) fn merged<'a>(old: &'a [Condition], changed: &'a [Condition]) -> Vec<&'a Condition> {
    let is_kept = |old: &&Condition| changed.iter().all(|new| new.type_ != old.type_);
    old.iter().filter(is_kept).chain(changed).collect()
}

//! Conditions in `status.machinist` and those of Cluster API's contract, and which differences count.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use machinist_api::own_status::OwnStatus;
use machinist_core::events::masked::masked;
use serde_json::{Value, json};

/// Our condition on every object: why it is as it is.
pub(crate) const READY: &str = "Ready";

/// The longest message of a condition.
pub(crate) const MESSAGE_BYTES: usize = 2_048;

/// Returns a condition. Its time stays if its status does.
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

/// Condition of Cluster API's contract: whether an object is paused.
pub(crate) const PAUSED: &str = "Paused";

/// Returns the conditions of Cluster API's contract that a reconcile concludes. A paused object leaves `Ready` as it
/// is; `ready` is its status otherwise.
pub(crate) fn of_contract(
    old: &[Condition],
    ready: Option<&str>,
    text: (&str, &str),
    generation: Option<i64>,
    now: Timestamp,
) -> Vec<Condition> {
    let Some(ready) = ready else { return vec![condition(old, (PAUSED, "True"), text, generation, now)] };
    let not_paused = ("NotPaused", "nothing pauses it");
    vec![
        condition(old, (READY, ready), text, generation, now),
        condition(old, (PAUSED, "False"), not_paused, generation, now),
    ]
}

/// Returns `status.machinist` with the changed conditions; `None` if it says the same already.
pub(crate) fn own_status(
    old: Option<&OwnStatus>,
    changed: &[Condition],
    generation: Option<i64>,
) -> Option<Value> {
    let conditions = old.map(|old| old.conditions.as_slice()).unwrap_or_default();
    if are_unchanged(conditions, changed) && old.and_then(|old| old.observed_generation) == generation {
        return None;
    }
    Some(json!({ "conditions": merged(conditions, changed), "observedGeneration": generation }))
}

/// They say the same. Times are no difference, and of a failure that `repeats` neither are ids of requests.
pub(crate) fn is_same(old: &Condition, new: &Condition, repeats: bool) -> bool {
    (&old.type_, &old.status, &old.reason) == (&new.type_, &new.status, &new.reason)
        && is_same_text(&old.message, &new.message, repeats)
}

/// Returns whether the list has the condition, of the same generation.
pub(crate) fn is_reported(old: &[Condition], new: &Condition, repeats: bool) -> bool {
    old.iter().any(|old| is_same(old, new, repeats) && old.observed_generation == new.observed_generation)
}

/// Two texts say the same. Of a failure that `repeats`, ids that a cloud puts into each of its answers are no
/// difference.
pub(crate) fn is_same_text(old: &str, new: &str, repeats: bool) -> bool {
    old == new || (repeats && masked(old) == masked(new))
}

/// Returns whether all of them are in the list already.
fn are_unchanged(old: &[Condition], new: &[Condition]) -> bool {
    new.iter().all(|new| old.iter().any(|old| is_same(old, new, false)))
}

/// Returns the list with the changed conditions at its end.
pub(crate) fn merged<'a>(old: &'a [Condition], changed: &'a [Condition]) -> Vec<&'a Condition> {
    let is_kept = |old: &&Condition| changed.iter().all(|new| new.type_ != old.type_);
    old.iter().filter(is_kept).chain(changed).collect()
}

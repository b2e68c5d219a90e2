//! Limits how often the progress of a drain is reported.

use jiff::{SignedDuration, Timestamp};

use crate::machine::conclusion::MachineCondition;
use crate::machine::facts::ReportedCondition;

/// The least time between two reports of progress, longer than most pods need to terminate. A change of the cause is
/// reported at once; falling numbers are not worth a write each.
const TELL_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// The time after which the first report is updated. The first one says little, since pods were only just evicted; most
/// people look at a drain at its beginning.
const FIRST_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// Returns whether the condition is worth a write. `told` is the reported one.
pub(crate) fn is_worth_telling(
    told: Option<&ReportedCondition>,
    condition: &MachineCondition,
    now: Timestamp,
) -> bool {
    let Some(told) = told.filter(|told| told.reason == condition.reason) else { return true };
    told.message != condition.message && is_due(told, now)
}

/// Keeps the reported message as long as the difference is not worth a write.
pub(crate) fn told(
    told: Option<&ReportedCondition>,
    condition: MachineCondition,
    now: Timestamp,
) -> MachineCondition {
    match told {
        Some(told) if !is_worth_telling(Some(told), &condition, now) => {
            MachineCondition { message: told.message.clone(), ..condition }
        }
        Some(_) | None => condition,
    }
}

fn is_due(told: &ReportedCondition, now: Timestamp) -> bool {
    let Some(at) = told.at else { return true };
    let is_first = told.since.is_some_and(|since| at.duration_since(since).abs() < FIRST_AFTER);
    now.duration_since(at).abs() >= if is_first { FIRST_AFTER } else { TELL_EVERY }
}

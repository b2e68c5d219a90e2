//! How often the progress of a drain is told.

use jiff::{SignedDuration, Timestamp};

use crate::machine::conclusion::MachineCondition;
use crate::machine::facts::ReportedCondition;

/// Progress is told at least this far apart, which is longer than pods have to end as a rule. Its causes are told at once when
/// they change; numbers that fall are not worth a write each.
const TELL_EVERY: SignedDuration = SignedDuration::from_mins(1);

/// What is told in the first moment says little, since pods were only just asked. Those that have not left after this long are
/// named: most people who look at a drain look at its beginning.
const FIRST_AFTER: SignedDuration = SignedDuration::from_secs(5);

/// Whether the status is to say so. `told` is what it says.
pub(crate) fn is_worth_telling(
    told: Option<&ReportedCondition>,
    condition: &MachineCondition,
    now: Timestamp,
) -> bool {
    let Some(told) = told.filter(|told| told.reason == condition.reason) else { return true };
    told.message != condition.message && is_due(told, now)
}

/// With what the status says as long as the difference is not worth a write.
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

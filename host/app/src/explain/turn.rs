//! The next reconcile by the host. Pure.

use jiff::{SignedDuration, Timestamp};
use machinist_core::value::duration;
use machinist_runtime::machine_query::MachineDetails;

/// Returns when the host works on the object again, or why it does not.
pub(super) fn turn(details: &MachineDetails, now: Timestamp) -> Option<String> {
    if !details.leads {
        return Some(
            "the host that was asked does not lead, so it does nothing: ask the one that does".to_owned(),
        );
    }
    if let Some(why) = &details.frozen {
        return Some(format!("dangerous work is held: {why}"));
    }
    if details.is_reconciling {
        return Some("the host works on it at this moment".to_owned());
    }
    if details.awaits_own_writes {
        return Some("the host waits until its caches show what it wrote".to_owned());
    }
    let at = details.next_reconcile?;
    let failed = match details.failures {
        0 => String::new(),
        failures => {
            format!(" ({} failed in a row)", count(i32::try_from(failures).unwrap_or(i32::MAX), "pass"))
        }
    };
    let left = at.duration_since(now).max(SignedDuration::ZERO);
    Some(format!("the host looks again in {}{failed}, or when something changes", short(left)))
}

/// A number with its word.
pub(super) fn count(number: i32, what: &str) -> String {
    match (number, what) {
        (1, what) => format!("1 {what}"),
        (_, "pass") => format!("{number} passes"),
        _ => format!("{number} {what}s"),
    }
}

/// Whole seconds, as Go writes durations.
pub(crate) fn short(time: SignedDuration) -> String {
    duration::format(SignedDuration::from_secs(time.as_secs()))
}

//! The timetable of what is due.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::Subject;

/// A place in the timetable.
#[derive(Debug, Default)]
pub(super) struct Slot {
    pub(super) due: Option<Timestamp>,
    pub(super) is_busy: bool,
    pub(super) not_before: Option<Timestamp>,
}

impl Slot {
    /// Takes the place that is wanted, and gives up the one before.
    pub(super) fn schedule(
        &mut self,
        due: &mut BTreeSet<(Timestamp, Subject)>,
        wanted: Option<Timestamp>,
        now: Timestamp,
        subject: impl Fn() -> Subject,
    ) {
        // An overdue action is due now: the timetable is read in order.
        let wanted = wanted.map(|at| at.max(self.not_before.unwrap_or(now)).max(now));
        if self.due == wanted {
            return;
        }
        if let Some(at) = self.due {
            due.remove(&(at, subject()));
        }
        if let Some(at) = wanted {
            due.insert((at, subject()));
        }
        self.due = wanted;
    }
}

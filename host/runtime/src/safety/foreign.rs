//! VMs without a Machine that carry no Machine's uid: what is said of them. Nothing is done about them.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use machinist_core::value::id::ProviderId;

/// They cost money every day, so they are told every day.
const REPORT_INTERVAL: SignedDuration = SignedDuration::from_hours(24);

/// So many are named.
const NAMED: usize = 5;

/// Those that the last listing of a class has shown.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    vms: BTreeSet<ProviderId>,
    reported_at: Option<Timestamp>,
}

impl Foreign {
    /// Their ids.
    pub(super) fn vms(&self) -> &BTreeSet<ProviderId> {
        &self.vms
    }

    /// Takes note of a listing. Some when there is something to tell: one more, or all of them a day later.
    pub(super) fn report(&mut self, vms: BTreeSet<ProviderId>, now: Timestamp) -> Option<String> {
        let are_new = !vms.is_subset(&self.vms);
        self.vms = vms;
        // By a clock that was set back they were told in the future.
        let is_recent = |at: Timestamp| at <= now && now.duration_since(at) < REPORT_INTERVAL;
        if self.vms.is_empty() || (!are_new && self.reported_at.is_some_and(is_recent)) {
            return None;
        }
        self.reported_at = Some(now);
        let named: Vec<&str> = self.vms.iter().take(NAMED).map(ProviderId::as_str).collect();
        let more = self.vms.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        Some(format!(
            "{} VMs have no Machine and carry no mark of this control plane, so that they are left alone: {}{more}; remove \
             them in the cloud, or correct what the plugin's settings adopt",
            self.vms.len(),
            named.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vms(count: usize) -> BTreeSet<ProviderId> {
        (0..count).map(|number| ProviderId::new(format!("vm-{number}"))).collect()
    }

    fn at(hour: i64) -> Timestamp {
        Timestamp::from_second(1_000_000 + hour * 3_600).unwrap()
    }

    #[test]
    fn they_are_reported_when_there_is_one_more_and_once_a_day() {
        let mut foreign = Foreign::default();
        let mut reports = |count, hour| foreign.report(vms(count), at(hour)).is_some();
        assert!(!reports(0, 0));
        assert!(reports(2, 1));
        assert!(!reports(2, 2) && !reports(1, 3), "fewer are no news");
        assert!(reports(2, 4), "one has come");
        assert!(!reports(2, 27) && reports(2, 28));
        assert!(!reports(0, 60));
        assert!(reports(1, 61));
        assert!(reports(1, -30), "the clock was set back");
    }

    #[test]
    fn a_thousand_of_them_are_one_message_that_names_a_few() {
        let mut foreign = Foreign::default();
        let message = foreign.report(vms(1_000), at(0)).unwrap();
        assert!(message.starts_with("1000 VMs have no Machine and carry no mark"), "{message}");
        assert!(message.contains("and 995 more") && message.len() < 500, "{message}");
        assert_eq!(foreign.vms().len(), 1_000);
    }
}

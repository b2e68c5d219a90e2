//! When a VM may be rebooted.

use jiff::Timestamp;

use crate::safety::meltdown::REBOOT_INTERVAL;

/// How many reboots are stored on a Machine. Older ones do not help a policy.
const REMEMBERED: usize = 10;

/// The reboots of a Machine, in an annotation of the Machine: each is written before it is requested, so a restarted
/// host knows of it and does not repeat it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reboots(Vec<Timestamp>);

/// The decision about a reboot that a policy wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RebootStep {
    /// Write this annotation, then request the reboot.
    Reboot(Reboots),
    /// The last one is too recent: not before this time.
    NotBefore(Timestamp),
}

impl Reboots {
    /// Reads the annotation: times separated by commas. Invalid ones are skipped, so that they cannot stop reboots for
    /// ever; `None` counts as none.
    pub fn parse(text: Option<&str>) -> Self {
        let mut times: Vec<Timestamp> =
            text.unwrap_or_default().split(',').filter_map(|time| time.trim().parse().ok()).collect();
        times.sort();
        times.dedup();
        Self(times)
    }

    /// Returns the text of the annotation.
    pub fn render(&self) -> String {
        let times: Vec<String> = self.0.iter().map(Timestamp::to_string).collect();
        times.join(",")
    }

    pub fn times(&self) -> &[Timestamp] {
        &self.0
    }

    /// Decides about one more.
    pub fn next(&self, now: Timestamp) -> RebootStep {
        // A time ahead of the clock is wrong, and must not block reboots.
        let last = self.0.iter().rev().find(|time| **time <= now);
        if let Some(not_before) = last.and_then(|last| last.checked_add(REBOOT_INTERVAL).ok())
            && now < not_before
        {
            return RebootStep::NotBefore(not_before);
        }
        let mut times: Vec<Timestamp> = self.0.iter().copied().filter(|time| *time <= now).collect();
        times.push(now);
        let first = times.len().saturating_sub(REMEMBERED);
        RebootStep::Reboot(Self(times.split_off(first)))
    }
}

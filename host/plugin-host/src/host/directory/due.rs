//! Decides which plugins are to be read, and which are gone, by two scans. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use super::scan::Stamps;

/// The consequence of a scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// It is there in a state that was not read yet.
    Read(String),
    /// It was absent in two scans: between them it may have been renamed away and back.
    Gone(String),
}

/// The results of earlier scans.
#[derive(Debug, Default)]
pub(super) struct KnownPlugins {
    plugins: BTreeMap<String, Plugin>,
    invalid: BTreeSet<String>,
    /// Everything must be signed.
    is_strict: bool,
}

#[derive(Debug)]
struct Plugin {
    stamps: Stamps,
    is_read: bool,
    is_missed: bool,
}

impl KnownPlugins {
    /// Returns the consequences of a scan.
    pub(super) fn next(&mut self, scan: BTreeMap<String, Stamps>, now: SystemTime) -> Vec<Due> {
        let mut due = Vec::new();
        self.plugins.retain(|name, plugin| {
            let is_missing = !scan.contains_key(name);
            let is_gone = is_missing && plugin.is_missed;
            plugin.is_missed = is_missing;
            if is_gone {
                due.push(Due::Gone(name.clone()));
            }
            !is_gone
        });
        for (name, stamps) in scan {
            let is_same = self.is(&name, &stamps);
            let was_read = is_same && self.plugins.get(&name).is_some_and(|plugin| plugin.is_read);
            // Two equal scans mean that it is not being written.
            let is_read = was_read || is_same || stamps.is_at_rest(now);
            if is_read && !was_read {
                due.push(Due::Read(name.clone()));
            }
            self.plugins.insert(name, Plugin { stamps, is_read, is_missed: false });
        }
        due
    }

    /// True when the last look found it so.
    pub(super) fn is(&self, name: &str, stamps: &Stamps) -> bool {
        self.plugins.get(name).is_some_and(|plugin| plugin.stamps == *stamps)
    }

    /// Whether everything must be signed. When that has changed, all is read again.
    pub(super) fn under_rule(&mut self, is_strict: bool) {
        if self.is_strict != is_strict {
            self.is_strict = is_strict;
            self.plugins.values_mut().for_each(|plugin| plugin.is_read = false);
        }
    }

    /// It is to be read again.
    pub(super) fn again(&mut self, name: &str) {
        if let Some(plugin) = self.plugins.get_mut(name) {
            plugin.is_read = false;
        }
    }

    /// True while something is there that was not read.
    pub(super) fn is_waiting(&self) -> bool {
        self.plugins.values().any(|plugin| !plugin.is_read)
    }

    /// Of these names without meaning, those that were not there before.
    pub(super) fn invalid(&mut self, names: &[String]) -> Vec<String> {
        let names: BTreeSet<String> = names.iter().cloned().collect();
        let strange = names.difference(&self.invalid).cloned().collect();
        self.invalid = names;
        strange
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use super::super::scan::Stamp;
    use super::*;

    const NOW: i64 = 1_800_000_000;

    /// A file of this size, last written and last changed so many seconds before now.
    fn file(bytes: u64, written: i64, changed: i64) -> Stamps {
        let (modified, changed) = ((NOW - written, 0), (NOW - changed, 0));
        let stamp = Stamp::File { device: 1, inode: 1, bytes, modified, changed };
        Stamps(BTreeMap::from([(PathBuf::from("sim.wasm"), stamp)]))
    }

    fn scans(scans: &[Option<Stamps>]) -> Vec<Vec<Due>> {
        let mut known = KnownPlugins::default();
        let scan = |stamps: &Option<Stamps>| {
            let plugins = stamps.iter().map(|stamps| ("sim".to_owned(), stamps.clone())).collect();
            known.next(plugins, SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.unsigned_abs()))
        };
        scans.iter().map(scan).collect()
    }

    fn read() -> Vec<Due> {
        vec![Due::Read("sim".to_owned())]
    }

    #[test]
    fn a_file_that_is_written_is_read_after_two_equal_scans() {
        let (half, whole) = (Some(file(5, 0, 0)), Some(file(9, 0, 0)));
        let scans = scans(&[half.clone(), whole.clone(), whole.clone(), whole]);
        assert_eq!(scans, [vec![], vec![], read(), vec![]]);
        drop(half);
    }

    #[test]
    fn a_renamed_or_old_file_is_read_at_once() {
        assert_eq!(scans(&[Some(file(9, 1, 0))]), [read()]);
        assert_eq!(scans(&[Some(file(9, 60, 60))]), [read()]);
        assert_eq!(scans(&[Some(file(9, 2, 2))]), [vec![]]);
        assert_eq!(scans(&[Some(file(9, -3600, -3600))]), [vec![]], "a clock that is ahead");
    }

    #[test]
    fn a_plugin_that_is_absent_once_may_come_back() {
        let there = Some(file(9, 60, 60));
        let gone = vec![Due::Gone("sim".to_owned())];
        assert_eq!(scans(&[there.clone(), None, there.clone()]), [read(), vec![], vec![]]);
        assert_eq!(scans(&[there.clone(), None, None, None]), [read(), vec![], gone.clone(), vec![]]);
        assert_eq!(scans(&[there.clone(), None, None, there]), [read(), vec![], gone, read()]);
    }

    #[test]
    fn a_failed_read_is_repeated() {
        let mut known = KnownPlugins::default();
        let scan = || BTreeMap::from([("sim".to_owned(), file(9, 60, 60))]);
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW.unsigned_abs());
        assert_eq!(known.next(scan(), now), read());
        assert!(!known.is_waiting());
        known.again("sim");
        assert!(known.is_waiting());
        assert_eq!(known.next(scan(), now), read());
    }

    #[test]
    fn an_invalid_name_is_reported_once() {
        let mut known = KnownPlugins::default();
        let names = ["README".to_owned()];
        assert_eq!(known.invalid(&names), names);
        assert_eq!(known.invalid(&names), Vec::<String>::new());
        assert_eq!(known.invalid(&[]), Vec::<String>::new());
        assert_eq!(known.invalid(&names), names);
    }
}

//! The status that is written next: for each ConfigMap one at a time, and of those that wait only the newest.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::time::Instant;

use crate::client::field_manager::PLUGIN_STATUS;
use crate::ports::PluginStatus;

/// Until a status that could not be written is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Writes at the same time. Each belongs to another ConfigMap, of which a cluster has a handful.
const CONCURRENT_WRITES: usize = 8;

/// How a write has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusWrite {
    /// The ConfigMap has the status.
    Yes,
    /// The server refuses it, and would again.
    Refused,
    /// The next attempt may succeed.
    NotYet,
}

/// Statuses by the name of the ConfigMap.
#[derive(Default)]
pub(super) struct Statuses {
    known: BTreeMap<String, KnownConfigMap>,
    waiting: BTreeMap<String, PluginStatus>,
    in_flight: BTreeSet<String>,
    /// They failed before, and wait until `retry_at`.
    paused: BTreeSet<String>,
    retry_at: Option<Instant>,
}

/// A ConfigMap, as far as a write needs it.
struct KnownConfigMap {
    uid: String,
    status: Option<String>,
}

impl Statuses {
    /// A ConfigMap is there.
    pub(super) fn found(&mut self, name: String, map: &ConfigMap) {
        let annotations = map.metadata.annotations.as_ref();
        let known = KnownConfigMap {
            uid: map.metadata.uid.clone().unwrap_or_default(),
            status: annotations.and_then(|all| all.get(PLUGIN_STATUS)).cloned(),
        };
        self.known.insert(name, known);
    }

    /// A ConfigMap is gone.
    pub(super) fn gone(&mut self, name: &str) {
        self.known.remove(name);
        self.waiting.remove(name);
    }

    /// Returns the ConfigMaps that are known and not in the list.
    pub(super) fn missing_in(&self, listed: &[String]) -> Vec<String> {
        self.known.keys().filter(|name| !listed.contains(name)).cloned().collect()
    }

    /// Takes a status in, in place of the one that waits for the same ConfigMap.
    pub(super) fn post(&mut self, name: String, plugin_status: PluginStatus) {
        self.waiting.insert(name, plugin_status);
    }

    /// Returns a status that is to be written at once. Each must be reported by [`Statuses::ended`].
    pub(super) fn take(&mut self) -> Option<(String, PluginStatus)> {
        while self.in_flight.len() < CONCURRENT_WRITES {
            let is_free = |name: &&String| !self.in_flight.contains(*name) && !self.paused.contains(*name);
            let name = self.waiting.keys().find(is_free)?.clone();
            let plugin_status = self.waiting.remove(&name)?;
            if self.is_wanted(&name, &plugin_status) {
                self.in_flight.insert(name.clone());
                return Some((name, plugin_status));
            }
        }
        None
    }

    /// False for a ConfigMap that is gone, was replaced, or has this status.
    fn is_wanted(&self, name: &str, plugin_status: &PluginStatus) -> bool {
        let known = self.known.get(name).filter(|known| known.uid == plugin_status.uid);
        known.is_some_and(|known| known.status.as_deref() != Some(plugin_status.status.as_str()))
    }

    /// A write has ended.
    pub(super) fn ended(
        &mut self,
        name: String,
        plugin_status: PluginStatus,
        written: StatusWrite,
        now: Instant,
    ) {
        self.in_flight.remove(&name);
        match written {
            // The watch may show it only after the next news.
            StatusWrite::Yes => {
                if let Some(known) = self.known.get_mut(&name).filter(|known| known.uid == plugin_status.uid)
                {
                    known.status = Some(plugin_status.status);
                }
            }
            StatusWrite::Refused => {}
            StatusWrite::NotYet => {
                self.paused.insert(name.clone());
                self.waiting.entry(name).or_insert(plugin_status);
                self.retry_at.get_or_insert(now + RETRY);
            }
        }
    }

    /// Returns when to call [`Statuses::retry`].
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Lets the writes that failed be tried again.
    pub(super) fn retry(&mut self) {
        self.paused.clear();
        self.retry_at = None;
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

    use super::*;

    fn plugin_status(uid: &str, status: &str) -> PluginStatus {
        PluginStatus {
            source: "plugins/driver".to_owned(),
            config_map: Some("driver".to_owned()),
            uid: uid.to_owned(),
            state: "Ready".to_owned(),
            is_final: true,
            is_warning: false,
            message: String::new(),
            status: status.to_owned(),
            providers: Vec::new(),
            is_policy: false,
        }
    }

    fn find(statuses: &mut Statuses, name: &str, uid: &str, status: Option<&str>) {
        let annotations = status.map(|status| [(PLUGIN_STATUS.to_owned(), status.to_owned())].into());
        let metadata = ObjectMeta { uid: Some(uid.to_owned()), annotations, ..ObjectMeta::default() };
        statuses.found(name.to_owned(), &ConfigMap { metadata, ..ConfigMap::default() });
    }

    /// Statuses with the ConfigMap `a`.
    fn statuses() -> Statuses {
        let mut statuses = Statuses::default();
        find(&mut statuses, "a", "1", None);
        statuses
    }

    fn post(statuses: &mut Statuses, name: &str, status: &str) {
        statuses.post(name.to_owned(), plugin_status("1", status));
    }

    /// The names and statuses of the writes that begin.
    fn begin(statuses: &mut Statuses) -> Vec<(String, String)> {
        std::iter::from_fn(|| statuses.take())
            .map(|(name, plugin_status)| (name, plugin_status.status))
            .collect()
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(name, status)| ((*name).to_owned(), (*status).to_owned())).collect()
    }

    #[test]
    fn writes_of_one_configmap_follow_each_other_and_only_the_newest_waits() {
        let mut statuses = statuses();
        find(&mut statuses, "b", "1", None);
        post(&mut statuses, "a", "one");
        assert_eq!(begin(&mut statuses), pairs(&[("a", "one")]));
        post(&mut statuses, "a", "two");
        post(&mut statuses, "a", "three");
        post(&mut statuses, "b", "one");
        assert_eq!(begin(&mut statuses), pairs(&[("b", "one")]), "another ConfigMap does not wait");
        statuses.ended("a".to_owned(), plugin_status("1", "one"), StatusWrite::Yes, Instant::now());
        assert_eq!(begin(&mut statuses), pairs(&[("a", "three")]));
        statuses.ended("a".to_owned(), plugin_status("1", "three"), StatusWrite::Yes, Instant::now());
        post(&mut statuses, "a", "three");
        assert!(begin(&mut statuses).is_empty(), "it has this status");
    }

    #[test]
    fn a_write_that_failed_waits_and_gives_way_to_a_newer_one() {
        let (mut statuses, now) = (statuses(), Instant::now());
        post(&mut statuses, "a", "one");
        assert_eq!((begin(&mut statuses).len(), statuses.retry_at()), (1, None));
        statuses.ended("a".to_owned(), plugin_status("1", "one"), StatusWrite::NotYet, now);
        assert!(begin(&mut statuses).is_empty());
        assert_eq!(statuses.retry_at(), Some(now + RETRY));
        post(&mut statuses, "a", "two");
        assert!(begin(&mut statuses).is_empty(), "it failed a moment ago");
        statuses.retry();
        assert_eq!(statuses.retry_at(), None);
        assert_eq!(begin(&mut statuses), pairs(&[("a", "two")]));
        post(&mut statuses, "a", "three");
        statuses.ended("a".to_owned(), plugin_status("1", "two"), StatusWrite::NotYet, now);
        statuses.retry();
        assert_eq!(begin(&mut statuses), pairs(&[("a", "three")]));
        statuses.ended("a".to_owned(), plugin_status("1", "three"), StatusWrite::Refused, now);
        statuses.retry();
        assert!(begin(&mut statuses).is_empty(), "it would be refused again");
    }

    #[test]
    fn a_configmap_that_is_gone_or_replaced_gets_no_status_of_the_one_before() {
        let mut statuses = statuses();
        post(&mut statuses, "unknown", "one");
        post(&mut statuses, "a", "one");
        find(&mut statuses, "a", "2", None);
        assert!(begin(&mut statuses).is_empty());
        let mut statuses = self::statuses();
        post(&mut statuses, "a", "one");
        assert_eq!(begin(&mut statuses).len(), 1);
        statuses.gone("a");
        statuses.ended("a".to_owned(), plugin_status("1", "one"), StatusWrite::NotYet, Instant::now());
        statuses.retry();
        assert!(begin(&mut statuses).is_empty());
        find(&mut statuses, "a", "2", Some("new"));
        find(&mut statuses, "b", "3", None);
        assert_eq!(statuses.missing_in(&["b".to_owned()]), ["a"]);
    }

    #[test]
    fn no_more_than_a_few_are_written_at_a_time() {
        let mut statuses = Statuses::default();
        let names: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
        for name in &names {
            find(&mut statuses, name, "1", None);
            post(&mut statuses, name, "one");
        }
        assert_eq!(begin(&mut statuses).len(), CONCURRENT_WRITES);
        statuses.ended("00".to_owned(), plugin_status("1", "one"), StatusWrite::Yes, Instant::now());
        assert_eq!(begin(&mut statuses), pairs(&[("08", "one")]));
    }
}

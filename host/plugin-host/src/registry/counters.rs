//! Versions with a signed counter: a lower counter never serves beside a higher one, whatever the ConfigMap says about
//! versions and times, which its writers choose.
//!
//! A version on trial, or a withdrawn one, displaces nothing: until a promotion the earlier version serves, and after a
//! withdrawal it serves again.

use std::collections::BTreeMap;

use jiff::Timestamp;
use machinist_artifacts::bundle;

use super::{Eligibility, Registry, SourceState, Stage, Version, set_stage};
use crate::sources::PluginKey;
use crate::sources::signatures::counters::displaced;

impl<G: Clone> Registry<G> {
    /// The highest counter of each plugin among its versions that are Ready and whole.
    pub(crate) fn counters(&self) -> BTreeMap<PluginKey, u64> {
        let mut highest = BTreeMap::new();
        for source in self.sources.values() {
            let whole = source.version.as_ref().filter(|version| version.eligibility == Eligibility::Whole);
            if let Some(counter) = whole.and_then(|version| version.counter) {
                let known = highest.entry(source.plugin.clone()).or_insert(counter);
                *known = counter.max(*known);
            }
        }
        highest
    }

    /// Displaces versions with a counter below the highest of their plugin. Returns true if there were some.
    pub(super) fn displace_lower(&mut self, now: Timestamp) -> bool {
        let highest = self.counters();
        let mut has_changed = false;
        for source in self.sources.values_mut() {
            if let Some(highest) = highest.get(&source.plugin) {
                has_changed |= displace(source, *highest, now);
            }
        }
        has_changed
    }
}

fn displace<G>(source: &mut SourceState<G>, highest: u64, now: Timestamp) -> bool {
    let is_low = |version: &mut Version<G>| !bundle::is_current(version.counter, Some(highest));
    let newest = [&mut source.version, &mut source.waiting, &mut source.denied];
    let gone: Vec<Option<u64>> =
        newest.into_iter().filter_map(|slot| slot.take_if(is_low)).map(|version| version.counter).collect();
    let lost_before = source.before.take_if(is_low).is_some();
    let is_empty = source.version.is_none() && source.waiting.is_none() && source.denied.is_none();
    // A version that is being loaded is judged by the counter that is kept when it arrives.
    if let (Some(counter), true, false) = (gone.last(), is_empty, source.is_loading()) {
        set_stage(source, Stage::Rejected { reason: displaced(*counter, highest) }, now);
    }
    lost_before || !gone.is_empty()
}

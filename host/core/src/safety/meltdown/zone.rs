//! Zones whose Nodes go silent together.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::id::{FailureDomain, ObjectKey};

use super::{MemberFact, PERMIT_LIFETIME, Standing, is_rebooting};

/// One silent Node says nothing of its zone.
const SILENT_AT_LEAST: usize = 2;

/// What a zone says about what is to be done to one of its Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneState {
    /// Which zone.
    pub name: FailureDomain,
    /// So many of its Nodes are silent at the same time that the zone is not believed to be dead while the cloud says that the
    /// VM is alive.
    pub is_silent: bool,
    /// Another one of its Machines has failed or is being started anew, or is about to, so that the cloud is asked.
    pub has_trouble: bool,
}

#[derive(Clone, Debug, Default)]
struct Zone {
    /// Machines in service, healthy or not.
    serving: usize,
    silent: usize,
    failed: BTreeSet<ObjectKey>,
    /// Those that are not healthy and whose VM was started anew: when.
    rebooted: BTreeMap<ObjectKey, Timestamp>,
    /// Those who hold a permit, until when.
    permits: BTreeMap<ObjectKey, Timestamp>,
}

/// All zones.
#[derive(Clone, Debug)]
pub(super) struct Zones {
    silent_percent: usize,
    zones: BTreeMap<FailureDomain, Zone>,
    /// Where the holders of permits asked.
    asked: BTreeMap<ObjectKey, FailureDomain>,
}

impl Zones {
    pub(super) fn new(silent_percent: u32) -> Self {
        let silent_percent = usize::try_from(silent_percent).unwrap_or(usize::MAX);
        Self { silent_percent, zones: BTreeMap::new(), asked: BTreeMap::new() }
    }

    pub(super) fn update(&mut self, key: &ObjectKey, old: Option<&MemberFact>, new: Option<&MemberFact>) {
        if let Some(old) = old
            && let Some(name) = &old.zone
            && let Some(zone) = self.zones.get_mut(name)
        {
            let (serves, is_silent) = share(old.standing);
            zone.serving -= usize::from(serves);
            zone.silent -= usize::from(is_silent);
            zone.failed.remove(key);
            zone.rebooted.remove(key);
        }
        if let Some(new) = new
            && let Some(name) = &new.zone
        {
            let zone = self.zones.entry(name.clone()).or_default();
            let (serves, is_silent) = share(new.standing);
            zone.serving += usize::from(serves);
            zone.silent += usize::from(is_silent);
            if new.standing == Standing::Failed {
                zone.failed.insert(key.clone());
            }
            if let Some(at) = new.reboot() {
                zone.rebooted.insert(key.clone(), at);
            }
        }
        if let Some(name) = old.and_then(|old| old.zone.as_ref()) {
            self.tidy(name);
        }
    }

    /// Notes that something is about to be done to the Machine, and says what speaks against it. `None`: nothing.
    pub(super) fn ask(
        &mut self,
        key: &ObjectKey,
        name: Option<&FailureDomain>,
        now: Timestamp,
    ) -> Option<ZoneState> {
        let name = name?;
        let zone = self.zones.entry(name.clone()).or_default();
        zone.permits.retain(|_, until| *until > now);
        let is_silent = zone.silent >= SILENT_AT_LEAST
            && zone.silent.saturating_mul(100) >= zone.serving.saturating_mul(self.silent_percent);
        zone.rebooted.retain(|_, at| is_rebooting(*at, now));
        let mut in_trouble = zone.failed.iter().chain(zone.rebooted.keys()).chain(zone.permits.keys());
        let has_trouble = in_trouble.any(|other| other != key);
        let until = now.checked_add(PERMIT_LIFETIME).unwrap_or(Timestamp::MAX);
        zone.permits.insert(key.clone(), until);
        self.asked.insert(key.clone(), name.clone());
        (is_silent || has_trouble).then(|| ZoneState { name: name.clone(), is_silent, has_trouble })
    }

    pub(super) fn give_back(&mut self, key: &ObjectKey) {
        let Some(name) = self.asked.remove(key) else { return };
        if let Some(zone) = self.zones.get_mut(&name) {
            zone.permits.remove(key);
        }
        self.tidy(&name);
    }

    /// A zone goes with its last Machine.
    fn tidy(&mut self, name: &FailureDomain) {
        // Whoever was started anew serves.
        let is_empty = |zone: &Zone| zone.serving == 0 && zone.failed.is_empty() && zone.permits.is_empty();
        if self.zones.get(name).is_some_and(is_empty) {
            self.zones.remove(name);
        }
    }
}

/// Whether a Machine counts as one of its zone that serves, and as one that is silent.
fn share(standing: Standing) -> (bool, bool) {
    match standing {
        Standing::Running { is_silent } | Standing::Doubtful { is_silent } => (true, is_silent),
        Standing::Away | Standing::Failed | Standing::Kept => (false, false),
    }
}

#[cfg(test)]
impl Zones {
    pub(super) fn is_empty(&self) -> bool {
        self.zones.is_empty() && self.asked.is_empty()
    }

    pub(super) fn counts(&self) -> impl Iterator<Item = (FailureDomain, (usize, usize))> {
        self.zones.iter().map(|(name, zone)| (name.clone(), (zone.serving, zone.silent)))
    }
}

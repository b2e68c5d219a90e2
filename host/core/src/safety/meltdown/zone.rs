//! Zones whose Nodes go silent together.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{FailureDomain, ObjectKey};

use super::{MemberFact, MemberState, PERMIT_LIFETIME, is_rebooting};

/// One silent Node proves nothing about its zone.
const SILENT_AT_LEAST: usize = 2;

/// How long a zone remembers a failed Machine, from its permit on. Longer than its replacement takes, so that a zone in
/// which one Machine after the other fails is recognised.
pub(super) const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);

/// The state of a zone, for an action on one of its Machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneState {
    pub name: FailureDomain,
    /// So many of its Nodes are silent at once that the network is suspected while the cloud says that the VM is alive.
    pub is_silent: bool,
    /// Another one of its Machines is silent, has failed not long ago, is being rebooted, or is about to be one of
    /// these, so that the cloud is queried.
    pub has_trouble: bool,
}

#[derive(Clone, Debug, Default)]
struct Zone {
    /// Machines in service, healthy or not.
    serving: usize,
    silent: usize,
    failed: BTreeSet<ObjectKey>,
    /// Unhealthy Machines with a rebooted VM, and when.
    rebooted: BTreeMap<ObjectKey, Timestamp>,
    /// Permits, and when each expires.
    permits: BTreeMap<ObjectKey, Timestamp>,
    /// Machines that failed with a permit, existing or not, and until when they are remembered. A restart forgets them,
    /// which costs one query.
    remembered: BTreeMap<ObjectKey, Timestamp>,
}

impl Zone {
    fn age(&mut self, now: Timestamp) {
        self.permits.retain(|_, until| *until > now);
        self.remembered.retain(|_, until| *until > now);
        self.rebooted.retain(|_, at| is_rebooting(*at, now));
    }

    /// Returns whether another one has a problem.
    fn has_trouble(&self, key: &ObjectKey, is_silent: bool) -> bool {
        let known = self.failed.iter().chain(self.rebooted.keys());
        let mut known = known.chain(self.permits.keys()).chain(self.remembered.keys());
        self.silent > usize::from(is_silent) || known.any(|other| other != key)
    }

    /// Returns whether the zone has no Machines, and nothing to remember.
    fn is_empty(&self) -> bool {
        // A rebooted Machine is in service.
        self.serving == 0 && self.failed.is_empty() && self.permits.is_empty() && self.remembered.is_empty()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Zones {
    silent_percent: usize,
    zones: BTreeMap<FailureDomain, Zone>,
    /// The zone and time of each permit.
    asked: BTreeMap<ObjectKey, (FailureDomain, Timestamp)>,
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
            if new.standing == MemberState::Failed {
                zone.failed.insert(key.clone());
                if let Some((_, at)) = self.asked.get(key).filter(|(asked, _)| asked == name) {
                    let until = at.checked_add(REMEMBERED).unwrap_or(Timestamp::MAX);
                    zone.remembered.insert(key.clone(), until);
                }
            }
            if let Some(at) = new.reboot() {
                zone.rebooted.insert(key.clone(), at);
            }
        }
        if let Some(name) = old.and_then(|old| old.zone.as_ref()) {
            self.tidy(name);
        }
    }

    /// Notes an action on the Machine, and returns its zone's objection. `None`: no objection.
    pub(super) fn ask(&mut self, key: &ObjectKey, member: &MemberFact, now: Timestamp) -> Option<ZoneState> {
        self.zones.retain(|_, zone| {
            zone.age(now);
            !zone.is_empty()
        });
        let name = member.zone.as_ref()?;
        let zone = self.zones.entry(name.clone()).or_default();
        let is_silent = zone.silent >= SILENT_AT_LEAST
            && zone.silent.saturating_mul(100) >= zone.serving.saturating_mul(self.silent_percent);
        let has_trouble = zone.has_trouble(key, share(member.standing).1);
        let until = now.checked_add(PERMIT_LIFETIME).unwrap_or(Timestamp::MAX);
        zone.permits.insert(key.clone(), until);
        self.asked.insert(key.clone(), (name.clone(), now));
        (is_silent || has_trouble).then(|| ZoneState { name: name.clone(), is_silent, has_trouble })
    }

    pub(super) fn give_back(&mut self, key: &ObjectKey) {
        let Some((name, _)) = self.asked.remove(key) else { return };
        if let Some(zone) = self.zones.get_mut(&name) {
            zone.permits.remove(key);
        }
        self.tidy(&name);
    }

    fn tidy(&mut self, name: &FailureDomain) {
        if self.zones.get(name).is_some_and(Zone::is_empty) {
            self.zones.remove(name);
        }
    }
}

/// Returns whether a Machine counts as in service in its zone, and as silent.
fn share(standing: MemberState) -> (bool, bool) {
    match standing {
        MemberState::Running { is_silent } | MemberState::Doubtful { is_silent } => (true, is_silent),
        MemberState::Away | MemberState::Failed | MemberState::Kept => (false, false),
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

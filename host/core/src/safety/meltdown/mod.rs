//! Limits how many unhealthy Machines are replaced or rebooted at a time.
//!
//! There are two rules. Only so many Machines of one deployment may be away at a time: a Machine that is to fail, or
//! whose VM is to be rebooted, needs a permit, and keeps it until the cache shows the result. And the Nodes of a silent
//! zone are not believed to be dead until the cloud says so of each VM: the network to the zone is more likely broken.
//!
//! The structure follows the cache. The time of a request does not grow with the number of Machines.
//!
//! | module | what it does |
//! | --- | --- |
//! | `limit` | parses the limit: a number or a percentage |
//! | `zone` | finds zones whose Nodes went silent together |
//! | `renewal` | spaces replacements of Machines whose Node's name is taken |

mod limit;
mod renewal;
mod zone;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::value::id::{FailureDomain, Name, Namespace, ObjectKey};

pub use limit::{ReplacementLimit, ReplacementLimitError};
use renewal::Renewals;
pub use zone::ZoneState;
use zone::Zones;

/// How long a permit is kept for a Machine that neither fails nor is deleted: far longer than its write may take to be
/// seen, and short enough that a lost one does not block its deployment for the night.
pub const PERMIT_LIFETIME: SignedDuration = SignedDuration::from_mins(10);

/// The least time between two reboots of a VM, whatever policies say: it needs that time to start.
pub const REBOOT_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// How long a Machine with a rebooted VM counts as away unless it recovers. A minute longer than the time that a VM
/// gets to start: after a useless reboot it so keeps its permit for the next action, and Machines are finished one
/// after the other.
pub const REBOOT_LIFETIME: SignedDuration =
    SignedDuration::from_secs(REBOOT_INTERVAL.as_secs() + SignedDuration::from_mins(1).as_secs());

/// Returns true while an unhealthy Machine counts as away because its VM was rebooted. A time far ahead of the clock is
/// wrong, and does not count.
fn is_rebooting(at: Timestamp, now: Timestamp) -> bool {
    now.duration_since(at).abs() < REBOOT_LIFETIME
}

/// Machines that are replaced one after the other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnerGroup {
    /// Those with the same label `name`: of one MachineDeployment.
    Deployment(Namespace, Name),
    /// Those without the label, of one MachineSet.
    Set(Namespace, Name),
}

/// A Machine, as the others of its group and zone see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberFact {
    /// Its group. A Machine without one is not replaced, so that it does not limit others.
    pub group: Option<OwnerGroup>,
    /// Where its VM is.
    pub zone: Option<FailureDomain>,
    pub state: MemberState,
    /// When its VM was rebooted last, or was about to be.
    pub rebooted_at: Option<Timestamp>,
}

impl MemberFact {
    /// Returns the last reboot of its VM, while that may be why it is unhealthy.
    fn reboot(&self) -> Option<Timestamp> {
        match self.state {
            MemberState::Doubtful { .. } => self.rebooted_at,
            MemberState::Running { .. } | MemberState::Away | MemberState::Failed | MemberState::Kept => None,
        }
    }
}

/// The state of a Machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberState {
    /// In service and healthy.
    Running {
        /// Its Node is silent.
        is_silent: bool,
    },
    /// Unhealthy, and not failed: phase Unknown, or an update in place that has failed. Does not count as away, or two
    /// of them would wait for each other for ever; counts for a while after a reboot of its VM.
    Doubtful {
        /// Its Node is silent.
        is_silent: bool,
    },
    /// Being created, deleted or updated: counts as away.
    Away,
    /// Failed, and to be replaced: counts as away, also for its zone.
    Failed,
    /// Preserved: neither running nor to be replaced.
    Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermitRequest {
    /// May the Machine be taken away, by this limit of its group and by its zone?
    Turn(ReplacementLimit),
    /// Is its zone silent? For a Machine that takes nothing from its group.
    ZoneOnly,
    /// May the Machine fail because the name of its Node is taken?
    NameTaken,
}

/// The answer: may a Machine fail, or its VM be rebooted?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permit {
    /// Granted by its group, if its zone permits it too.
    Granted {
        /// The zone to ask the cloud about first.
        zone: Option<ZoneState>,
    },
    /// As many of its group are away as the limit allows.
    Busy {
        /// How many may be.
        limit: ReplacementLimit,
    },
    /// Another one of its group failed for the same reason not long ago.
    Later {
        /// When to ask again.
        after: SignedDuration,
    },
}

#[derive(Clone, Debug, Default)]
struct GroupState {
    members: usize,
    away: BTreeSet<ObjectKey>,
    /// Unhealthy Machines with a rebooted VM, and when. None of them is away.
    rebooted: BTreeMap<ObjectKey, Timestamp>,
    /// Permits, and when each expires.
    permits: BTreeMap<ObjectKey, Timestamp>,
    /// Machines that wait for a permit.
    waiting: BTreeSet<ObjectKey>,
    /// How many may be away, by the limit of the last request.
    places: usize,
}

impl GroupState {
    /// Returns how many are away or about to be.
    fn taken(&self) -> usize {
        let is_only_held = |key: &&ObjectKey| !self.away.contains(*key) && !self.rebooted.contains_key(*key);
        self.away.len() + self.rebooted.len() + self.permits.keys().filter(is_only_held).count()
    }

    /// Returns the same without this Machine.
    fn others(&self, key: &ObjectKey) -> usize {
        let is_among =
            self.away.contains(key) || self.rebooted.contains_key(key) || self.permits.contains_key(key);
        self.taken() - usize::from(is_among)
    }

    /// Drops expired reboots and permits.
    fn age(&mut self, now: Timestamp) {
        self.permits.retain(|_, until| *until > now);
        self.rebooted.retain(|_, at| is_rebooting(*at, now));
    }

    /// Returns the Machines that may try again, since others have come back.
    fn next_in_line(&mut self) -> Vec<ObjectKey> {
        let free = self.places.saturating_sub(self.taken());
        (0..free).map_while(|_| self.waiting.pop_first()).collect()
    }
}

/// All Machines of a tenant, by group and zone.
///
/// Promises: at any time at most as many Machines of a group are away, being rebooted or hold a permit as the limit of
/// the last permit says, apart from those that were away already or for other reasons; asking again returns the same
/// permit.
///
/// Assumes that [`Meltdown::update`] is called with each change of the cache, in its order.
#[derive(Clone, Debug)]
pub struct Meltdown {
    members: BTreeMap<ObjectKey, MemberFact>,
    groups: BTreeMap<OwnerGroup, GroupState>,
    zones: Zones,
    /// Kept beyond the last Machine of a group: its set may have no other while it creates the next.
    renewals: Renewals,
}

impl Meltdown {
    /// Returns an empty structure. A zone is silent when `silent_percent` of its Nodes, and at least two, are.
    pub fn new(silent_percent: u32) -> Self {
        Self {
            members: BTreeMap::new(),
            groups: BTreeMap::new(),
            zones: Zones::new(silent_percent),
            renewals: Renewals::default(),
        }
    }

    /// Notes that a Machine exists, has changed, or (`None`) is gone. Returns the Machines that should try again.
    pub fn update(&mut self, key: &ObjectKey, new: Option<&MemberFact>) -> Vec<ObjectKey> {
        let old = match new {
            Some(fact) => self.members.insert(key.clone(), fact.clone()),
            None => self.members.remove(key),
        };
        if old.as_ref() == new {
            return Vec::new();
        }
        let group_of = |fact: Option<&MemberFact>| fact.and_then(|fact| fact.group.clone());
        let (left, entered) = (group_of(old.as_ref()), group_of(new));
        self.zones.update(key, old.as_ref(), new);
        if let Some(group) = &left {
            self.leave(group, key, left == entered);
        }
        if let (Some(group), Some(fact)) = (entered, new) {
            let state = self.groups.entry(group).or_default();
            state.members += 1;
            if matches!(fact.state, MemberState::Away | MemberState::Failed) {
                state.away.insert(key.clone());
            }
            if let Some(at) = fact.reboot() {
                state.rebooted.insert(key.clone(), at);
            }
        }
        let has_decided = new.is_none_or(|fact| match fact.state {
            // Failed or recovered: the permit is used.
            MemberState::Failed | MemberState::Running { .. } | MemberState::Kept | MemberState::Away => true,
            MemberState::Doubtful { .. } => false,
        });
        if has_decided {
            self.zones.give_back(key);
        }
        self.after(left.as_ref(), key, has_decided)
    }

    /// Removes the Machine from the counts of a group, and the group with its last Machine.
    fn leave(&mut self, group: &OwnerGroup, key: &ObjectKey, stays: bool) {
        let Some(state) = self.groups.get_mut(group) else { return };
        state.members -= 1;
        state.away.remove(key);
        state.rebooted.remove(key);
        if !stays {
            state.permits.remove(key);
            state.waiting.remove(key);
        }
    }

    fn after(&mut self, group: Option<&OwnerGroup>, key: &ObjectKey, has_decided: bool) -> Vec<ObjectKey> {
        let Some(group) = group else { return Vec::new() };
        let Some(state) = self.groups.get_mut(group) else { return Vec::new() };
        if has_decided {
            state.permits.remove(key);
            state.waiting.remove(key);
        }
        let next = state.next_in_line();
        if state.members == 0 {
            self.groups.remove(group);
        }
        next
    }

    /// Returns whether a Machine may fail, or its VM be rebooted. A permit is held until the cache shows the result, it
    /// is given back, or it expires.
    pub fn ask(&mut self, key: &ObjectKey, question: PermitRequest, now: Timestamp) -> Permit {
        let Some(member) = self.members.get(key) else {
            // The cache is newer: the Machine is gone, and a write to it will fail.
            return Permit::Granted { zone: None };
        };
        if question == PermitRequest::NameTaken {
            let is_there = |key: &ObjectKey| {
                let state = self.members.get(key).map(|member| member.state);
                matches!(state, Some(MemberState::Failed | MemberState::Away | MemberState::Doubtful { .. }))
            };
            let answer = match &member.group {
                Some(group) => self.renewals.ask(group, key, is_there, now),
                // No owner replaces it.
                None => Ok(()),
            };
            return match answer {
                Ok(()) => Permit::Granted { zone: None },
                Err(after) => Permit::Later { after },
            };
        }
        if let PermitRequest::Turn(limit) = question
            && let Some(state) = member.group.as_ref().and_then(|group| self.groups.get_mut(group))
        {
            state.age(now);
            state.places = limit.of(state.members);
            if state.others(key) >= state.places {
                state.waiting.insert(key.clone());
                return Permit::Busy { limit };
            }
            state.waiting.remove(key);
            let until = now.checked_add(PERMIT_LIFETIME).unwrap_or(Timestamp::MAX);
            state.permits.insert(key.clone(), until);
        }
        Permit::Granted { zone: self.zones.ask(key, member, now) }
    }

    /// Gives back an unused permit. Returns the Machines that should try again.
    pub fn give_back(&mut self, key: &ObjectKey) -> Vec<ObjectKey> {
        self.zones.give_back(key);
        let Some(group) = self.members.get(key).and_then(|member| member.group.as_ref()) else {
            return Vec::new();
        };
        let Some(state) = self.groups.get_mut(group) else { return Vec::new() };
        if state.permits.remove(key).is_none() {
            return Vec::new();
        }
        state.next_in_line()
    }
}

#[cfg(test)]
mod tests;

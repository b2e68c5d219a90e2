//! Read your own writes: an owner's next reconcile waits until the cache has seen the writes of its last one.
//!
//! Without it, a reconcile soon after a write would read an older cache, and write again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

/// How long a write may block its owner.
///
/// A watch delivers within milliseconds; after a broken connection it backs off for seconds and lists again, well
/// within this time. A longer time would let a broken watch block a deletion; and a reconcile on a stale cache is
/// expensive, not unsafe, since effects that must not be doubled read before they write.
pub const TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// How long a request with a lost answer may take to arrive.
///
/// Longer than the server's deadline, and no longer than another process needs to become leader, which could not know
/// of it.
pub const LANDING: SignedDuration = SignedDuration::from_secs(15);

/// A resource version, ordered where it is a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    /// Digits without leading zeros, of any length: shorter ones are smaller, then the text decides.
    Number { digits: usize, text: String },
    /// Anything else: equal or not.
    Opaque(String),
}

impl Version {
    fn parse(text: &str) -> Self {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Self::Opaque(text.to_owned());
        }
        let text = text.trim_start_matches('0').to_owned();
        Self::Number { digits: text.len(), text }
    }

    /// Returns true when a stream at `self` has delivered `other`.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number { .. }, Self::Number { .. }) => other <= self,
            (Self::Opaque(_), Self::Opaque(_)) => other == self,
            (Self::Number { .. }, Self::Opaque(_)) | (Self::Opaque(_), Self::Number { .. }) => false,
        }
    }
}

/// The reason why an owner's reconcile waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The time of the first write that was not seen.
    pub since: Timestamp,
    /// The owner is released by this time.
    pub until: Timestamp,
}

/// The version that the cache of one kind has reached, and the owners that wait for later ones.
#[derive(Clone, Debug)]
struct Stream<K> {
    stands_at: Option<Version>,
    awaited: BTreeMap<Version, BTreeSet<K>>,
}

impl<K> Default for Stream<K> {
    fn default() -> Self {
        Self { stands_at: None, awaited: BTreeMap::new() }
    }
}

#[derive(Clone, Debug)]
struct PendingWrites<Kind> {
    writes: BTreeSet<(Kind, Version)>,
    /// The owner's deletion is awaited.
    is_leaving: bool,
    /// Until then a write of unknown version may arrive.
    lands_until: Option<Timestamp>,
    blocked: Blocked,
}

impl<Kind> PendingWrites<Kind> {
    fn since(now: Timestamp) -> Self {
        let blocked = Blocked { since: now, until: deadline(now) };
        Self { writes: BTreeSet::new(), is_leaving: false, lands_until: None, blocked }
    }
}

/// Blocks owners until the caches have caught up with their writes.
///
/// `K` is the owner of blocked reconciles, `Kind` names one stream of watch events: one kind of one cluster and one
/// scope. Two watches of the same kind need two values of `Kind`.
///
/// Promises: an owner is blocked from [`Barrier::wrote`] until each of its writes was seen, or [`TIMEOUT`] after its
/// last write, and from [`Barrier::leaves`] until it is forgotten, or as long; nothing blocks for ever, whatever the
/// server's versions or the clock do. An owner that a timeout has released is in doubt until it has listed, see
/// [`Barrier::looked`].
///
/// Assumes that [`Barrier::seen`] is called in the order of the stream, after the cache has stored the event; that
/// during a list it is called once, at its end, with the list's version, since the objects of a list come in any order;
/// and that the caller calls [`Barrier::expire`] at [`Barrier::next_expiry`].
///
/// Versions that are decimal numbers, as the API server's are, compare as numbers of any length. For all others only
/// equality counts, and the timeout.
#[derive(Clone, Debug)]
pub struct Barrier<K, Kind> {
    streams: BTreeMap<Kind, Stream<K>>,
    owners: BTreeMap<K, PendingWrites<Kind>>,
    /// The owners by the time of their release, so that the next one is found without a scan.
    deadlines: BTreeSet<(Timestamp, K)>,
    doubtful: BTreeSet<K>,
}

impl<K, Kind> Default for Barrier<K, Kind> {
    fn default() -> Self {
        Self {
            streams: BTreeMap::new(),
            owners: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            doubtful: BTreeSet::new(),
        }
    }
}

impl<K: Ord + Clone, Kind: Ord + Clone> Barrier<K, Kind> {
    /// A barrier that blocks nobody.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a write for `owner`, with the version of the written object. A deletion counts with the version of its
    /// answer; without one, see [`Barrier::leaves`].
    ///
    /// Does not block when the stream has the version already, as events may overtake answers.
    pub fn wrote(&mut self, owner: K, kind: Kind, resource_version: &str, now: Timestamp) {
        let version = Version::parse(resource_version);
        let stream = self.streams.entry(kind.clone()).or_default();
        if stream.stands_at.as_ref().is_some_and(|stands_at| stands_at.covers(&version)) {
            return;
        }
        stream.awaited.entry(version.clone()).or_default().insert(owner.clone());
        let held = self.owners.entry(owner.clone()).or_insert_with(|| PendingWrites::since(now));
        held.writes.insert((kind, version));
        self.prolong(owner, deadline(now));
    }

    /// Notes a write that deletes `owner`, and that has no version: the answer to the removal of the last finalizer has
    /// the object as it was before. It is blocked until [`Barrier::forget`], which the event of its deletion calls for.
    pub fn leaves(&mut self, owner: K, now: Timestamp) {
        self.owners.entry(owner.clone()).or_insert_with(|| PendingWrites::since(now)).is_leaving = true;
        self.prolong(owner, deadline(now));
    }

    /// Notes a write for `owner` that may have been done, or may still be, with an unknown version. Blocks until it
    /// cannot arrive any more, and leaves the owner in doubt.
    pub fn lost(&mut self, owner: K, now: Timestamp) {
        let lands = now.saturating_add(LANDING).unwrap_or(Timestamp::MAX);
        let is_held = self.owners.contains_key(&owner);
        let held = self.owners.entry(owner.clone()).or_insert_with(|| PendingWrites::since(now));
        held.lands_until = Some(lands);
        let until = if is_held { held.blocked.until.max(lands) } else { lands };
        self.prolong(owner, until);
    }

    /// Returns whether some of the owner's last writes were not seen: it must read from the API server itself before it
    /// does anything irreversible.
    pub fn is_in_doubt(&self, owner: &K) -> bool {
        self.doubtful.contains(owner)
    }

    /// Notes that the owner has listed: it decided on a list of this version. Its next reconcile waits until the stream
    /// has reached it.
    pub fn looked(&mut self, owner: K, kind: Kind, resource_version: &str, now: Timestamp) {
        self.doubtful.remove(&owner);
        self.wrote(owner, kind, resource_version, now);
    }

    /// Notes that the stream of `kind` has delivered everything up to this version: an event, a bookmark, or the end of
    /// a list. Returns the released owners, in order, so that they can be woken.
    ///
    /// A lower version than before counts as well: a list from a server that lags, or a restored database. Writes are
    /// then awaited from there, and the timeout releases those that were awaited at higher versions.
    pub fn seen(&mut self, kind: &Kind, resource_version: &str) -> Vec<K> {
        if resource_version.is_empty() {
            return Vec::new();
        }
        let version = Version::parse(resource_version);
        let stream = self.streams.entry(kind.clone()).or_default();
        let mut delivered = Vec::new();
        match &version {
            Version::Number { .. } => {
                while let Some(first) =
                    stream.awaited.first_entry().filter(|entry| version.covers(entry.key()))
                {
                    delivered.push(first.remove_entry());
                }
            }
            Version::Opaque(_) => delivered.extend(stream.awaited.remove_entry(&version)),
        }
        stream.stands_at = Some(version);
        let mut freed = BTreeSet::new();
        for (version, owners) in delivered {
            for owner in owners {
                if self.settle(&owner, kind, &version) {
                    freed.insert(owner);
                }
            }
        }
        freed.into_iter().collect()
    }

    /// Returns whether and how long the owner must wait.
    pub fn blocked(&self, owner: &K) -> Option<Blocked> {
        self.owners.get(owner).map(|held| held.blocked)
    }

    /// Releases the owners whose time is over, and returns them in order.
    ///
    /// When the clock was set back, the rest of a wait is limited to [`TIMEOUT`].
    pub fn expire(&mut self, now: Timestamp) -> Vec<K> {
        let latest = deadline(now);
        while let Some((until, owner)) = self.deadlines.last().filter(|(until, _)| *until > latest) {
            let (until, owner) = (*until, owner.clone());
            self.deadlines.remove(&(until, owner.clone()));
            self.prolong(owner, latest);
        }
        let due = self.deadlines.iter().take_while(|(until, _)| *until <= now);
        let expired: BTreeSet<K> = due.map(|(_, owner)| owner.clone()).collect();
        for owner in &expired {
            self.forget(owner);
            self.doubtful.insert(owner.clone());
        }
        expired.into_iter().collect()
    }

    /// Returns when [`Barrier::expire`] has something to do.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(until, _)| *until)
    }

    /// Forgets an owner that is gone.
    pub fn forget(&mut self, owner: &K) {
        self.doubtful.remove(owner);
        let Some(held) = self.release(owner) else { return };
        for (kind, version) in held.writes {
            let Some(stream) = self.streams.get_mut(&kind) else { continue };
            if let Some(owners) = stream.awaited.get_mut(&version) {
                owners.remove(owner);
                if owners.is_empty() {
                    stream.awaited.remove(&version);
                }
            }
        }
    }

    /// Returns whether a write without an answer may still arrive, see [`Barrier::lost`].
    pub fn may_land(&self) -> bool {
        self.owners.values().any(|held| held.lands_until.is_some())
    }

    /// Returns how many owners are blocked.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// Returns true when no owner is blocked.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Removes one write from the owner's list; returns true when it was the last.
    fn settle(&mut self, owner: &K, kind: &Kind, version: &Version) -> bool {
        let Some(held) = self.owners.get_mut(owner) else { return false };
        held.writes.remove(&(kind.clone(), version.clone()));
        if !held.writes.is_empty() || held.is_leaving {
            return false;
        }
        match held.lands_until {
            Some(until) => self.prolong(owner.clone(), until),
            None => drop(self.release(owner)),
        }
        !self.owners.contains_key(owner)
    }

    /// The owner is released by this time.
    fn prolong(&mut self, owner: K, until: Timestamp) {
        let Some(held) = self.owners.get_mut(&owner) else { return };
        self.deadlines.remove(&(held.blocked.until, owner.clone()));
        held.blocked.until = until;
        self.deadlines.insert((until, owner));
    }

    fn release(&mut self, owner: &K) -> Option<PendingWrites<Kind>> {
        let held = self.owners.remove(owner)?;
        self.deadlines.remove(&(held.blocked.until, owner.clone()));
        Some(held)
    }
}

fn deadline(now: Timestamp) -> Timestamp {
    now.saturating_add(TIMEOUT).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;

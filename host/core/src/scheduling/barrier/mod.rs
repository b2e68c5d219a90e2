//! Read your own writes: an owner's next pass waits until the cache has seen the writes of its last pass.
//!
//! Without it, a pass soon after a write would read a cache from before the write, and write again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

/// How long a write may hold up its owner.
///
/// A watch delivers within milliseconds; after a broken connection it backs off for seconds and lists anew, which is done
/// well within this time. Longer would let a broken watch hold up a deletion; and a pass on a stale cache is dear, not
/// unsafe, since effects that must not be doubled look before they act.
pub const TIMEOUT: SignedDuration = SignedDuration::from_secs(30);

/// How long a request may take to arrive whose answer got lost.
///
/// Longer than a server is given for it, and no longer than it takes another process to lead, which could not know of it.
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

    /// True when a stream that stands at `self` has delivered `other`.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number { .. }, Self::Number { .. }) => other <= self,
            (Self::Opaque(_), Self::Opaque(_)) => other == self,
            (Self::Number { .. }, Self::Opaque(_)) | (Self::Opaque(_), Self::Number { .. }) => false,
        }
    }
}

/// Why an owner's pass has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The first write that has not been seen was made then.
    pub since: Timestamp,
    /// The owner becomes free then at the latest.
    pub until: Timestamp,
}

/// What the cache of one kind has delivered, and who waits for more.
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
    /// The owner's own end is awaited.
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

/// Holds up owners until the caches have caught up with their writes.
///
/// `K` is the owner whose passes wait, `Kind` names one stream of watch events: one kind of one cluster and one scope. Two
/// watches of the same kind need two values of `Kind`.
///
/// Promises: an owner is blocked from [`Barrier::wrote`] until each of its writes was seen, or [`TIMEOUT`] after its last
/// write, and from [`Barrier::leaves`] until it is forgotten, or as long; nothing blocks for ever, whatever the server's versions or the
/// clock do. An owner that became free by time alone is in doubt until it has looked, see [`Barrier::looked`].
///
/// Assumes that [`Barrier::seen`] is called in the order of the stream, after the cache has taken the event in; that during
/// a list it is called once, at its end, with the list's version, since the objects of a list come in any order; and that
/// somebody calls [`Barrier::expire`] at [`Barrier::next_expiry`].
///
/// Versions that are decimal numbers, as the API server's are, compare as numbers of any length. For all others only
/// equality counts, and the time-out.
#[derive(Clone, Debug)]
pub struct Barrier<K, Kind> {
    streams: BTreeMap<Kind, Stream<K>>,
    owners: BTreeMap<K, PendingWrites<Kind>>,
    /// The owners by the time when they become free at the latest: who asks for the next of thousands does not look at all.
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

    /// A write for `owner` was answered with this version of the written object. A deletion counts with the version that
    /// its answer carries; where there is none, see [`Barrier::leaves`].
    ///
    /// Blocks nobody when the stream is already there, as events may overtake answers.
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

    /// A write for `owner` has ended it, and its answer tells no version: an object that goes with its last finalizer is
    /// answered as it was before. It is blocked until [`Barrier::forget`], which the event of its end calls for.
    pub fn leaves(&mut self, owner: K, now: Timestamp) {
        self.owners.entry(owner.clone()).or_insert_with(|| PendingWrites::since(now)).is_leaving = true;
        self.prolong(owner, deadline(now));
    }

    /// A write for `owner` may have been done, or may still be, and nobody knows its version. Blocks until it cannot arrive any more,
    /// and leaves the owner in doubt.
    pub fn lost(&mut self, owner: K, now: Timestamp) {
        let lands = now.saturating_add(LANDING).unwrap_or(Timestamp::MAX);
        let is_held = self.owners.contains_key(&owner);
        let held = self.owners.entry(owner.clone()).or_insert_with(|| PendingWrites::since(now));
        held.lands_until = Some(lands);
        let until = if is_held { held.blocked.until.max(lands) } else { lands };
        self.prolong(owner, until);
    }

    /// The owner's last writes were not all seen: it is to look at the API server itself before it does what cannot be undone.
    pub fn is_in_doubt(&self, owner: &K) -> bool {
        self.doubtful.contains(owner)
    }

    /// The owner has looked: a listing of this version was decided on. Its next pass waits until the stream is there.
    pub fn looked(&mut self, owner: K, kind: Kind, resource_version: &str, now: Timestamp) {
        self.doubtful.remove(&owner);
        self.wrote(owner, kind, resource_version, now);
    }

    /// The stream of `kind` has delivered everything up to this version: an event, a bookmark, or the end of a list.
    /// Answers the owners that became free, in order, so that they can be woken.
    ///
    /// A lower version than before is believed as well: a list from a server that lags, or a restored database. Writes are
    /// then awaited from there, and those that were awaited at higher versions are freed by the time-out.
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

    /// Whether and how long the owner has to wait.
    pub fn blocked(&self, owner: &K) -> Option<Blocked> {
        self.owners.get(owner).map(|held| held.blocked)
    }

    /// Frees the owners whose time has come, and answers them in order.
    ///
    /// When the clock went back, what is left of a wait is cut to [`TIMEOUT`] from here.
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

    /// When [`Barrier::expire`] has something to do.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        self.deadlines.first().map(|(until, _)| *until)
    }

    /// The owner is gone: nothing is awaited for it.
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

    /// A write without an answer may still arrive, see [`Barrier::lost`].
    pub fn may_land(&self) -> bool {
        self.owners.values().any(|held| held.lands_until.is_some())
    }

    /// How many owners are blocked.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// True when nobody is blocked.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Takes one write off the owner's list; true when it was the last.
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

    /// The owner becomes free then at the latest.
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

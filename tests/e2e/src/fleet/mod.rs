//! The Machines of a cluster at every moment: what a watch tells, event by event, and the most and the fewest there
//! ever were.
//!
//! A watch of one kind shows all of its changes in the order in which the API server stored them. A reader that folds
//! them one by one has seen each state, however short.
//!
//! | module | content |
//! | --- | --- |
//! | `seen` | a Machine as its status shows it |
//! | `watch` | a fleet that follows a watch |

mod seen;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::Instant;

pub use seen::Seen;
pub use watch::FleetWatch;

/// How many Machines there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Objects, with those that are being deleted.
    pub objects: usize,
    pub alive: usize,
    /// Alive, and in phase Running or Available.
    pub available: usize,
    /// By phase, with `Deleting` for all that are being deleted and `Creating` for no phase.
    pub phases: BTreeMap<String, usize>,
    /// Available ones by class.
    pub available_by_class: BTreeMap<String, usize>,
    pub classes: BTreeMap<String, usize>,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |counts: &BTreeMap<String, usize>| {
            let each: Vec<String> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
            each.join(", ")
        };
        write!(f, "{} Machines", self.objects)?;
        if self.objects > 0 {
            write!(f, ": {} (of class: {})", listed(&self.phases), listed(&self.classes))?;
        }
        Ok(())
    }
}

/// The limits that must hold at every moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetBounds {
    /// Never more objects than this, with those that are being deleted.
    pub most: usize,
    /// Never fewer that are available than this.
    pub fewest_available: usize,
}

/// The extremes since a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Changes that were seen.
    pub moments: u64,
    /// How often the watch broke, so that a moment may have been missed.
    pub gaps: u64,
    /// The most objects at any moment.
    pub most: usize,
    /// The most that were not being deleted.
    pub most_alive: usize,
    /// The most of one deployment, without those that were being deleted.
    pub most_of_one: usize,
    /// The fewest that were available.
    pub fewest_available: usize,
    pub made: usize,
    pub gone: usize,
}

impl Stretch {
    /// Whether the bounds were kept at every moment.
    pub fn keeps_to(&self, bounds: FleetBounds) -> Result<()> {
        ensure!(self.gaps == 0, "the watch broke {} times: nobody knows what was in between", self.gaps);
        ensure!(
            self.most <= bounds.most,
            "there were {} Machines at some moment, {} are allowed",
            self.most,
            bounds.most
        );
        ensure!(
            self.fewest_available >= bounds.fewest_available,
            "{} Machines were available at some moment, {} must be",
            self.fewest_available,
            bounds.fewest_available
        );
        Ok(())
    }
}

/// All Machines that were seen, and what there was since the stretch began.
#[derive(Debug, Default)]
pub struct Fleet {
    machines: BTreeMap<String, Seen>,
    tally: Tally,
    of_deployments: BTreeMap<String, usize>,
    stretch: Stretch,
    came: BTreeMap<String, Instant>,
    runs: BTreeMap<String, Instant>,
}

impl Fleet {
    /// The Machines that are there, by name.
    pub fn machines(&self) -> &BTreeMap<String, Seen> {
        &self.machines
    }

    /// How many there are.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The extremes since [`Fleet::begin`].
    pub fn stretch(&self) -> &Stretch {
        &self.stretch
    }

    /// When each Machine was seen first, with those that are gone.
    pub fn came(&self) -> &BTreeMap<String, Instant> {
        &self.came
    }

    /// From when each Machine was seen first until it ran, sorted. Only of those that ran.
    pub fn times_to_running(&self) -> Vec<Duration> {
        let took = |(name, at): (&String, &Instant)| Some(at.duration_since(*self.came.get(name)?));
        let mut times: Vec<Duration> = self.runs.iter().filter_map(took).collect();
        times.sort();
        times
    }

    /// When each Machine was seen to run first, with those that are gone.
    pub fn runs(&self) -> &BTreeMap<String, Instant> {
        &self.runs
    }

    /// Begins another stretch, with what is there as its first moment. Answers the one that ends.
    pub fn begin(&mut self) -> Stretch {
        let first = Stretch {
            most: self.tally.objects,
            most_alive: self.tally.alive,
            most_of_one: self.of_deployments.values().max().copied().unwrap_or_default(),
            fewest_available: self.tally.available,
            ..Stretch::default()
        };
        std::mem::replace(&mut self.stretch, first)
    }

    /// A Machine is there, or has changed.
    pub fn is_there(&mut self, machine: &Seen, at: Instant) {
        if machine.phase == "Running" {
            self.runs.entry(machine.name.clone()).or_insert(at);
        }
        match self.machines.insert(machine.name.clone(), machine.clone()) {
            Some(before) => self.count(&before, Change::Less),
            None => {
                self.came.insert(machine.name.clone(), at);
                self.stretch.made += 1;
            }
        }
        self.count(machine, Change::More);
        self.moment();
    }

    /// A Machine is gone.
    pub fn is_gone(&mut self, name: &str) {
        if let Some(before) = self.machines.remove(name) {
            self.count(&before, Change::Less);
            self.stretch.gone += 1;
            self.moment();
        }
    }

    /// The watch broke, and these are all that are there.
    pub fn is_listed(&mut self, all: Vec<Seen>, at: Instant) {
        self.stretch.gaps += 1;
        let absent: Vec<String> =
            self.machines.keys().filter(|name| all.iter().all(|one| one.name != **name)).cloned().collect();
        absent.iter().for_each(|name| self.is_gone(name));
        all.into_iter().for_each(|machine| self.is_there(&machine, at));
    }

    fn moment(&mut self) {
        let of_one = self.of_deployments.values().max().copied().unwrap_or_default();
        let (tally, stretch) = (&self.tally, &mut self.stretch);
        stretch.moments += 1;
        stretch.most = stretch.most.max(tally.objects);
        stretch.most_alive = stretch.most_alive.max(tally.alive);
        stretch.most_of_one = stretch.most_of_one.max(of_one);
        stretch.fewest_available = stretch.fewest_available.min(tally.available);
    }

    fn count(&mut self, machine: &Seen, change: Change) {
        let tally = &mut self.tally;
        change.apply(&mut tally.objects);
        change.entry(&mut tally.phases, machine.shown_phase());
        change.entry(&mut tally.classes, &machine.class);
        if !machine.is_deleting {
            change.apply(&mut tally.alive);
            change.entry(&mut self.of_deployments, &machine.deployment);
        }
        if machine.is_available() {
            change.apply(&mut tally.available);
            change.entry(&mut tally.available_by_class, &machine.class);
        }
    }
}

#[derive(Clone, Copy)]
enum Change {
    More,
    Less,
}

impl Change {
    fn apply(self, count: &mut usize) {
        match self {
            Self::More => *count += 1,
            Self::Less => *count = count.saturating_sub(1),
        }
    }

    fn entry(self, counts: &mut BTreeMap<String, usize>, key: &str) {
        let count = counts.entry(key.to_owned()).or_default();
        self.apply(count);
        if *count == 0 {
            counts.remove(key);
        }
    }
}

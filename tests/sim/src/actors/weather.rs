//! Zones that are cut off, listings that lie, policies that come and go.

use std::time::Duration;

use super::Actors;
use crate::cloud::Lie;
use crate::names::CLUSTER;
use crate::rng::Rng;

impl Actors {
    /// As a control plane that was moved, and whose operator has not given the mark along.
    pub(super) async fn move_away(&self, mut rng: Rng) {
        // Before that nothing shows which mark is the right one, and a VM with the wrong one stays its Machine's.
        if !self.fleet.is_marked() {
            return;
        }
        self.faults.count("another mark");
        self.hosts.start_with_mark("elsewhere");
        tokio::time::sleep(rng.between(Duration::from_mins(1), Duration::from_mins(10))).await;
        self.hosts.start_with_mark(CLUSTER);
    }

    /// Nobody may delete bootstrap tokens for a while.
    pub(super) async fn keep_tokens(&self, mut rng: Rng) {
        self.watchman.note(("bootstrap tokens cannot be deleted", ""));
        self.faults.keep_tokens(true);
        tokio::time::sleep(rng.between(Duration::from_secs(30), Duration::from_mins(20))).await;
        self.faults.keep_tokens(false);
        self.watchman.note(("bootstrap tokens can be deleted again", ""));
    }

    /// All Nodes of a zone are silent for a while, and their VMs live.
    pub(super) async fn zone_outage(&self, mut rng: Rng) {
        let Some(zone) = rng.pick(self.fleet.zones()).copied() else { return };
        let lasts = rng.between(Duration::from_secs(20), Duration::from_mins(40));
        self.faults.count("zone outage");
        self.watchman.note(("zone is cut off:", &format!("{zone} for {} s", lasts.as_secs())));
        self.cluster.cut_zone(zone, lasts);
        tokio::time::sleep(lasts).await;
    }

    /// The cloud's listings are not true for a while.
    pub(super) async fn lie(&self, mut rng: Rng) {
        let percent = 10 + rng.below(90) as u64;
        let lie = match rng.below(3) {
            0 => Lie::Empty,
            1 => Lie::Lacks(percent),
            _ => Lie::Unmarked(percent),
        };
        self.faults.count("lying listings");
        self.watchman.note(("listings lie:", &format!("{lie:?}")));
        self.cloud.lie(Some(lie));
        tokio::time::sleep(rng.between(Duration::from_mins(1), Duration::from_mins(60))).await;
        self.cloud.lie(None);
        self.watchman.note(("listings are true again", ""));
    }

    /// A policy is not served any more, or again, or another version of it is.
    pub(super) fn swap_policy(&self, mut rng: Rng) {
        if let Some(name) = self.policies.swap(&mut rng) {
            self.faults.count("policy swap");
            self.watchman.note(("policy is swapped:", &name));
        }
    }
}

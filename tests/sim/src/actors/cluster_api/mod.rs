//! Cluster API around the hosts: a small model of its core and bootstrap provider, its users, and `clusterctl move`.
//!
//! | module | what it does |
//! | --- | --- |
//! | `objects` | the objects, as templates give them |
//! | `workload` | a workload cluster, and what is known of it beside its objects |
//! | `core` | Cluster, MachineSet and Machine controllers, the health check, the namespace controller |
//! | `bootstrap` | Secrets with bootstrap data: late, rewritten, deleted after use |
//! | `users` | users and platform teams |
//! | `moves` | `clusterctl move` |
//! | `wish` | the difference from the wish, and what is left |

mod bootstrap;
mod core;
mod moves;
mod objects;
mod users;
mod wish;
mod workload;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machinist_runtime::context::clock::Clock;
use memory_api::ApiServer;

use crate::check::Watchman;
use crate::cloud::SimCloud;
use crate::cluster::hosts::Hosts;
use crate::names::Site;
use crate::plan::ClusterApiPlan;
use crate::rng::Rng;
use workload::WorkloadCluster;

/// From one reconcile of a workload cluster to the next.
const ROUND: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(5));

/// All workload clusters of a run, in two management clusters.
#[derive(Clone)]
pub(crate) struct ClusterApi {
    home: ApiServer,
    /// The hosts of the other management cluster.
    pub(crate) away: Hosts,
    cloud: SimCloud,
    clock: Clock,
    watchman: Watchman,
    plan: ClusterApiPlan,
    seed: u64,
    workloads: Arc<Mutex<Vec<WorkloadCluster>>>,
}

impl ClusterApi {
    /// The workload clusters of a plan. `home`: the hosts of the management cluster in which they begin.
    pub(crate) fn new(seed: u64, plan: &ClusterApiPlan, home: &Hosts, away: ApiServer) -> Self {
        let workloads =
            (0..plan.clusters).map(|number| WorkloadCluster::new(seed, number, plan.machines)).collect();
        Self {
            home: home.api.clone(),
            away: home.away(away),
            cloud: home.cloud.clone(),
            clock: home.clock.clone(),
            watchman: home.watchman.clone(),
            plan: plan.clone(),
            seed,
            workloads: Arc::new(Mutex::new(workloads)),
        }
    }

    /// Runs core for ever, in both management clusters.
    pub(crate) async fn reconcile(self) {
        let mut rng = Rng::new(self.seed, "core");
        loop {
            for workload in self.lock().iter_mut() {
                self.tick(workload);
            }
            tokio::time::sleep(rng.between(ROUND.0, ROUND.1)).await;
        }
    }

    /// The API server of a management cluster.
    fn api(&self, site: Site) -> &ApiServer {
        match site {
            Site::Home => &self.home,
            Site::Away => &self.away.api,
        }
    }

    fn note(&self, what: &str, whom: &str) {
        self.watchman.note((what, whom));
    }

    fn lock(&self) -> MutexGuard<'_, Vec<WorkloadCluster>> {
        self.workloads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

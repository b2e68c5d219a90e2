//! Copies of Cluster API's MachineDeployments and MachineSets. Nothing else reads them, so they have no part in the
//! event loop.

use futures::StreamExt;
use kube::Api;
use kube::core::DeserializeGuard;
use kube::runtime::{WatchStreamExt, watcher};
use machinist_api::infrastructure::node_groups::{OwnerDeployment, OwnerSet};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use crate::cache::{Store, StoreReader, WatchedKind, backoff, feed};

/// The writing side of these copies.
#[derive(Default)]
pub(crate) struct ClusterApiFeeds {
    deployments: Store<OwnerDeployment>,
    sets: Store<OwnerSet>,
}

/// The reading side of these copies.
#[derive(Clone)]
pub(super) struct ClusterApiCaches {
    pub(super) deployments: StoreReader<OwnerDeployment>,
    pub(super) sets: StoreReader<OwnerSet>,
}

impl ClusterApiCaches {
    pub(super) fn is_synced(&self) -> bool {
        self.deployments.is_synced() && self.sets.is_synced()
    }
}

impl ClusterApiFeeds {
    pub(super) fn reader(&self) -> ClusterApiCaches {
        ClusterApiCaches { deployments: self.deployments.reader(), sets: self.sets.reader() }
    }

    /// Starts a watch for each kind.
    pub(crate) fn start(
        self,
        tasks: &mut JoinSet<()>,
        deployments: Api<DeserializeGuard<OwnerDeployment>>,
        sets: Api<DeserializeGuard<OwnerSet>>,
        seed: [u8; 32],
    ) {
        tasks.spawn(follow(deployments, self.deployments, seed, WatchedKind::OwnerDeployments));
        tasks.spawn(follow(sets, self.sets, seed, WatchedKind::OwnerSets));
    }
}

async fn follow<T>(api: Api<DeserializeGuard<T>>, store: Store<T>, seed: [u8; 32], watch: WatchedKind)
where
    T: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + Sync + 'static,
{
    let stream = watcher(api, watcher::Config::default()).backoff(backoff(seed, watch));
    feed(stream.boxed(), &store, |_| {}, |_| {}, |_| {}).await;
}

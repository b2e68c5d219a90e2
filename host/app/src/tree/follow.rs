//! Follows a namespace by watches.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, future};
use kube::core::NamespaceResourceScope;
use kube::runtime::reflector::Store;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Resource};
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::core_kinds::{CoreCluster, CoreDeployment, CoreMachine, CoreSet};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use serde::de::DeserializeOwned;

use super::list::{CLUSTER_API_RIGHTS, RIGHTS, without_cluster_api};
use super::objects::{ClusterApiObjects, McmObjects, Objects};
use crate::cluster::{Cluster, explained, is_unknown_kind, message_of};

/// Changes within this time are shown together.
const GATHER: Duration = Duration::from_millis(300);

/// Without any change, times on a screen are renewed this often.
const RENEW: Duration = Duration::from_secs(10);

/// The objects of a namespace as they change.
pub(super) struct Follower {
    events: SelectAll<BoxStream<'static, Seen>>,
    mcm: Option<McmStores>,
    cluster_api: Option<ClusterApiStores>,
    left_out: Option<String>,
    /// The kinds whose objects are not all known yet.
    unlisted: BTreeMap<String, Part>,
}

struct McmStores {
    deployments: Store<MachineDeployment>,
    sets: Store<MachineSet>,
    machines: Store<Machine>,
}

struct ClusterApiStores {
    clusters: Store<CoreCluster>,
    deployments: Store<CoreDeployment>,
    sets: Store<CoreSet>,
    machines: Store<CoreMachine>,
    machinist_machines: Store<MachinistMachine>,
}

/// The role of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Mcm,
    /// A kind of Cluster API's core.
    Core,
    MachinistMachine,
}

/// One event of a watch.
enum Seen {
    Change,
    /// All objects of this kind are known.
    Listed(String),
    /// The watch of this kind has ended, for this reason.
    Ended {
        kind: String,
        part: Part,
        is_unknown: bool,
        error: anyhow::Error,
    },
}

/// Follows the kinds of which there are objects, or could be.
pub(super) async fn follow(cluster: &Cluster, objects: &Objects) -> Result<Follower> {
    let mut follower = Follower {
        events: SelectAll::new(),
        mcm: None,
        cluster_api: None,
        left_out: objects.left_out.clone(),
        unlisted: BTreeMap::new(),
    };
    if objects.mcm.is_some() {
        follower.mcm = Some(McmStores {
            deployments: follower.watch(cluster, Part::Mcm),
            sets: follower.watch(cluster, Part::Mcm),
            machines: follower.watch(cluster, Part::Mcm),
        });
    }
    if objects.cluster_api.is_some() {
        follower.cluster_api = Some(ClusterApiStores {
            clusters: follower.watch(cluster, Part::Core),
            deployments: follower.watch(cluster, Part::Core),
            sets: follower.watch(cluster, Part::Core),
            machines: follower.watch(cluster, Part::Core),
            machinist_machines: follower.watch(cluster, Part::MachinistMachine),
        });
    }
    while !follower.unlisted.is_empty() {
        let event = follower.events.next().await.context("the watches have ended")?;
        follower.take(event)?;
    }
    Ok(follower)
}

impl Follower {
    fn watch<K>(&mut self, cluster: &Cluster, part: Part) -> Store<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + Sync
            + 'static,
    {
        let api: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
        let kind = format!("{}.{}", K::plural(&()), K::group(&()));
        self.unlisted.insert(kind.clone(), part);
        let task = format!("watch {}s of namespace {}", K::kind(&()), cluster.namespace);
        let (store, writer) = reflector::store();
        let events = watcher(api, watcher::Config::default()).default_backoff().reflect(writer);
        let events = events.map(move |event| match event {
            Ok(watcher::Event::InitDone) => Seen::Listed(kind.clone()),
            Ok(_) => Seen::Change,
            Err(error) => failed(error, &kind, part, &task),
        });
        // A watch that has ended would begin again.
        let events = events.scan(false, |has_ended, event| {
            let is_over = std::mem::replace(has_ended, matches!(event, Seen::Ended { .. }));
            future::ready((!is_over).then_some(event))
        });
        self.events.push(events.boxed());
        store
    }

    /// Takes an event into account.
    ///
    /// # Errors
    /// When kinds of machine-controller-manager cannot be followed.
    fn take(&mut self, event: Seen) -> Result<()> {
        match event {
            Seen::Change => {}
            Seen::Listed(kind) => {
                self.unlisted.remove(&kind);
            }
            Seen::Ended { part: Part::Mcm, error, .. } => return Err(error),
            // There is no such object.
            Seen::Ended { part: Part::Core, is_unknown: true, kind, .. } => {
                self.unlisted.remove(&kind);
            }
            Seen::Ended { part: Part::Core | Part::MachinistMachine, error, .. } => {
                self.unlisted.retain(|_, part| *part == Part::Mcm);
                if self.cluster_api.take().is_some() {
                    self.left_out = Some(without_cluster_api(&error));
                }
            }
        }
        Ok(())
    }

    /// Waits for a change and what comes with it, or until times have to be renewed.
    pub(super) async fn changed(&mut self) -> Result<()> {
        match tokio::time::timeout(RENEW, self.events.next()).await {
            Ok(event) => self.take(event.context("the watches have ended")?)?,
            Err(_) => return Ok(()),
        }
        let until = tokio::time::Instant::now() + GATHER;
        while let Ok(event) = tokio::time::timeout_at(until, self.events.next()).await {
            self.take(event.context("the watches have ended")?)?;
        }
        Ok(())
    }

    pub(super) fn objects(&self) -> Objects {
        let mcm = self.mcm.as_ref().map(|stores| McmObjects {
            deployments: all(&stores.deployments),
            sets: all(&stores.sets),
            machines: all(&stores.machines),
        });
        let cluster_api = self.cluster_api.as_ref().map(|stores| ClusterApiObjects {
            clusters: all(&stores.clusters),
            deployments: all(&stores.deployments),
            sets: all(&stores.sets),
            machines: all(&stores.machines),
            machinist_machines: all(&stores.machinist_machines),
        });
        Objects { mcm, cluster_api, left_out: self.left_out.clone() }
    }
}

/// Ends a watch for an error that does not pass. Other errors are printed, and the watch continues.
fn failed(error: watcher::Error, kind: &str, part: Part, task: &str) -> Seen {
    let rights = match part {
        Part::Mcm => RIGHTS,
        Part::Core | Part::MachinistMachine => CLUSTER_API_RIGHTS,
    };
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) if matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403 | 404)) => {
            Seen::Ended {
                kind: kind.to_owned(),
                part,
                is_unknown: is_unknown_kind(&error),
                error: explained(error, task, rights),
            }
        }
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            eprintln!("failed to {task}, goes on trying: {}", message_of(&error));
            Seen::Change
        }
        // The watch expired: kube lists all objects again.
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => Seen::Change,
    }
}

fn all<K: Resource<DynamicType = ()> + Clone + 'static>(store: &Store<K>) -> Vec<K> {
    store.state().iter().map(|object| K::clone(object)).collect()
}

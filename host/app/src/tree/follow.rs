//! Follows a namespace by watches.

use std::fmt::Debug;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, TryStreamExt};
use kube::core::NamespaceResourceScope;
use kube::runtime::reflector::Store;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Api, Resource};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use serde::de::DeserializeOwned;

use super::RIGHTS;
use super::grow::Objects;
use crate::cluster::{Cluster, explained, message_of};

/// Changes within this time are shown together.
const GATHER: Duration = Duration::from_millis(300);

/// Without any change, times on a screen are renewed this often.
const RENEW: Duration = Duration::from_secs(10);

/// The objects of a namespace as they change.
pub(super) struct Follower {
    events: SelectAll<BoxStream<'static, Result<()>>>,
    deployments: Store<MachineDeployment>,
    sets: Store<MachineSet>,
    machines: Store<Machine>,
}

pub(super) async fn follow(cluster: &Cluster) -> Result<Follower> {
    let (deployments, first) = one(cluster);
    let (sets, second) = one(cluster);
    let (machines, third) = one(cluster);
    let events = futures::stream::select_all([first, second, third]);
    let mut follower = Follower { events, deployments, sets, machines };
    follower.listed().await?;
    Ok(follower)
}

fn one<K>(cluster: &Cluster) -> (Store<K>, BoxStream<'static, Result<()>>)
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
    let task = format!("watch {}s of namespace {}", K::kind(&()), cluster.namespace);
    let (store, writer) = reflector::store();
    let events = watcher(api, watcher::Config::default()).default_backoff().reflect(writer);
    let events = events.map(move |event| match event {
        Ok(_) => Ok(()),
        Err(error) => failed(error, &task),
    });
    (store, events.boxed())
}

/// Fails for an error that does not pass. Other errors are printed, and the watch continues.
fn failed(error: watcher::Error, task: &str) -> Result<()> {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) if matches!(&error, kube::Error::Api(status) if matches!(status.code, 401 | 403 | 404)) => {
            Err(explained(error, task, RIGHTS))
        }
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => {
            eprintln!("failed to {task}, goes on trying: {}", message_of(&error));
            Ok(())
        }
        // The watch expired: kube lists all objects again.
        watcher::Error::WatchError(_) | watcher::Error::NoResourceVersion => Ok(()),
    }
}

impl Follower {
    /// Waits until all three were listed.
    async fn listed(&mut self) -> Result<()> {
        let ready = {
            let (deployments, sets, machines) =
                (self.deployments.clone(), self.sets.clone(), self.machines.clone());
            async move {
                tokio::try_join!(
                    deployments.wait_until_ready(),
                    sets.wait_until_ready(),
                    machines.wait_until_ready()
                )
            }
        };
        let mut ready = std::pin::pin!(ready);
        loop {
            tokio::select! {
                done = &mut ready => return done.map(drop).context("the watches have ended"),
                event = self.events.try_next() => drop(event?.context("the watches have ended")?),
            }
        }
    }

    /// Waits for a change and what comes with it, or until times have to be renewed.
    pub(super) async fn changed(&mut self) -> Result<()> {
        match tokio::time::timeout(RENEW, self.events.try_next()).await {
            Ok(event) => event?.context("the watches have ended")?,
            Err(_) => return Ok(()),
        }
        let until = tokio::time::Instant::now() + GATHER;
        while let Ok(event) = tokio::time::timeout_at(until, self.events.try_next()).await {
            event?.context("the watches have ended")?;
        }
        Ok(())
    }

    pub(super) fn objects(&self) -> Objects {
        Objects { deployments: all(&self.deployments), sets: all(&self.sets), machines: all(&self.machines) }
    }
}

fn all<K: Resource<DynamicType = ()> + Clone + 'static>(store: &Store<K>) -> Vec<K> {
    store.state().iter().map(|object| K::clone(object)).collect()
}

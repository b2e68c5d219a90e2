//! A stand-in for cluster-autoscaler in Gardener's fork: its requests, in its order, and its reading of what the
//! controllers write.
//!
//! Each turn of its loop ([`Autoscaler::turn`]) refreshes first, then gives up what the cloud has no room for, then
//! scales up. Scaling down is asked for by the test ([`Autoscaler::scale_down`]), which plays the part of the
//! utilisation that the real one computes.
//!
//! Its reads may be old, as the caches of the real one are: after [`Autoscaler::lag`] its reads of a group show the
//! state of that time, until it writes.
//!
//! | module | content |
//! | --- | --- |
//! | `group` | a group of Nodes, which is a MachineDeployment, and its size |
//! | `instances` | the autoscaler's view of the instances of a group |
//! | `scale_down` | chooses Machines for deletion, and lowers the size of their group |
//! | `nodes` | its writes to Nodes: taints before a scale-down, and cordons after it |
//! | `write` | its updates of whole objects, which the API server refuses if they are stale |

mod group;
mod instances;
mod nodes;
mod scale_down;
mod write;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::{Api, Client};
use machinist_api::{Machine, MachineDeployment};
use tokio::time::Instant;

use crate::manifests::NAMESPACE;

pub use group::{NodeGroup, is_rollout_finished};
pub use instances::{Instance, InstanceState};

/// A group of which the cloud has no more is left alone for so long.
const BACK_OFF: Duration = Duration::from_secs(5 * 60);

/// How it tells which Machines are to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The oldest: priority 1 on each Machine, then a smaller number.
    Priorities,
    /// Names in an annotation of the deployment, in the write that lowers the number.
    Names,
    /// As names, each with the time, and the time of the write beside.
    NamesAndTimes,
}

/// The autoscaler, for some groups.
pub struct Autoscaler {
    client: Client,
    dialect: Dialect,
    groups: Vec<NodeGroup>,
    backed_off: Mutex<BTreeMap<String, Instant>>,
    lagging: Mutex<BTreeMap<String, MachineDeployment>>,
}

impl Autoscaler {
    /// It does nothing on its own.
    pub fn new(client: Client, dialect: Dialect, groups: Vec<NodeGroup>) -> Self {
        Self { client, dialect, groups, backed_off: Mutex::default(), lagging: Mutex::default() }
    }

    /// One turn of its loop, with so many pods' worth of Machines missing. Answers the group that was made larger.
    pub async fn turn(&self, missing: u32) -> Result<Option<String>> {
        for group in &self.groups {
            self.refresh(group).await?;
        }
        for group in &self.groups {
            self.give_up(group).await?;
        }
        if missing == 0 {
            return Ok(None);
        }
        for group in &self.groups {
            if !self.is_backed_off(&group.name) {
                self.increase_size(group, missing).await?;
                return Ok(Some(group.name.clone()));
            }
        }
        ensure!(missing == 0, "no group may be made larger: all are backed off");
        Ok(None)
    }

    /// Whether the cloud had no more for this group a short while ago.
    pub fn is_backed_off(&self, group: &str) -> bool {
        let backed_off = self.backed_off.lock().unwrap_or_else(PoisonError::into_inner);
        backed_off.get(group).is_some_and(|until| Instant::now() < *until)
    }

    /// Until its next write, reads of this group answer what is there at this moment.
    pub async fn lag(&self, group: &NodeGroup) -> Result<()> {
        let old = self.deployments().get(&group.name).await?;
        self.lagging.lock().unwrap_or_else(PoisonError::into_inner).insert(group.name.clone(), old);
        Ok(())
    }

    /// Instances that cannot be made count as a failed scale-up: the group is left alone for a while, and they are
    /// deleted.
    async fn give_up(&self, group: &NodeGroup) -> Result<()> {
        let instances = self.instances(group).await?;
        let exhausted: Vec<Instance> = instances
            .into_iter()
            .filter(|one| matches!(one.state, InstanceState::OutOfResources { .. }))
            .collect();
        if exhausted.is_empty() {
            return Ok(());
        }
        {
            let mut backed_off = self.backed_off.lock().unwrap_or_else(PoisonError::into_inner);
            backed_off.insert(group.name.clone(), Instant::now() + BACK_OFF);
        }
        self.delete_instances(group, &exhausted).await
    }

    /// From the cache, which may be behind.
    async fn read(&self, group: &NodeGroup) -> Result<MachineDeployment> {
        let lagging = self.lagging.lock().unwrap_or_else(PoisonError::into_inner).get(&group.name).cloned();
        match lagging {
            Some(old) => Ok(old),
            None => Ok(self.deployments().get(&group.name).await?),
        }
    }

    fn deployments(&self) -> Api<MachineDeployment> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    fn machines(&self) -> Api<Machine> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

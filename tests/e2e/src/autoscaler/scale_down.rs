//! Machines that are to go, and no others.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, bail, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use kube::api::PostParams;
use kube::{Api, ResourceExt};
use machinist_api::names::annotations;
use machinist_api::{Machine, MachineDeployment};

use super::group::{is_rollout_finished, replicas};
use super::nodes::{CANDIDATE, TO_BE_DELETED};
use super::write::retried;
use super::{Autoscaler, Dialect, Instance, NodeGroup};

impl Autoscaler {
    /// Nodes that are not needed: marked as such, emptied of what the scheduler may still put there, then deleted. When
    /// that is refused, pods may come again.
    pub async fn scale_down(&self, group: &NodeGroup, nodes: &[String]) -> Result<()> {
        for node in nodes {
            self.taint(node, CANDIDATE, "PreferNoSchedule").await?;
        }
        for node in nodes {
            self.taint(node, TO_BE_DELETED, "NoSchedule").await?;
        }
        let instances = self.instances(group).await?;
        let is_meant = |one: &Instance| one.node.as_ref().is_some_and(|node| nodes.contains(node));
        let meant: Vec<Instance> = instances.into_iter().filter(is_meant).collect();
        ensure!(meant.len() == nodes.len(), "not all of {nodes:?} belong to {}", group.name);
        let outcome = self.delete_instances(group, &meant).await;
        if outcome.is_err() {
            for node in nodes {
                self.untaint(node, TO_BE_DELETED).await?;
            }
        }
        outcome
    }

    /// Registered instances and such as are only asked for.
    pub async fn delete_instances(&self, group: &NodeGroup, instances: &[Instance]) -> Result<()> {
        let deployment = self.read(group).await?;
        if replicas(&deployment) <= group.min {
            bail!("{} is as small as it may be", group.name);
        }
        let machines: BTreeMap<String, Machine> =
            self.machines_of(group).await?.into_iter().map(|machine| (machine.name_any(), machine)).collect();
        let mut to_delete = Vec::new();
        for instance in instances {
            let Some(machine) = machines.get(&instance.machine) else { continue };
            if !is_going(machine) && !self.is_kept(instance).await? {
                to_delete.push(instance);
            }
        }
        if to_delete.is_empty() {
            return Ok(());
        }
        ensure!(is_rollout_finished(&self.read(group).await?), "{} is being rolled", group.name);
        match self.dialect {
            Dialect::Priorities => self.lower_after_priorities(group, &to_delete).await?,
            Dialect::Names | Dialect::NamesAndTimes => self.lower_with_names(group, &to_delete).await?,
        }
        for node in to_delete.iter().filter_map(|instance| instance.node.as_ref()) {
            self.cordon(node).await;
        }
        Ok(())
    }

    /// One write: the number, the names, and the time. Those that are listed already count no second time.
    async fn lower_with_names(&self, group: &NodeGroup, to_delete: &[&Instance]) -> Result<()> {
        let names: BTreeSet<&str> = to_delete.iter().map(|instance| instance.machine.as_str()).collect();
        retried(async || {
            let mut deployment = self.read(group).await?;
            if lower(&mut deployment, &names, self.dialect, Timestamp::now()) {
                self.put(&deployment).await?;
            }
            Ok(())
        })
        .await
    }

    /// A write for each Machine, then the number.
    async fn lower_after_priorities(&self, group: &NodeGroup, to_delete: &[&Instance]) -> Result<()> {
        let mut fewer = 0;
        for instance in to_delete {
            let mut is_marked_already = false;
            retried(async || {
                let mut machine = self.machines().get(&instance.machine).await?;
                let first = annotations::FIRST_PRIORITY;
                let before =
                    machine.annotations_mut().insert(annotations::PRIORITY.to_owned(), first.to_owned());
                is_marked_already = before.as_deref() == Some(first);
                if !is_marked_already {
                    self.machines().replace(&instance.machine, &PostParams::default(), &machine).await?;
                }
                Ok(())
            })
            .await?;
            fewer += i32::from(!is_marked_already);
        }
        retried(async || {
            let mut deployment = self.read(group).await?;
            deployment.spec.replicas = Some(replicas(&deployment) - fewer);
            self.put(&deployment).await
        })
        .await
    }

    /// Somebody keeps the autoscaler away from its Node.
    async fn is_kept(&self, instance: &Instance) -> Result<bool> {
        let Some(node) = &instance.node else { return Ok(false) };
        let node = Api::<Node>::all(self.client.clone()).get(node).await?;
        Ok(node.annotations().get(annotations::SCALE_DOWN_DISABLED).is_some_and(|value| value == "true"))
    }
}

/// Failed ones are replaced by their set, and those on their way out are gone soon.
fn is_going(machine: &Machine) -> bool {
    let phase = machine.phase();
    machine.metadata.deletion_timestamp.is_some() || ["Failed", "Terminating"].contains(&phase.as_str())
}

/// Lowers the number and puts the names beside it. False when there is nothing to change.
fn lower(
    deployment: &mut MachineDeployment,
    names: &BTreeSet<&str>,
    dialect: Dialect,
    now: Timestamp,
) -> bool {
    let key = annotations::TRIGGER_DELETION;
    let listed = deployment.annotations().get(key).cloned().unwrap_or_default();
    let mut entries: BTreeSet<String> =
        listed.split(',').filter(|entry| !entry.is_empty()).map(str::to_owned).collect();
    let is_listed = |name: &str| entries.iter().any(|entry| entry.split('~').next() == Some(name));
    let more: Vec<&str> = names.iter().copied().filter(|name| !is_listed(name)).collect();
    if more.is_empty() {
        return false;
    }
    let seconds = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let fewer = i32::try_from(more.len()).unwrap_or(i32::MAX);
    for name in more {
        entries.insert(match dialect {
            Dialect::NamesAndTimes => format!("{name}~{seconds}"),
            Dialect::Names | Dialect::Priorities => name.to_owned(),
        });
    }
    deployment.spec.replicas = Some(replicas(deployment).saturating_sub(fewer).max(0));
    let entries = entries.into_iter().collect::<Vec<_>>().join(",");
    deployment.annotations_mut().insert(key.to_owned(), entries);
    if dialect == Dialect::NamesAndTimes {
        let key = annotations::REPLICA_CHANGE_BY_SCALER_TIME;
        deployment.annotations_mut().insert(key.to_owned(), seconds.to_string());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowered(listed: &str, names: &[&str], dialect: Dialect) -> (i32, String, bool) {
        let mut deployment = MachineDeployment::default();
        deployment.spec.replicas = Some(5);
        deployment.annotations_mut().insert(annotations::TRIGGER_DELETION.to_owned(), listed.to_owned());
        let names = names.iter().copied().collect();
        let changed = lower(&mut deployment, &names, dialect, "2026-01-02T03:04:05.678Z".parse().unwrap());
        let list = deployment.annotations()[annotations::TRIGGER_DELETION].clone();
        (replicas(&deployment), list, changed)
    }

    #[test]
    fn the_number_goes_down_by_those_that_are_not_listed_yet() {
        let (number, list, changed) = lowered("", &["b", "a"], Dialect::Names);
        assert_eq!((number, list.as_str(), changed), (3, "a,b", true));
        let (number, list, changed) = lowered("a~2026-01-02T03:04:00Z", &["b", "a"], Dialect::NamesAndTimes);
        assert_eq!((number, changed), (4, true));
        assert_eq!(list, "a~2026-01-02T03:04:00Z,b~2026-01-02T03:04:05Z");
        assert_eq!(lowered("a", &["a"], Dialect::Names), (5, "a".to_owned(), false));
    }
}

//! A group of Nodes, which is a MachineDeployment, and its size.

use anyhow::{Result, ensure};
use machinist_api::{MachineDeployment, names};

use super::Autoscaler;
use super::write::retried;

/// A MachineDeployment, and how many Machines it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// The name of the deployment.
    pub name: String,
    pub min: i32,
    pub max: i32,
}

/// Returns true if it takes a rollout for finished. Without a condition about one there was none.
pub fn is_rollout_finished(deployment: &MachineDeployment) -> bool {
    let conditions =
        deployment.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let progressing = conditions.iter().find(|one| one.type_ == names::conditions::PROGRESSING);
    progressing.is_none_or(|one| {
        let words = (one.status.as_str(), one.reason.as_deref().unwrap_or_default());
        matches!(words, ("True", "NewMachineSetAvailable") | ("Unknown", "DeploymentPaused"))
    })
}

impl Autoscaler {
    pub async fn increase_size(&self, group: &NodeGroup, more: u32) -> Result<()> {
        let size = replicas(&self.read(group).await?) + i32::try_from(more)?;
        ensure!(size <= group.max, "{} would have {size}, and may have {}", group.name, group.max);
        self.set_size(group, size).await
    }

    /// The number is decided before, whatever it has become meanwhile.
    async fn set_size(&self, group: &NodeGroup, size: i32) -> Result<()> {
        retried(async || {
            let mut deployment = self.read(group).await?;
            let is_less = replicas(&deployment) >= size;
            ensure!(!is_less || is_rollout_finished(&deployment), "{} is being rolled", group.name);
            deployment.spec.replicas = Some(size);
            self.put(&deployment).await
        })
        .await
    }
}

pub(super) fn replicas(deployment: &MachineDeployment) -> i32 {
    deployment.spec.replicas.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(status: &str, reason: &str) -> bool {
        let conditions = serde_json::json!([{ "type": "Progressing", "status": status, "reason": reason }]);
        let deployment =
            serde_json::json!({ "metadata": {}, "spec": {}, "status": { "conditions": conditions } });
        is_rollout_finished(&serde_json::from_value(deployment).unwrap())
    }

    #[test]
    fn a_rollout_is_finished_when_it_is_complete_or_paused_or_never_was() {
        assert!(finished("True", "NewMachineSetAvailable") && finished("Unknown", "DeploymentPaused"));
        assert!(!finished("True", "MachineSetUpdated") && !finished("Unknown", "DeploymentResumed"));
        assert!(!finished("False", "ProgressDeadlineExceeded"));
        assert!(is_rollout_finished(&MachineDeployment::default()));
    }
}

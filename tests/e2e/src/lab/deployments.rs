//! MachineDeployments as a user works with them.

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use machinist_api::{MachineDeployment, MachineSet, names};
use serde_json::{Value, json};

use super::Lab;
use super::objects::create;
use crate::cloud::Cloud;
use crate::manifests::NAMESPACE;
use crate::wait::{eventually, or_show};

/// The condition that says how a rollout goes.
const PROGRESSING: &str = names::conditions::PROGRESSING;
/// Its reason when there is nothing left to do, which the autoscaler looks for.
const COMPLETE: &str = "NewMachineSetAvailable";

impl<C: Cloud> Lab<C> {
    /// Deployments of the lab's namespace.
    pub fn deployments(&self) -> Api<MachineDeployment> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// Sets of the lab's namespace.
    pub fn sets(&self) -> Api<MachineSet> {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }

    /// The sets that a deployment controls, the oldest first.
    pub async fn sets_of(&self, deployment: &str) -> Result<Vec<MachineSet>> {
        let is_its = |set: &MachineSet| {
            set.owner_references()
                .iter()
                .any(|owner| owner.name == deployment && owner.controller == Some(true))
        };
        let mut sets = self.sets().list(&ListParams::default()).await?.items;
        sets.retain(is_its);
        sets.sort_by_key(|set| (set.creation_timestamp(), set.name_any()));
        Ok(sets)
    }

    pub async fn create_deployment(&self, deployment: &MachineDeployment) -> Result<MachineDeployment> {
        create(&self.deployments(), deployment).await
    }

    /// Merges into a deployment.
    pub async fn patch_deployment(&self, name: &str, patch: &Value) -> Result<MachineDeployment> {
        self.deployments()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("failed to change MachineDeployment {name}"))
    }

    /// Scales a deployment as `kubectl scale` does.
    pub async fn scale(&self, name: &str, replicas: u32) -> Result<()> {
        let patch = json!({ "spec": { "replicas": replicas } });
        self.deployments()
            .patch_scale(name, &PatchParams::default(), &Patch::Merge(patch))
            .await
            .with_context(|| format!("failed to scale MachineDeployment {name}"))?;
        Ok(())
    }

    /// Gives a deployment's Machines another class.
    pub async fn roll(&self, name: &str, class: &str) -> Result<()> {
        let patch = json!({ "spec": { "template": { "spec": { "class": { "name": class } } } } });
        self.patch_deployment(name, &patch).await.map(drop)
    }

    /// Asks for a deployment's earlier template; revision 0 is the one before.
    pub async fn roll_back(&self, name: &str, revision: i64) -> Result<()> {
        self.patch_deployment(name, &json!({ "spec": { "rollbackTo": { "revision": revision } } }))
            .await
            .map(drop)
    }

    pub async fn delete_deployment(&self, name: &str) -> Result<()> {
        self.deployments()
            .delete(name, &DeleteParams::default())
            .await
            .with_context(|| format!("failed to delete MachineDeployment {name}"))?;
        Ok(())
    }

    /// Waits until all Machines of a deployment are there, of the current template, and the status says so of this very
    /// generation. The error shows the status.
    pub async fn deployment_is_complete(&self, name: &str) -> Result<MachineDeployment> {
        let what = format!("MachineDeployment {name} is complete");
        let waited = eventually(&what, async || {
            let deployment = self.deployments().get(name).await?;
            Ok(is_complete(&deployment).then_some(deployment))
        });
        or_show(waited, async || self.describe_deployment(name).await).await
    }

    /// Waits until the condition Ready of a deployment has this reason and its message contains `part`.
    /// The error shows the status.
    pub async fn deployment_reason(&self, name: &str, reason: &str, part: &str) -> Result<Condition> {
        let what = format!("MachineDeployment {name} is {reason} with {part:?}");
        let waited = eventually(&what, async || {
            let deployment = self.deployments().get(name).await?;
            let own = deployment.status.and_then(|status| status.machinist).unwrap_or_default();
            let mut conditions = own.conditions.into_iter();
            Ok(conditions.find(|one| one.reason == reason && one.message.contains(part)))
        });
        or_show(waited, async || self.describe_deployment(name).await).await
    }

    /// Waits until neither deployments nor sets are left. The error shows which.
    pub async fn no_deployments(&self) -> Result<()> {
        let everything = ListParams::default();
        let left = async || {
            let deployments = self.deployments().list_metadata(&everything).await?.items;
            let sets = self.sets().list_metadata(&everything).await?.items;
            let names = deployments.iter().map(ResourceExt::name_any);
            anyhow::Ok(names.chain(sets.iter().map(ResourceExt::name_any)).collect::<Vec<_>>())
        };
        let waited = eventually("no deployment and no set is left", async || {
            Ok(left().await?.is_empty().then_some(()))
        });
        or_show(waited, async || format!("left are {:?}", left().await)).await
    }

    /// The status of a deployment, for error messages.
    pub async fn describe_deployment(&self, name: &str) -> String {
        match self.deployments().get_opt(name).await {
            Ok(Some(deployment)) => {
                let status = serde_json::to_string(&deployment.status).unwrap_or_default();
                format!(
                    "MachineDeployment {name} of generation {:?} has {status}",
                    deployment.metadata.generation
                )
            }
            Ok(None) => format!("MachineDeployment {name} is not there"),
            Err(error) => format!("MachineDeployment {name} cannot be read: {error}"),
        }
    }
}

/// Whether all Machines are there and of the current template, as the autoscaler and Gardener ask for it.
pub fn is_complete(deployment: &MachineDeployment) -> bool {
    let Some(status) = &deployment.status else { return false };
    let wanted = deployment.spec.replicas.unwrap_or_default();
    let numbers = [status.replicas, status.updated_replicas, status.available_replicas];
    let progressing = status.conditions.iter().find(|condition| condition.type_ == PROGRESSING);
    status.observed_generation >= deployment.metadata.generation
        && numbers.iter().all(|number| number.unwrap_or_default() == wanted)
        && progressing.is_some_and(|one| one.status == "True" && one.reason.as_deref() == Some(COMPLETE))
}

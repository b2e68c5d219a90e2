//! A MachineDeployment in its cluster.

use anyhow::{Result, bail};
use kube::Api;
use kube::api::{Patch, PatchParams};
use machinist_api::{MachineDeployment, MachineSet};
use serde_json::Value;

use crate::args::SubjectFlags;
use crate::args::invocation_name::InvocationName;
use crate::cluster::subject;
use crate::cluster::{Cluster, explained, instead, is_missing, names_of, reach};

/// The field manager of what is written.
const MANAGER: &str = "machinist-rollout";

/// One that somebody has named.
pub(super) struct Deployment {
    pub(super) name: String,
    cluster: Cluster,
}

impl Deployment {
    /// `verb`: for what is to be written where the name is none.
    pub(super) async fn reach(flags: &SubjectFlags, invoked_as: InvocationName, verb: &str) -> Result<Self> {
        let name = subject::deployment(&flags.subject, invoked_as.program(), verb)?.to_owned();
        Ok(Self { name, cluster: reach(&flags.place).await? })
    }

    fn api(&self) -> Api<MachineDeployment> {
        Api::namespaced(self.cluster.client.clone(), &self.cluster.namespace)
    }

    /// Reads it, without a word about what to do when that fails.
    pub(super) async fn get(&self) -> Result<MachineDeployment, kube::Error> {
        self.api().get(&self.name).await
    }

    pub(super) async fn read(&self) -> Result<MachineDeployment> {
        match self.get().await {
            Ok(deployment) => Ok(deployment),
            Err(error) => Err(self.unreadable(error).await),
        }
    }

    /// Why it cannot be read, and what to do.
    pub(super) async fn unreadable(&self, error: kube::Error) -> anyhow::Error {
        let (name, namespace) = (&self.name, &self.cluster.namespace);
        if !is_missing(&error) {
            let task = format!("read MachineDeployment {name} in namespace {namespace}");
            return explained(error, &task, "get on machinedeployments");
        }
        let help = instead(&names_of(&self.api()).await, name, "MachineDeployment");
        anyhow::anyhow!("there is no MachineDeployment {name} in namespace {namespace}: {help}")
    }

    /// All sets of its namespace.
    pub(super) async fn sets(&self) -> Result<Vec<MachineSet>> {
        self.cluster.list("list on machinesets").await
    }

    /// Writes it. The patch has the uid, so that another one of the same name is not written.
    pub(super) async fn patch(&self, patch: &Value) -> Result<()> {
        let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        match self.api().patch(&self.name, &parameters, &Patch::Merge(patch)).await {
            Ok(_) => Ok(()),
            Err(error) if is_missing(&error) => {
                bail!("MachineDeployment {} was deleted meanwhile", self.name)
            }
            Err(error) => {
                let task = format!("change MachineDeployment {}", self.name);
                Err(explained(error, &task, "patch on machinedeployments"))
            }
        }
    }
}

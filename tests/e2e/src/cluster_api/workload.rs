//! A workload cluster in a management cluster.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use control_plane::ControlPlane;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
};
use kube::{Client, ResourceExt as _};
use machinist_api::infrastructure::MachinistMachine;
use machinist_api::infrastructure::names::annotations;
use serde_json::{Value, json};

use super::objects;
use crate::wait::{eventually, or_show};

/// The name of the MachineDeployment.
const WORKERS: &str = "workers";
const CORE_GROUP: &str = "cluster.x-k8s.io";

/// A workload cluster whose Nodes register with an API server that is there: the external control plane.
#[derive(Clone)]
pub struct Workload {
    pub namespace: String,
    pub name: String,
    client: Client,
}

/// A workload cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadView {
    /// Phases of Machines by name.
    pub machines: BTreeMap<String, String>,
    /// MachinistMachines, whether provisioned or not, by their templates.
    pub infra_machines: BTreeMap<String, usize>,
    /// Machines of the MachineDeployment that count as available.
    pub available: u64,
    /// Machines of the MachineDeployment that follow its template.
    pub up_to_date: u64,
    /// Core has seen the latest edit of the MachineDeployment.
    pub is_observed: bool,
}

impl WorkloadView {
    /// So many Machines, all Running, available and of this template. Core counts those of the newest template a moment
    /// late: what they were made from is certain.
    pub fn is_complete(&self, replicas: usize, template: &str) -> bool {
        self.is_observed
            && self.machines.len() == replicas
            && self.machines.values().all(|phase| phase == "Running")
            && self.infra_machines.len() == 1
            && self.infra_machines.get(template) == Some(&replicas)
            && usize::try_from(self.available) == Ok(replicas)
            && usize::try_from(self.up_to_date) == Ok(replicas)
    }
}

impl Workload {
    /// A workload cluster that exists, seen by a client of its management cluster.
    pub fn of(namespace: &str, name: &str, client: Client) -> Self {
        Self { namespace: namespace.to_owned(), name: name.to_owned(), client }
    }

    /// Creates the namespace, the credentials `account` with this token, a Cluster whose control plane is `workloads`,
    /// and the templates `small` and `join`, and waits until Machines can be made.
    pub async fn create(
        (management, workloads): (&ControlPlane, &ControlPlane),
        (namespace, name): (&str, &str),
        (provider, spec, credentials): (&str, &Value, &Value),
    ) -> Result<Self> {
        let client = management.client()?;
        let put = async |object: Value| {
            management
                .apply(&object.to_string())
                .await
                .with_context(|| format!("failed to apply {}", object["kind"]))
        };
        Self::put_basics((management, workloads), (namespace, name), credentials).await?;
        put(objects::external_control_plane(namespace, name)).await?;
        let workload = Self::of(namespace, name, client);
        workload.initialize_control_plane().await?;
        let account = json!({ "kind": "Secret", "name": "account" });
        put(objects::machinist_cluster(namespace, name, &account, port_of(workloads)?)).await?;
        put(objects::cluster(namespace, name)).await?;
        put(objects::machine_template(namespace, "small", provider, spec)).await?;
        put(objects::kubeadm_template(namespace, "join")).await?;
        workload.cluster_condition("InfrastructureReady", "True").await?;
        workload.cluster_condition("ControlPlaneInitialized", "True").await?;
        workload.cluster_condition("RemoteConnectionProbe", "True").await?;
        Ok(workload)
    }

    /// Creates the namespace, and the Secrets with kubeconfig, authority and credentials.
    pub async fn put_basics(
        (management, workloads): (&ControlPlane, &ControlPlane),
        (namespace, name): (&str, &str),
        credentials: &Value,
    ) -> Result<()> {
        let put = async |object: Value| {
            let applied = management.apply(&object.to_string()).await;
            applied.with_context(|| format!("failed to apply {}", object["kind"]))
        };
        put(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } })).await?;
        // First: core tries again only after half a minute where it is missing.
        let kubeconfig = std::fs::read_to_string(workloads.admin_kubeconfig())?;
        put(objects::secret(namespace, name, &format!("{name}-kubeconfig"), &json!({ "value": kubeconfig })))
            .await?;
        let authority = rcgen::generate_simple_self_signed(["kubernetes".to_owned()])?;
        let pair =
            json!({ "tls.crt": authority.cert.pem(), "tls.key": authority.signing_key.serialize_pem() });
        put(objects::secret(namespace, name, &format!("{name}-ca"), &pair)).await?;
        let mut account = objects::secret(namespace, name, "account", credentials);
        account["type"] = json!("Opaque");
        // Nothing else tells clusterctl that the Cluster needs it.
        account["metadata"]["labels"]["clusterctl.cluster.x-k8s.io/move"] = json!("");
        put(account).await?;
        Ok(())
    }

    /// Says that the control plane is there. A move loses it, as every status, and nobody acts for this kind.
    pub async fn initialize_control_plane(&self) -> Result<()> {
        self.initialize(&self.name).await
    }

    /// As above, for a control plane of this name.
    pub async fn initialize(&self, plane: &str) -> Result<()> {
        let initialized = json!({ "status": {
            "initialization": { "controlPlaneInitialized": true },
            "externalManagedControlPlane": true,
            "version": objects::VERSION,
        } });
        let planes = self.all("controlplane.machinist.dev", "v1alpha1", "ExternalControlPlane");
        planes.patch_status(plane, &PatchParams::default(), &Patch::Merge(&initialized)).await?;
        Ok(())
    }

    /// Objects of a kind in the namespace of the Cluster.
    pub fn all(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &kind)
    }

    fn of_core(&self, kind: &str) -> Api<DynamicObject> {
        self.all(CORE_GROUP, "v1beta2", kind)
    }

    pub fn clusters(&self) -> Api<DynamicObject> {
        self.of_core("Cluster")
    }

    pub fn machines(&self) -> Api<DynamicObject> {
        self.of_core("Machine")
    }

    pub fn deployments(&self) -> Api<DynamicObject> {
        self.of_core("MachineDeployment")
    }

    pub fn infra_machines(&self) -> Api<MachinistMachine> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// Creates the MachineDeployment with the template `small`.
    pub async fn deploy(&self, management: &ControlPlane, replicas: u32) -> Result<()> {
        management.apply(&self.deployment(replicas).to_string()).await?;
        Ok(())
    }

    /// As above, with all Machines in one failure domain.
    pub async fn deploy_in(&self, management: &ControlPlane, replicas: u32, domain: &str) -> Result<()> {
        let mut deployment = self.deployment(replicas);
        deployment["spec"]["template"]["spec"]["failureDomain"] = json!(domain);
        management.apply(&deployment.to_string()).await?;
        Ok(())
    }

    fn deployment(&self, replicas: u32) -> Value {
        objects::machine_deployment(&self.namespace, &self.name, WORKERS, (replicas, "small"))
    }

    pub async fn scale(&self, replicas: u32) -> Result<()> {
        self.patch_deployment(&json!({ "spec": { "replicas": replicas } })).await
    }

    /// Rolls the MachineDeployment to a template.
    pub async fn roll(&self, template: &str) -> Result<()> {
        let spec = json!({ "infrastructureRef": { "name": template } });
        self.patch_deployment(&json!({ "spec": { "template": { "spec": spec } } })).await
    }

    async fn patch_deployment(&self, patch: &Value) -> Result<()> {
        self.deployments().patch(WORKERS, &PatchParams::default(), &Patch::Merge(patch)).await?;
        Ok(())
    }

    /// Pauses the Cluster, or lets it go on.
    pub async fn pause(&self, is_paused: bool) -> Result<()> {
        let patch = json!({ "spec": { "paused": is_paused } });
        self.clusters().patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }

    /// Deletes the Cluster and waits until it and all that belongs to it is gone.
    pub async fn delete(&self) -> Result<()> {
        self.clusters().delete(&self.name, &DeleteParams::default()).await?;
        let gone = eventually("the Cluster is gone", async || {
            Ok(self.clusters().get_opt(&self.name).await?.is_none().then_some(()))
        });
        or_show(gone, async || self.shown().await).await?;
        let left = self.infra_machines().list(&ListParams::default()).await?;
        ensure!(left.items.is_empty(), "MachinistMachines are left: {left:?}");
        Ok(())
    }

    /// Waits until the Cluster has a condition with a status.
    pub async fn cluster_condition(&self, kind: &str, status: &str) -> Result<()> {
        let what = format!("condition {kind} of the Cluster is {status}");
        let is_so = eventually(&what, async || {
            let cluster = self.clusters().get(&self.name).await?;
            Ok((condition(&cluster, kind) == Some(status)).then_some(()))
        });
        or_show(is_so, async || self.shown().await).await
    }

    /// Waits until a condition of a Machine has this reason.
    pub async fn machine_says(&self, machine: &str, kind: &str, reason: &str) -> Result<()> {
        let what = format!("condition {kind} of Machine {machine} has reason {reason}");
        let is_so = eventually(&what, async || {
            let machine = self.machines().get(machine).await?;
            let conditions = machine.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let is_it = conditions.iter().any(|one| one["type"] == kind && one["reason"] == reason);
            Ok(is_it.then_some(()))
        });
        or_show(is_so, async || self.shown().await).await
    }

    /// Waits until a MachinistMachine has a condition with a status.
    pub async fn infra_condition(&self, machine: &str, kind: &str, status: &str) -> Result<()> {
        let machines = self.all("infrastructure.machinist.dev", "v1alpha1", "MachinistMachine");
        let what = format!("condition {kind} of {machine} is {status}");
        let is_so = eventually(&what, async || {
            let machine = machines.get(machine).await?;
            Ok((condition(&machine, kind) == Some(status)).then_some(()))
        });
        or_show(is_so, async || self.shown().await).await
    }

    /// Waits until the MachineDeployment has so many Machines, all Running, available and of this template.
    pub async fn has(&self, replicas: usize, template: &str) -> Result<()> {
        let what = format!("{replicas} Machines are available");
        let has =
            eventually(&what, async || Ok(self.look().await?.is_complete(replicas, template).then_some(())));
        or_show(has, async || self.shown().await).await
    }

    /// Reads the cluster as it is now.
    pub async fn look(&self) -> Result<WorkloadView> {
        let machines = self.machines().list(&ListParams::default()).await?;
        let deployment = self.deployments().get_opt(WORKERS).await?;
        let generation = deployment.as_ref().and_then(|deployment| deployment.metadata.generation);
        let status = deployment.map(|deployment| deployment.data["status"].clone()).unwrap_or_default();
        Ok(WorkloadView {
            machines: machines
                .iter()
                .map(|machine| (machine.name_any(), text(&machine.data["status"]["phase"])))
                .collect(),
            infra_machines: by_template(self.infra_machines().list(&ListParams::default()).await?.items),
            available: status["availableReplicas"].as_u64().unwrap_or_default(),
            up_to_date: status["upToDateReplicas"].as_u64().unwrap_or_default(),
            is_observed: status["observedGeneration"].as_i64() == generation,
        })
    }

    /// Conditions that are not as they should be, for an error.
    pub async fn shown(&self) -> String {
        let mut shown = String::new();
        for kind in ["Cluster", "MachineDeployment", "MachineSet", "Machine"] {
            let Ok(all) = self.of_core(kind).list(&ListParams::default()).await else { continue };
            for object in all {
                shown.push_str(&unmet(kind, &object));
            }
        }
        for kind in ["MachinistCluster", "MachinistMachine"] {
            let all = self.all("infrastructure.machinist.dev", "v1alpha1", kind);
            let Ok(all) = all.list(&ListParams::default()).await else { continue };
            for object in all {
                shown.push_str(&unmet(kind, &object));
            }
        }
        shown
    }
}

fn by_template(machines: Vec<MachinistMachine>) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for machine in machines {
        let template = machine.metadata.annotations.unwrap_or_default().remove(annotations::CLONED_FROM);
        *counts.entry(template.unwrap_or_default()).or_default() += 1;
    }
    counts
}

fn unmet(kind: &str, object: &DynamicObject) -> String {
    let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let unmet = conditions.iter().filter(|one| one["status"] != "True");
    let unmet: Vec<String> = unmet
        .map(|one| format!("{}={} {}: {}", one["type"], one["status"], one["reason"], one["message"]))
        .collect();
    format!(
        "{kind} {}: {}\n  {}\n",
        object.name_any(),
        text(&object.data["status"]["phase"]),
        unmet.join("\n  ")
    )
}

/// The status of a condition.
fn condition<'a>(object: &'a DynamicObject, kind: &str) -> Option<&'a str> {
    let conditions = object.data["status"]["conditions"].as_array()?;
    conditions.iter().find(|one| one["type"] == kind)?["status"].as_str()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn port_of(plane: &ControlPlane) -> Result<u16> {
    let server = plane.server();
    let port = server.rsplit(':').next().context("an address has a port")?;
    port.parse().with_context(|| format!("{server} has no port"))
}

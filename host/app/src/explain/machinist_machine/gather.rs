//! Reads the objects of a MachinistMachine.

use anyhow::Result;
use kube::{Api, Client};
use machinist_api::MachineClass;
use machinist_api::infrastructure::core_kinds::{CoreCluster, CoreMachine};
use machinist_api::infrastructure::names::labels::CLUSTER_NAME;
use machinist_api::infrastructure::{
    self, MachinistCluster, MachinistMachine, MachinistRemediation, cluster_api,
};
use machinist_plugin_host::status::PluginStatus;

use super::credentials::{self, CredentialFacts};
use crate::args::ExplainFlags;
use crate::cluster::Cluster;
use crate::explain::explanation::{EventLines, LeaderAnswer};
use crate::explain::read::{HostNamespaces, Lookup, details, events, named, plugin, presence};
use crate::flags::NAMESPACE;

pub(in crate::explain) struct InfraFacts {
    pub(super) machine: MachinistMachine,
    /// Its Machine of Cluster API.
    pub(super) owner: Lookup<CoreMachine>,
    pub(super) cluster: Lookup<CoreCluster>,
    pub(super) infra_cluster: Lookup<MachinistCluster>,
    /// The Secret with the data of the first boot, as long as it is needed.
    pub(super) bootstrap: Lookup<()>,
    /// That of its Machine, if a MachineHealthCheck made one.
    pub(super) remediation: Lookup<MachinistRemediation>,
    pub(super) class: Lookup<MachineClass>,
    pub(super) credentials: CredentialFacts,
    pub(super) plugin: Lookup<PluginStatus>,
    pub(super) events: EventLines,
    pub(super) leader: LeaderAnswer,
}

pub(in crate::explain) async fn gather(
    flags: &ExplainFlags,
    place: &Cluster,
    machine: MachinistMachine,
) -> Result<InfraFacts> {
    let Cluster { client, namespace } = place;
    let owner = owner(client, namespace, &machine).await;
    let name = cluster_name(&machine, owner.found());
    let cluster: Lookup<CoreCluster> =
        named(Api::namespaced(client.clone(), namespace), name.as_deref()).await;
    let infra_name = cluster
        .found()
        .and_then(|cluster| cluster.spec.infrastructure_ref.named(infrastructure::GROUP, "MachinistCluster"));
    let infra_cluster: Lookup<MachinistCluster> =
        named(Api::namespaced(client.clone(), namespace), infra_name).await;
    let bootstrap = presence(
        Api::<k8s_openapi::api::core::v1::Secret>::namespaced(client.clone(), namespace),
        needed_bootstrap(&machine, owner.found()),
    )
    .await;
    let remediation = remediation(client, namespace, owner.found()).await;
    let class_name = machine.spec.class_ref.as_ref().map(|class| class.name.as_str());
    let class: Lookup<MachineClass> = named(Api::namespaced(client.clone(), namespace), class_name).await;
    let provider = match class_name {
        Some(_) => class.found().and_then(|class| class.provider.as_deref()),
        None => machine.spec.provider.as_deref(),
    };
    let plugin_namespace = flags.plugin_namespace.as_deref().unwrap_or(NAMESPACE);
    let credentials = credentials::gather(client, namespace, &machine, infra_cluster.found());
    let uid = machine.metadata.uid.as_deref().unwrap_or_default();
    let (credentials, plugin, events) =
        tokio::join!(credentials, plugin(client, provider, plugin_namespace), events(client, namespace, uid));
    let host = flags.host_namespace.as_deref().unwrap_or(NAMESPACE);
    let own_name = machine.metadata.name.as_deref().unwrap_or_default();
    let page = format!("/debug/machinistmachines/{namespace}/{own_name}");
    let leader = details(flags, HostNamespaces { lease: host, pod: host }, &page).await?;
    Ok(InfraFacts {
        machine,
        owner,
        cluster,
        infra_cluster,
        bootstrap,
        remediation,
        class,
        credentials,
        plugin,
        events,
        leader,
    })
}

/// Another Machine of the same name is not its owner.
async fn owner(client: &Client, namespace: &str, machine: &MachinistMachine) -> Lookup<CoreMachine> {
    let Some((name, uid)) = cluster_api::owner(&machine.metadata, "Machine") else { return Lookup::NotNamed };
    match named(Api::<CoreMachine>::namespaced(client.clone(), namespace), Some(name)).await {
        Lookup::Found(owner) if owner.metadata.uid.as_deref() != Some(uid) => {
            Lookup::Missing(name.to_owned())
        }
        other => other,
    }
}

/// Its name is that of the Machine. Most machines have none, and a cluster may not even know the kind.
async fn remediation(
    client: &Client,
    namespace: &str,
    owner: Option<&CoreMachine>,
) -> Lookup<MachinistRemediation> {
    let Some((name, uid)) =
        owner.map(|owner| (owner.metadata.name.as_deref(), owner.metadata.uid.as_deref()))
    else {
        return Lookup::NotNamed;
    };
    let is_owner = |remediation: &MachinistRemediation| {
        let found = cluster_api::owner(&remediation.metadata, "Machine");
        found.is_some_and(|(_, of_remediation)| uid == Some(of_remediation))
    };
    match named(Api::<MachinistRemediation>::namespaced(client.clone(), namespace), name).await {
        Lookup::Found(remediation) if !is_owner(&remediation) => Lookup::NotNamed,
        other => other,
    }
}

/// As the host does: that of its Machine, else that of its own label.
fn cluster_name(machine: &MachinistMachine, owner: Option<&CoreMachine>) -> Option<String> {
    let of_owner = owner.map(|owner| owner.spec.cluster_name.clone()).filter(|name| !name.is_empty());
    let labels = machine.metadata.labels.as_ref();
    of_owner.or_else(|| labels?.get(CLUSTER_NAME).cloned()).filter(|name| !name.is_empty())
}

/// A VM that is there needs no data any more, and its Secret may be gone.
fn needed_bootstrap<'a>(machine: &MachinistMachine, owner: Option<&'a CoreMachine>) -> Option<&'a str> {
    let is_needed = machine.provider_id().is_none() && machine.metadata.deletion_timestamp.is_none();
    owner.filter(|_| is_needed).map(|owner| owner.spec.bootstrap.data_secret_name.as_str())
}

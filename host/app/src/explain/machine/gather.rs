//! Reads the objects of a Machine.

use std::sync::Arc;

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use machinist_api::names::labels::NODE;
use machinist_api::{Machine, MachineClass};
use machinist_plugin_host::status::PluginStatus;
use machinist_runtime::client::clusters::{Access, client, config};
use machinist_runtime::metrics::Metrics;

use crate::args::ExplainFlags;
use crate::cluster::Cluster;
use crate::explain::explanation::LeaderAnswer;
use crate::explain::read::{HostNamespaces, Lookup, details, named, plugin};

pub(in crate::explain) struct MachineFacts {
    pub(super) machine: Machine,
    pub(super) class: Lookup<MachineClass>,
    pub(super) node: Lookup<Node>,
    /// The status of the plugin that serves the class's provider.
    pub(super) plugin: Lookup<PluginStatus>,
    pub(super) leader: LeaderAnswer,
}

pub(in crate::explain) async fn gather(
    flags: &ExplainFlags,
    cluster: &Cluster,
    machine: Machine,
) -> Result<MachineFacts> {
    let Cluster { client: control, namespace } = cluster;
    let class: Lookup<MachineClass> =
        named(Api::namespaced(control.clone(), namespace), machine.spec.class.name.as_deref()).await;
    let target = match flags.target_kubeconfig.as_deref() {
        None => Some(control.clone()),
        Some("none") => None,
        Some(path) => {
            let access = Access::Kubeconfig(path.into());
            Some(client(config(&access)?, Arc::new(Metrics::default()))?)
        }
    };
    let node = node(target, &machine).await;
    let provider = class.found().and_then(|class| class.provider.as_deref());
    let plugin = plugin(control, provider, flags.plugin_namespace.as_deref().unwrap_or(namespace)).await;
    let name = machine.metadata.name.as_deref().unwrap_or_default();
    let host = HostNamespaces { lease: namespace, pod: flags.host_namespace.as_deref().unwrap_or(namespace) };
    let leader = details(flags, host, &format!("/debug/machines/{namespace}/{name}")).await?;
    Ok(MachineFacts { machine, class, node, plugin, leader })
}

async fn node(target: Option<Client>, machine: &Machine) -> Lookup<Node> {
    let name = machine.metadata.labels.as_ref().and_then(|labels| labels.get(NODE));
    match target {
        Some(target) => named(Api::all(target), name.map(String::as_str)).await,
        None => Lookup::NotNamed,
    }
}

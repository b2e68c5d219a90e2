//! Reads a Machine's objects from the clusters, and asks the leader. An object that cannot be read is a fact, with the
//! reason.

use std::sync::Arc;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::ListParams;
use kube::{Api, Client};
use machinist_api::names::labels::{NODE, PLUGIN};
use machinist_api::{Machine, MachineClass};
use machinist_core::value::id::ObjectKey;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::status::PluginStatus;
use machinist_runtime::client::clusters::{Access, client, config};
use machinist_runtime::machine_query::MachineDetails;
use machinist_runtime::metrics::Metrics;

use crate::args::ExplainFlags;
use crate::cluster::leader::{self, HostLocation};
use crate::cluster::{
    Cluster, client_that_asks_once, explained, instead, is_missing, message_of, names_of, reach,
};
use crate::plugin::cluster::readable_status;

pub(super) struct Facts {
    pub(super) machine: Machine,
    pub(super) class: Lookup<MachineClass>,
    pub(super) node: Lookup<Node>,
    /// The status of the plugin that serves the class's provider.
    pub(super) plugin: Lookup<PluginStatus>,
    /// The name of the leader with its insight, or why there is none.
    pub(super) leader: Result<(String, MachineDetails), String>,
}

/// The result of reading an object.
pub(super) enum Lookup<T> {
    /// The Machine names no such object.
    NotNamed,
    /// It is not there.
    Missing(String),
    /// It could not be read.
    Unreadable(String),
    Found(T),
}

pub(super) async fn gather(flags: &ExplainFlags, name: &str) -> Result<Facts> {
    let Cluster { client: control, namespace } = reach(&flags.place).await?;
    let machine = machine(&control, &namespace, name).await?;
    let class = class(&control, &machine, &namespace).await;
    let target = match flags.target_kubeconfig.as_deref() {
        None => Some(control.clone()),
        Some("none") => None,
        Some(path) => {
            let access = Access::Kubeconfig(path.into());
            Some(client(config(&access)?, Arc::new(Metrics::default()))?)
        }
    };
    let node = node(target, &machine).await;
    let plugin_namespace = flags.plugin_namespace.as_deref().unwrap_or(&namespace);
    let plugin = plugin(&control, &class, plugin_namespace).await;
    let key = ObjectKey::new(&namespace, name);
    let once = client_that_asks_once(&flags.place.access).await?;
    let leader = insight(&once, flags, &key).await;
    Ok(Facts { machine, class, node, plugin, leader })
}

async fn machine(control: &Client, namespace: &str, name: &str) -> Result<Machine> {
    let api: Api<Machine> = Api::namespaced(control.clone(), namespace);
    match api.get(name).await {
        Ok(machine) => Ok(machine),
        Err(error) if is_missing(&error) => {
            let help = instead(&names_of(&api).await, name, "Machine");
            bail!("there is no Machine {name} in namespace {namespace}: {help}")
        }
        Err(error) => {
            let rights = "get on machines, machineclasses and leases";
            Err(explained(error, &format!("read Machine {name} in namespace {namespace}"), rights))
        }
    }
}

async fn class(control: &Client, machine: &Machine, namespace: &str) -> Lookup<MachineClass> {
    let Some(name) = machine.spec.class.name.as_deref().filter(|name| !name.is_empty()) else {
        return Lookup::NotNamed;
    };
    lookup(Api::namespaced(control.clone(), namespace), name).await
}

async fn node(target: Option<Client>, machine: &Machine) -> Lookup<Node> {
    let labels = machine.metadata.labels.as_ref();
    let name = labels.and_then(|labels| labels.get(NODE)).filter(|name| !name.is_empty());
    match (target, name) {
        (Some(target), Some(name)) => lookup(Api::all(target), name).await,
        (None, _) | (_, None) => Lookup::NotNamed,
    }
}

async fn lookup<T>(api: Api<T>, name: &str) -> Lookup<T>
where
    T: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    match api.get_opt(name).await {
        Ok(Some(object)) => Lookup::Found(object),
        Ok(None) => Lookup::Missing(name.to_owned()),
        Err(error) => Lookup::Unreadable(format!("{name} cannot be read: {}", message_of(&error))),
    }
}

async fn plugin(control: &Client, class: &Lookup<MachineClass>, namespace: &str) -> Lookup<PluginStatus> {
    let Lookup::Found(class) = class else { return Lookup::NotNamed };
    let provider = class.provider.as_deref().unwrap_or_default().trim().to_lowercase();
    if provider.is_empty() {
        return Lookup::NotNamed;
    }
    let api: Api<ConfigMap> = Api::namespaced(control.clone(), namespace);
    let maps = match api.list_metadata(&ListParams::default().labels(PLUGIN)).await {
        Ok(maps) => maps,
        Err(error) => {
            return Lookup::Unreadable(format!(
                "plugins in {namespace} cannot be listed: {}",
                message_of(&error)
            ));
        }
    };
    let statuses = maps.items.into_iter().filter_map(|map| {
        Some(readable_status(map.metadata.annotations?.get(PluginKeys::STATUS_ANNOTATION)?))
    });
    let serves = |status: &PluginStatus| {
        let held = status.held.as_ref().filter(|_| status.serving);
        held.is_some_and(|held| held.providers.contains(&provider))
    };
    statuses.into_iter().find(serves).map_or(Lookup::Missing(provider), Lookup::Found)
}

/// Asks the leader. Returns its name with the answer, or an error with the fix.
async fn insight(
    control: &Client,
    flags: &ExplainFlags,
    machine: &ObjectKey,
) -> Result<(String, MachineDetails), String> {
    let leases = machine.namespace.as_str();
    let location = HostLocation {
        address: flags.address.as_deref(),
        address_flag: "--address",
        leases,
        pods: flags.host_namespace.as_deref().unwrap_or(leases),
        port: flags.port,
    };
    let page = format!("/debug/machines/{}/{}", machine.namespace, machine.name);
    leader::ask(Some(control), &location, &page).await
}

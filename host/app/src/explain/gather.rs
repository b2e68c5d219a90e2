//! What the clusters and the leader know of a Machine. What cannot be read is a fact too, and says why.

use std::sync::Arc;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::ListParams;
use kube::{Api, Client};
use machinist_api::names::labels::{NODE, PLUGIN};
use machinist_api::{Machine, MachineClass};
use machinist_core::value::id::ObjectKey;
use machinist_runtime::client::clusters::{Access, client, config};
use machinist_runtime::client::field_manager::PLUGIN_STATUS;
use machinist_runtime::machine_query::MachineDetails;
use machinist_runtime::metrics::Metrics;
use serde_json::Value;

use crate::args::ExplainFlags;
use crate::cluster::leader::{self, Place};
use crate::cluster::{Cluster, client_that_asks_once, explained, instead, is_missing, reach, said};
use crate::plugin::cluster::status;

/// All of it.
pub(super) struct Facts {
    pub(super) machine: Machine,
    pub(super) class: Look<MachineClass>,
    pub(super) node: Look<Node>,
    /// The status of the plugin that serves the class's provider.
    pub(super) plugin: Look<Value>,
    /// Who leads, and what it knows; or why that is not known.
    pub(super) leader: Result<(String, MachineDetails), String>,
}

/// What came of looking for something.
pub(super) enum Look<T> {
    /// There is no name to look for.
    NotNamed,
    /// It is not there.
    Missing(String),
    /// It could not be read.
    Unreadable(String),
    /// It is there.
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
            let others = api.list_metadata(&ListParams::default().limit(500)).await;
            let names: Vec<String> =
                others.into_iter().flatten().filter_map(|other| other.metadata.name).collect();
            bail!("there is no Machine {name} in namespace {namespace}: {}", instead(&names, name, "Machine"))
        }
        Err(error) => {
            let rights = "get on machines, machineclasses and leases";
            Err(explained(error, &format!("read Machine {name} in namespace {namespace}"), rights))
        }
    }
}

async fn class(control: &Client, machine: &Machine, namespace: &str) -> Look<MachineClass> {
    let Some(name) = machine.spec.class.name.as_deref().filter(|name| !name.is_empty()) else {
        return Look::NotNamed;
    };
    look(Api::namespaced(control.clone(), namespace), name).await
}

async fn node(target: Option<Client>, machine: &Machine) -> Look<Node> {
    let labels = machine.metadata.labels.as_ref();
    let name = labels.and_then(|labels| labels.get(NODE)).filter(|name| !name.is_empty());
    match (target, name) {
        (Some(target), Some(name)) => look(Api::all(target), name).await,
        (None, _) | (_, None) => Look::NotNamed,
    }
}

async fn look<T>(api: Api<T>, name: &str) -> Look<T>
where
    T: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    match api.get_opt(name).await {
        Ok(Some(object)) => Look::Found(object),
        Ok(None) => Look::Missing(name.to_owned()),
        Err(error) => Look::Unreadable(format!("{name} cannot be read: {}", said(&error))),
    }
}

async fn plugin(control: &Client, class: &Look<MachineClass>, namespace: &str) -> Look<Value> {
    let Look::Found(class) = class else { return Look::NotNamed };
    let provider = class.provider.as_deref().unwrap_or_default().trim().to_lowercase();
    if provider.is_empty() {
        return Look::NotNamed;
    }
    let api: Api<ConfigMap> = Api::namespaced(control.clone(), namespace);
    let maps = match api.list_metadata(&ListParams::default().labels(PLUGIN)).await {
        Ok(maps) => maps,
        Err(error) => {
            return Look::Unreadable(format!("plugins in {namespace} cannot be listed: {}", said(&error)));
        }
    };
    let statuses = maps
        .items
        .into_iter()
        .filter_map(|map| status::<Value>(map.metadata.annotations?.get(PLUGIN_STATUS)?).ok());
    let serves = |status: &Value| {
        let providers =
            status.pointer("/held/providers").and_then(Value::as_array).cloned().unwrap_or_default();
        status.get("serving").is_some_and(|serving| serving == true)
            && providers.iter().any(|served| served == &provider)
    };
    statuses.into_iter().find(serves).map_or(Look::Missing(provider), Look::Found)
}
/// Who was asked, and its answer; or why there is none, with what to do.
async fn insight(
    control: &Client,
    flags: &ExplainFlags,
    machine: &ObjectKey,
) -> Result<(String, MachineDetails), String> {
    let page = format!("/debug/machines/{}/{}", machine.namespace, machine.name);
    let leases = machine.namespace.as_str();
    let (whom, text) = match &flags.address {
        Some(address) => (address.clone(), leader::ask_at(address, "--address", &page).await?),
        None => {
            let pods = flags.host_namespace.as_deref().unwrap_or(leases);
            let place = Place { leases, pods, port: flags.port, direct: "--address" };
            leader::ask_pod(control, &place, &page).await?
        }
    };
    let insight = serde_json::from_str(&text).map_err(|error| {
        format!("{whom} answers something else, perhaps another program or version: {error}")
    })?;
    Ok((whom, insight))
}

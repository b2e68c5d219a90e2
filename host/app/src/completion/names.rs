//! Names of objects in a cluster, for somebody who waits at a keyboard.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use machinist_api::infrastructure::core_kinds::{CoreCluster, CoreDeployment, CoreMachine, CoreSet};
use machinist_api::infrastructure::{MachinistMachine, MachinistRemediation};
use machinist_api::names::labels::PLUGIN;
use machinist_api::{Machine, MachineDeployment, MachineSet};
use machinist_plugin_host::PluginKeys;
use serde::de::DeserializeOwned;

use super::Question;
use crate::args::invocation_name::own_kubeconfig;
use crate::args::{AccessFlags, PlaceFlags};
use crate::cluster::subject::Kind;
use crate::cluster::{Cluster, client_of, reach};
use crate::flags::NAMESPACE;

/// Users do not wait longer for a suggestion.
const TIMEOUT: Duration = Duration::from_secs(3);

/// So many are enough to choose from.
const MOST: u32 = 500;

/// Those that are there and begin so; none when the cluster does not answer.
pub(super) async fn names(question: &Question) -> Vec<String> {
    tokio::time::timeout(TIMEOUT, asked(question)).await.ok().flatten().unwrap_or_default()
}

async fn asked(question: &Question) -> Option<Vec<String>> {
    if let Some(command) = question.command.strip_prefix("plugin ") {
        return plugins(question, command).await;
    }
    let cluster = reach(&place(question)).await.ok()?;
    let cluster = &cluster;
    let lists = sources(&question.command, &question.begun).into_iter().map(|source| async move {
        let names = source.list(cluster).await.unwrap_or_default();
        let fit = names.into_iter().filter(|name| name.starts_with(source.begun));
        fit.map(|name| format!("{}{name}", source.prefix)).collect::<Vec<_>>()
    });
    let all: BTreeSet<String> = futures::future::join_all(lists).await.into_iter().flatten().collect();
    Some(all.into_iter().collect())
}

/// A kind whose names complete a word.
#[derive(Debug, PartialEq, Eq)]
struct Source<'a> {
    kind: Kind,
    /// The part of the word before the name.
    prefix: String,
    /// The beginning of the name.
    begun: &'a str,
}

/// Returns the kinds whose names complete a word: the one that is written, else all that the command takes.
fn sources<'a>(command: &str, begun: &'a str) -> Vec<Source<'a>> {
    if let Some((kind, name)) = begun.rsplit_once('/') {
        return vec![Source { kind: Kind::parse(kind), prefix: format!("{kind}/"), begun: name }];
    }
    let plain = |kind| Source { kind, prefix: String::new(), begun };
    // The kind itself has been begun.
    let with_kind = |word: &str, kind: Kind| {
        word.starts_with(begun).then(|| Source { kind, prefix: format!("{word}/"), begun: "" })
    };
    match command {
        "explain" => {
            let kinds = [("machine", Kind::Machine), ("machinistmachine", Kind::MachinistMachine)];
            let begun: Vec<Source<'_>> =
                kinds.into_iter().filter_map(|(word, kind)| with_kind(word, kind)).collect();
            if begun.is_empty() { vec![plain(Kind::Machine), plain(Kind::MachinistMachine)] } else { begun }
        }
        "tree" => [plain(Kind::Deployment), plain(Kind::CoreDeployment)]
            .into_iter()
            .chain(with_kind("cluster", Kind::Cluster))
            .collect(),
        _ => vec![plain(Kind::Deployment)],
    }
}

impl Source<'_> {
    async fn list(&self, cluster: &Cluster) -> Option<Vec<String>> {
        match self.kind {
            Kind::Machine => list::<Machine>(cluster).await,
            Kind::Set => list::<MachineSet>(cluster).await,
            Kind::Deployment => list::<MachineDeployment>(cluster).await,
            Kind::Cluster => list::<CoreCluster>(cluster).await,
            Kind::CoreDeployment => list::<CoreDeployment>(cluster).await,
            Kind::CoreSet => list::<CoreSet>(cluster).await,
            Kind::CoreMachine => list::<CoreMachine>(cluster).await,
            Kind::MachinistMachine => list::<MachinistMachine>(cluster).await,
            Kind::MachinistRemediation => list::<MachinistRemediation>(cluster).await,
            Kind::Node | Kind::PodDeployment | Kind::Other(_) => None,
        }
    }
}

/// Plugins by the name that `plugin list` shows, or their ConfigMaps where those are meant.
async fn plugins(question: &Question, command: &str) -> Option<Vec<String>> {
    let namespace = question.flags.get("namespace").cloned();
    let namespace = namespace.unwrap_or_else(|| NAMESPACE.to_owned());
    let api: Api<ConfigMap> = Api::namespaced(client_of(&place(question).access).await.ok()?, &namespace);
    let plugins = format!("{PLUGIN},{PLUGIN}!={}", PluginKeys::PART_KIND);
    let listed = api.list_metadata(&ListParams::default().labels(&plugins).limit(MOST)).await.ok()?;
    let maps = listed.items.into_iter().filter_map(|map| {
        let name = map.metadata.name?;
        let plugin = map.metadata.labels.and_then(|mut labels| labels.remove(PluginKeys::NAME_LABEL));
        Some((plugin.unwrap_or_else(|| name.clone()), name))
    });
    Some(offered(maps, command, &question.begun))
}

/// Of plugins and their ConfigMaps, those that a command may go on with.
fn offered(maps: impl Iterator<Item = (String, String)>, command: &str, begun: &str) -> Vec<String> {
    let (prefix, begun) = match (command, begun.split_once('/')) {
        ("diff", Some((kind, begun))) => (format!("{kind}/"), begun),
        // The kind itself has been begun.
        ("diff", None) => ("configmap/".to_owned(), ""),
        (_, _) => (String::new(), begun),
    };
    let is_map = matches!(command, "diff" | "resolve");
    let names: BTreeSet<String> = maps.map(|(plugin, map)| if is_map { map } else { plugin }).collect();
    let fit = names.into_iter().filter(|name| name.starts_with(begun));
    fit.map(|name| format!("{prefix}{name}")).collect()
}

/// The flags that say where, with what holds for kubectl where they are not given.
fn place(question: &Question) -> PlaceFlags {
    let flag = |name: &str| question.flags.get(name).cloned();
    let kubeconfig = flag("kubeconfig")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()).map(PathBuf::from));
    PlaceFlags {
        namespace: flag("namespace"),
        access: AccessFlags {
            kubeconfig: kubeconfig.or_else(|| own_kubeconfig().map(PathBuf::from)),
            context: flag("context"),
        },
    }
}

async fn list<K>(cluster: &Cluster) -> Option<Vec<String>>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let listed = api.list_metadata(&ListParams::default().limit(MOST)).await.ok()?;
    Some(listed.items.into_iter().filter_map(|item| item.metadata.name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_completed_by_names_of_both_apis() {
        let of = |command: &str, begun: &str| -> Vec<(Kind, String, String)> {
            let sources = sources(command, begun).into_iter();
            sources.map(|source| (source.kind, source.prefix, source.begun.to_owned())).collect()
        };
        let one = |kind: Kind, prefix: &str, begun: &str| (kind, prefix.to_owned(), begun.to_owned());
        let (machine, vm) = (Kind::Machine, Kind::MachinistMachine);
        let both = [one(machine.clone(), "machine/", ""), one(vm.clone(), "machinistmachine/", "")];
        assert_eq!(of("explain", "machi"), both);
        assert_eq!(of("explain", "machini"), [one(vm.clone(), "machinistmachine/", "")]);
        assert_eq!(of("explain", "mim/w"), [one(vm.clone(), "mim/", "w")]);
        assert_eq!(of("explain", "w"), [one(machine, "", "w"), one(vm, "", "w")]);
        let (own, core) = (Kind::Deployment, Kind::CoreDeployment);
        let both = [one(own.clone(), "", "w"), one(core.clone(), "", "w")];
        assert_eq!(of("tree", "w"), both);
        assert_eq!(of("tree", "cl").last(), Some(&one(Kind::Cluster, "cluster/", "")));
        let written = "machinedeployments.cluster.x-k8s.io/";
        assert_eq!(of("tree", &format!("{written}w")), [one(core, written, "w")]);
        assert_eq!(of("rollout status", "w"), [one(own, "", "w")]);
    }

    #[test]
    fn plugins_are_offered_once_by_name_and_their_configmaps_where_those_are_meant() {
        let maps = || [("aws", "aws-1"), ("aws", "aws-2"), ("sim", "sim")].into_iter();
        let asked = |command: &str, begun: &str| {
            offered(maps().map(|(plugin, map)| (plugin.to_owned(), map.to_owned())), command, begun)
        };
        assert_eq!(asked("logs", ""), ["aws", "sim"]);
        assert_eq!(asked("promote", "s"), ["sim"]);
        assert_eq!(asked("resolve", "a"), ["aws-1", "aws-2"]);
        assert_eq!(asked("diff", "cm/aws"), ["cm/aws-1", "cm/aws-2"]);
        assert_eq!(asked("diff", "conf"), ["configmap/aws-1", "configmap/aws-2", "configmap/sim"]);
    }
}

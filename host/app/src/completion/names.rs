//! Names of objects in a cluster, for somebody who waits at a keyboard.

use std::fmt::Debug;
use std::path::PathBuf;
use std::time::Duration;

use kube::api::ListParams;
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use serde::de::DeserializeOwned;

use super::words::Question;
use crate::args::{AccessFlags, PlaceFlags};
use crate::called::own_kubeconfig;
use crate::cluster::{Cluster, reach};
use crate::subject::Kind;

/// Longer than this nobody waits for a suggestion.
const PATIENCE: Duration = Duration::from_secs(3);

/// So many are enough to choose from.
const MOST: u32 = 500;

/// Those that are there and begin so; none when the cluster does not answer.
pub(super) async fn names(question: &Question) -> Vec<String> {
    tokio::time::timeout(PATIENCE, asked(question)).await.ok().flatten().unwrap_or_default()
}

async fn asked(question: &Question) -> Option<Vec<String>> {
    let (prefix, begun) = match question.begun.rsplit_once('/') {
        Some((kind, begun)) => (format!("{kind}/"), begun),
        // A Machine is named with its kind, which somebody has begun to type.
        None if question.command == "explain" && "machine".starts_with(&question.begun) => {
            ("machine/".to_owned(), "")
        }
        None => (String::new(), question.begun.as_str()),
    };
    let cluster = reach(&place(question)).await.ok()?;
    let names = match Kind::parse(prefix.trim_end_matches('/')) {
        Kind::Machine => list::<Machine>(&cluster).await?,
        Kind::Set => list::<MachineSet>(&cluster).await?,
        Kind::Deployment => list::<MachineDeployment>(&cluster).await?,
        Kind::Other(none) if none.is_empty() => list::<MachineDeployment>(&cluster).await?,
        Kind::Node | Kind::PodDeployment | Kind::Other(_) => return None,
    };
    let fit = names.into_iter().filter(|name| name.starts_with(begun));
    Some(fit.map(|name| format!("{prefix}{name}")).collect())
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

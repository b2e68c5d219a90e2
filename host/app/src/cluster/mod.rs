//! The cluster of a subcommand: its client, kubeconfig and namespace, and helpful errors.
//!
//! | module | what it does |
//! | --- | --- |
//! | `subject` | parses the object that the user names |
//! | `leader` | asks the leading process |
//! | `port_forward` | reads a page of a pod through a port-forward |
//! | `errors` | explains a failed request, and suggests similar names |

mod errors;
pub(crate) mod leader;
pub(crate) mod port_forward;
pub(crate) mod subject;

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
pub(crate) use errors::{explained, instead, is_missing, is_unknown_kind, message_of};
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::{Api, Client, Config, Resource};
use machinist_runtime::client::clusters::{Access, config, from_kubeconfig};
use machinist_runtime::client::field_manager::USER_AGENT;
use serde::de::DeserializeOwned;

use crate::args::{AccessFlags, PlaceFlags};

/// A cluster, and where in it.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

impl Cluster {
    /// Lists the objects of a kind. One that cannot be decoded is named on stderr, and hides no other.
    pub(crate) async fn list<K>(&self, rights: &str) -> Result<Vec<K>>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        self.try_list().await.map_err(|error| explained(error, &self.list_task::<K>(), rights))
    }

    /// As [`Self::list`], with the error as the server has given it.
    pub(crate) async fn try_list<K>(&self) -> std::result::Result<Vec<K>, kube::Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<DeserializeGuard<K>> = Api::namespaced(self.client.clone(), &self.namespace);
        let listed = api.list(&ListParams::default()).await?;
        let objects = listed.items.into_iter().filter_map(|item| match item.0 {
            Ok(object) => Some(object),
            Err(invalid) => {
                let name = invalid.metadata.name.unwrap_or_default();
                eprintln!(
                    "{} {name} is left out, since it cannot be decoded: {}",
                    K::kind(&()),
                    invalid.error
                );
                None
            }
        });
        Ok(objects.collect())
    }

    /// Describes the list of a kind, for errors.
    pub(crate) fn list_task<K: Resource<DynamicType = ()>>(&self) -> String {
        format!("list {}s of namespace {}", K::kind(&()), self.namespace)
    }
}

/// Returns the names of the objects that are there, to suggest one of them. None if they cannot be listed.
pub(crate) async fn names_of<K>(api: &Api<K>) -> Vec<String>
where
    K: Clone + Debug + DeserializeOwned,
{
    let listed = api.list_metadata(&ListParams::default().limit(500)).await;
    listed.into_iter().flatten().filter_map(|object| object.metadata.name).collect()
}

/// The cluster, and the namespace that was named, or else that of the context.
pub(crate) async fn reach(flags: &PlaceFlags) -> Result<Cluster> {
    let config = configured(&flags.access)?;
    let namespace = flags.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    Ok(Cluster { client: client(config, Asks::Again)?, namespace })
}

pub(crate) async fn client_of(flags: &AccessFlags) -> Result<Client> {
    client(configured(flags)?, Asks::Again)
}

/// The same for requests to a pod through the server: an unreachable pod is an answer.
pub(crate) async fn client_that_asks_once(flags: &AccessFlags) -> Result<Client> {
    client(configured(flags)?, Asks::Once)
}

/// Whether to repeat a request that a server refuses for a moment, such as a list of a kind that was just installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    Once,
    /// Unlike the host's client: nothing else repeats the request of a command.
    Again,
}

fn client(mut config: Config, asks: Asks) -> Result<Client> {
    config.connect_timeout = Some(Duration::from_secs(10));
    config.headers.push((http::header::USER_AGENT, http::HeaderValue::from_static(USER_AGENT)));
    config.default_retry = asks == Asks::Again;
    Client::try_from(config).context("failed to make a client")
}

fn configured(flags: &AccessFlags) -> Result<Config> {
    match (&flags.kubeconfig, &flags.context) {
        (Some(paths), context) => from_files(paths, context.as_deref()),
        (None, None) => config(&Access::InCluster).context(
            "there is no kubeconfig, and this is no pod: set KUBECONFIG, give --kubeconfig FILE, or call it as kubectl machinist",
        ),
        (None, Some(context)) => anyhow::bail!(
            "--context {context} is a context of a kubeconfig, and there is none: name one with --kubeconfig or KUBECONFIG"
        ),
    }
}

/// Reads what KUBECONFIG may hold too: several files, of which the first that names something counts.
fn from_files(paths: &Path, context: Option<&str>) -> Result<Config> {
    let kubeconfig = merged(paths)?;
    if let Some(wanted) = context {
        let names: Vec<&str> = kubeconfig.contexts.iter().map(|context| context.name.as_str()).collect();
        if !names.contains(&wanted) {
            bail!("kubeconfig {} has no context {wanted}: it has {}", paths.display(), names.join(", "));
        }
    }
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    from_kubeconfig(&kubeconfig, &options)
        .with_context(|| format!("failed to use kubeconfig {}", paths.display()))
}

fn merged(paths: &Path) -> Result<Kubeconfig> {
    let all: Vec<PathBuf> =
        std::env::split_paths(paths).filter(|path| !path.as_os_str().is_empty()).collect();
    // Those that are not there are passed over, as kubectl does.
    let there: Vec<&PathBuf> = all.iter().filter(|path| path.exists()).collect();
    let mut merged: Option<Kubeconfig> = None;
    for path in there {
        let failed = || format!("failed to read kubeconfig {}", path.display());
        let one = Kubeconfig::read_from(path).with_context(failed)?;
        merged = Some(match merged {
            None => one,
            Some(earlier) => earlier.merge(one).with_context(failed)?,
        });
    }
    merged.with_context(|| {
        format!(
            "there is no kubeconfig at {}: set KUBECONFIG or --kubeconfig to a file that is there",
            paths.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, name: &str, namespace: &str) -> PathBuf {
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\n\
             clusters: [{{name: {name}, cluster: {{server: 'http://127.0.0.1:1'}}}}]\n\
             users: [{{name: {name}, user: {{}}}}]\n\
             contexts: [{{name: {name}, context: {{cluster: {name}, user: {name}, namespace: {namespace}}}}}]\n"
        );
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn several_files_are_one_and_a_context_brings_its_namespace() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (written(folder.path(), "one", "first"), written(folder.path(), "two", "second"));
        let both = std::env::join_paths([folder.path().join("absent"), one.clone(), two]).unwrap();
        let both = PathBuf::from(both);
        assert_eq!(from_files(&both, None).unwrap().default_namespace, "first");
        assert_eq!(from_files(&both, Some("two")).unwrap().default_namespace, "second");
        let error = from_files(&one, Some("two")).unwrap_err().to_string();
        assert!(error.contains("has no context two: it has one"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = from_files(Path::new("/does/not/exist"), None).unwrap_err().to_string();
        assert!(error.contains("/does/not/exist"), "{error}");
        let error = from_files(Path::new("/does/not/exist:/neither"), None).unwrap_err().to_string();
        assert!(error.contains("no kubeconfig at /does/not/exist:/neither"), "{error}");
    }
}

//! What must be there before the controllers start.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use machinist_api::names;
use machinist_runtime::clusters::{self, Access};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::settings::Settings;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::args::RunFlags;

/// Clients of the clusters.
pub(crate) struct Clients {
    pub(crate) control: Client,
    pub(crate) target: Option<Client>,
}

/// How often something that is not there is looked for.
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) async fn clients(flags: &RunFlags, metrics: &Arc<Metrics>) -> anyhow::Result<Clients> {
    let target = match flags.target_kubeconfig.as_str() {
        "none" => None,
        "" => Some(Access::InCluster),
        path => Some(Access::Kubeconfig(PathBuf::from(path))),
    };
    let control = match (flags.control_kubeconfig.as_str(), &target) {
        ("", Some(target)) => target.clone(),
        ("", None) => {
            bail!("--target-kubeconfig=none needs --control-kubeconfig: name the cluster of the Machines")
        }
        ("inClusterConfig", _) => Access::InCluster,
        (path, _) => Access::Kubeconfig(PathBuf::from(path)),
    };
    let client = async |access: &Access| {
        anyhow::Ok(clusters::client(clusters::config(access).await?, metrics.clone())?)
    };
    let control_client = client(&control).await.context("failed to reach for the control cluster")?;
    let target_client = match &target {
        None => None,
        Some(target) if *target == control => Some(control_client.clone()),
        Some(target) => Some(client(target).await.context("failed to reach for the target cluster")?),
    };
    Ok(Clients { control: control_client, target: target_client })
}

/// Waits until the API server serves the kinds that the controllers need. Says what is missing while it waits.
pub(crate) async fn wait_for_kinds(control: &Client, stop: &CancellationToken) -> bool {
    let mut said = String::new();
    loop {
        let problem = match control.list_api_group_resources(names::API_VERSION).await {
            Ok(list) => {
                let missing: Vec<&str> = ["machines", "machineclasses"]
                    .into_iter()
                    .filter(|kind| !list.resources.iter().any(|resource| resource.name == *kind))
                    .collect();
                if missing.is_empty() {
                    return true;
                }
                format!("the cluster has no CRDs for {}: kubectl apply -f deploy/crds", missing.join(", "))
            }
            Err(kube::Error::Api(status)) if status.code == 404 => {
                "the cluster has no CRDs of machine.sapcloud.io: kubectl apply -f deploy/crds".to_owned()
            }
            Err(error) => format!("the control cluster does not answer: {error}"),
        };
        if problem != said {
            warn!("{problem}");
            said = problem;
        }
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
}

/// Names the cluster towards the cloud: as given, or the uid of the control namespace, which no two clusters share.
pub(crate) async fn cluster_id(flags: &RunFlags, control: &Client) -> anyhow::Result<String> {
    if !flags.cluster_id.is_empty() {
        return Ok(flags.cluster_id.clone());
    }
    let namespace = &flags.namespace;
    let object = Api::<Namespace>::all(control.clone()).get(namespace).await.with_context(|| {
        format!("failed to read namespace {namespace}, whose uid names the cluster: create it, or give --cluster-id")
    })?;
    object.metadata.uid.with_context(|| format!("namespace {namespace} has no uid"))
}

pub(crate) fn settings(flags: &RunFlags, cluster: String) -> Settings {
    let defaults = Settings::for_cluster(cluster);
    let retry = flags.resource_exhausted_retry;
    Settings {
        creation_timeout: flags.machine_creation_timeout,
        health_timeout: flags.machine_health_timeout,
        node_conditions: flags.node_conditions.clone(),
        // 0 means the default, as users of the flag know it.
        resource_exhausted_retry: if retry.is_zero() { defaults.resource_exhausted_retry } else { retry },
        bootstrap_token_extra_groups: flags.bootstrap_token_auth_extra_groups.clone(),
        passes_in_flight: usize::try_from(flags.concurrent_syncs).unwrap_or(usize::MAX),
        resync: flags.min_resync_period,
        ..defaults
    }
}

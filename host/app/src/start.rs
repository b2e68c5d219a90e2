//! What must be there before the controllers start.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use machinist_api::names;
use machinist_core::request_rate::Rate;
use machinist_runtime::clusters::{self, Access};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::settings::Controllers;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::flags::ProcessFlags;

/// Clients of the clusters.
pub(crate) struct Clients {
    pub(crate) control: Client,
    pub(crate) target: Option<Client>,
}

/// How often something that is not there is looked for.
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) async fn clients(
    control: &Access,
    target: Option<&Access>,
    rate: Option<Rate>,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<Clients> {
    let client = async |access: &Access| {
        anyhow::Ok(clusters::paced_client(clusters::config(access).await?, metrics.clone(), rate)?)
    };
    let control_client = client(control).await.context("failed to reach for the control cluster")?;
    let target_client = match target {
        None => None,
        Some(target) if target == control => Some(control_client.clone()),
        Some(target) => Some(client(target).await.context("failed to reach for the target cluster")?),
    };
    Ok(Clients { control: control_client, target: target_client })
}

/// Waits until the API server serves the kinds that the controllers need. Says what is missing while it waits.
pub(crate) async fn wait_for_kinds(
    control: &Client,
    controllers: Controllers,
    stop: &CancellationToken,
) -> bool {
    let mut needed = vec!["machines", "machineclasses"];
    if controllers.sets || controllers.deployments {
        needed.extend(["machinesets", "machinedeployments"]);
    }
    let mut said = String::new();
    loop {
        let problem = match control.list_api_group_resources(names::API_VERSION).await {
            Ok(list) => {
                let is_missing =
                    |kind: &&&str| !list.resources.iter().any(|resource| resource.name == **kind);
                let missing: Vec<&str> = needed.iter().filter(is_missing).copied().collect();
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
pub(crate) async fn cluster_id(flags: &ProcessFlags, control: &Client) -> anyhow::Result<String> {
    if !flags.cluster_id.is_empty() {
        return Ok(flags.cluster_id.clone());
    }
    let namespace = &flags.namespace;
    let object = Api::<Namespace>::all(control.clone()).get(namespace).await.with_context(|| {
        format!("failed to read namespace {namespace}, whose uid names the cluster: create it, or give --cluster-id")
    })?;
    object.metadata.uid.with_context(|| format!("namespace {namespace} has no uid"))
}

//! Preparation before the controllers start.
//!
//! | module | what it does |
//! | --- | --- |
//! | `cluster_id` | the cluster's mark: as given, or the uid of the control namespace |
//! | `cache_folder` | the folder for compiled plugins |

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use kube::Client;
use machinist_api::names;
use machinist_core::scheduling::request_rate::Rate;
use machinist_core::scheduling::retry;
use machinist_core::value::error_chain::chain;
use machinist_runtime::client::clusters::{self, Access};
use machinist_runtime::context::settings::Controllers;
use machinist_runtime::metrics::Metrics;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

mod cache_folder;
mod cluster_id;

pub(crate) use cache_folder::CacheFolder;
pub(crate) use cluster_id::cluster_id;

/// Clients of the clusters.
pub(crate) struct Clients {
    pub(crate) control: Client,
    pub(crate) target: Option<Client>,
}

/// How often something that is not there is looked for at least. At first more often: a server that starts as well, or
/// that gets its CRDs at this moment, has them soon.
const PAUSE: Duration = Duration::from_secs(2);

pub(crate) fn clients(
    control: &Access,
    target: Option<&Access>,
    rate: Option<Rate>,
    metrics: &Arc<Metrics>,
) -> anyhow::Result<Clients> {
    let client = |access: &Access| {
        let config = clusters::config(access)?;
        let server = clusters::server(&config);
        anyhow::Ok((clusters::paced_client(config, metrics.clone(), rate)?, server))
    };
    let (control_client, control_server) =
        client(control).context("failed to reach for the control cluster")?;
    let (target_client, target_server) = match target {
        None => (None, "none".to_owned()),
        Some(target) if target == control => (Some(control_client.clone()), control_server.clone()),
        Some(target) => {
            let (client, server) = client(target).context("failed to reach for the target cluster")?;
            (Some(client), server)
        }
    };
    info!(control = control_server, target = target_server, "API servers");
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
    let mut last_problem = String::new();
    let mut looks = 0;
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
            Err(error) => format!("the control cluster does not answer: {}", chain(&error)),
        };
        looks += 1;
        if problem != last_problem {
            warn!("{problem}");
            last_problem = problem;
        }
        tokio::select! {
            () = stop.cancelled() => return false,
            () = tokio::time::sleep(retry::soon(looks).unsigned_abs().min(PAUSE)) => {}
        }
    }
}

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
use machinist_runtime::context::settings::Settings;
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

/// Kinds of one API group that the controllers need.
struct NeededKinds {
    api_version: &'static str,
    kinds: Vec<&'static str>,
    /// The command that makes the cluster serve them.
    hint: &'static str,
}

fn needed_kinds(settings: &Settings) -> Vec<NeededKinds> {
    let mut kinds = vec!["machines", "machineclasses"];
    if settings.controllers.sets || settings.controllers.deployments {
        kinds.extend(["machinesets", "machinedeployments"]);
    }
    let own = NeededKinds { api_version: names::API_VERSION, kinds, hint: "kubectl apply -f deploy/crds" };
    if !settings.cluster_api.is_served() {
        return vec![own];
    }
    let infrastructure = NeededKinds {
        api_version: machinist_api::infrastructure::API_VERSION,
        kinds: vec![
            "machinistmachines", "machinistclusters", "machinistidentities", "machinistmachinetemplates",
            "machinistremediations",
        ],
        hint: "kubectl apply -f deploy/clusterctl/crds",
    };
    let owners = NeededKinds {
        api_version: machinist_api::infrastructure::cluster_api::API_VERSION,
        kinds: vec!["machines", "clusters"],
        hint: "clusterctl init --core cluster-api, at v1.11 or later",
    };
    vec![own, infrastructure, owners]
}

/// Waits until the API server serves the kinds that the controllers need. Says what is missing while it waits.
pub(crate) async fn wait_for_kinds(control: &Client, settings: &Settings, stop: &CancellationToken) -> bool {
    let needed = needed_kinds(settings);
    let mut last_problem = String::new();
    let mut looks = 0;
    loop {
        let mut problem = None;
        for group in &needed {
            problem = missing(control, group).await;
            if problem.is_some() {
                break;
            }
        }
        let Some(problem) = problem else { return true };
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

/// Returns what the API server lacks of these kinds, and how it gets them.
async fn missing(control: &Client, needed: &NeededKinds) -> Option<String> {
    let NeededKinds { api_version, kinds, hint } = needed;
    match control.list_api_group_resources(api_version).await {
        Ok(list) => {
            let is_missing = |kind: &&&str| !list.resources.iter().any(|resource| resource.name == **kind);
            let missing: Vec<&str> = kinds.iter().filter(is_missing).copied().collect();
            let says = || format!("the cluster has no CRDs for {}: {hint}", missing.join(", "));
            (!missing.is_empty()).then(says)
        }
        Err(kube::Error::Api(status)) if status.code == 404 => {
            Some(format!("the cluster has no CRDs of {api_version}: {hint}"))
        }
        Err(error) => Some(format!("the control cluster does not answer: {}", chain(&error))),
    }
}

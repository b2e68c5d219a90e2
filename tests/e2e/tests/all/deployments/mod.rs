//! MachineDeployments: what the autoscaler does with them, and what people should not.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `autoscaler` | scale-ups and scale-downs of the autoscaler, and races of both |
//! | `rollout` | the autoscaler while a deployment is rolled |
//! | `exhausted` | a cloud without capacity: the autoscaler gives up what cannot be created |
//! | `externalgrpc` | the program serves cluster-autoscaler by its interface for external providers |
//! | `by_hand` | manual edits while a deployment works |
//! | `bad_input` | deployments that contradict themselves or each other |

mod autoscaler;
mod bad_input;
mod by_hand;
mod exhausted;
pub(crate) mod externalgrpc;
mod rollout;

use std::collections::BTreeSet;

use anyhow::Result;
use e2e::Lab;
use e2e::autoscaler::{Autoscaler, Dialect, NodeGroup};
use e2e::fleet::{FleetWatch, Seen};
use e2e::manifests::deployments::deployment;
use kube::runtime::watcher;
use machinist_api::names::annotations::TRIGGER_DELETION;

/// The deployment of most tests.
const POOL: &str = "pool";

/// Creates the deployment, of class `small` and with maxSurge 1 and maxUnavailable 0, and waits until it is complete.
/// The watch has seen all of it.
async fn pool(lab: &Lab, replicas: u32) -> Result<FleetWatch> {
    let fleet = FleetWatch::start(lab.machines(), watcher::Config::default()).await?;
    lab.create_deployment(&deployment(POOL, "small", replicas, 1, 0)).await?;
    lab.deployment_is_complete(POOL).await?;
    Ok(fleet)
}

/// It may have from one to ten.
fn group() -> NodeGroup {
    NodeGroup { name: POOL.to_owned(), min: 1, max: 10 }
}

fn autoscaler(lab: &Lab, dialect: Dialect) -> Autoscaler {
    Autoscaler::new(lab.client.clone(), dialect, vec![group()])
}

/// Names of the Machines that are there.
fn names(fleet: &FleetWatch) -> BTreeSet<String> {
    fleet.look(|fleet| fleet.machines().keys().cloned().collect())
}

/// The Node of a Machine.
fn node_of(fleet: &FleetWatch, machine: &str) -> String {
    fleet.look(|fleet| fleet.machines().get(machine).map(|seen: &Seen| seen.node.clone())).unwrap_or_default()
}

/// Waits until the list of the autoscaler is worked off.
async fn list_is_empty(lab: &Lab) -> Result<()> {
    e2e::eventually("the list of the autoscaler is worked off", async || {
        let annotations = lab.deployments().get(POOL).await?.metadata.annotations.unwrap_or_default();
        Ok((!annotations.contains_key(TRIGGER_DELETION)).then_some(()))
    })
    .await
}

//! Machines with pods on them: what leaves, what stays, what holds a drain, and what ends it.
//!
//! | module | what it tests |
//! | --- | --- |
//! | `graceful` | a drain that nothing blocks |
//! | `budgets` | PodDisruptionBudgets block a drain, and it says which, and until when |
//! | `hooks` | hooks block a deletion at the two places that Cluster API has for them |
//! | `volumes` | pods with volumes move one at a time, each volume before the next pod |
//! | `forced` | pods are forced on request or after the time limit, and volumes are released |

mod budgets;
mod forced;
mod graceful;
mod hooks;
mod volumes;

use anyhow::{Context, Result};
use e2e::{Host, Lab, LabOptions, manifests};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::PostParams;
use machinist_api::Machine;
use serde_json::json;

use crate::scene::{SIM, is_running, scene};

/// As `installed`, in a lab where workloads work. Pods and volumes go with the lab.
async fn with_workloads(test: impl AsyncFnOnce(&Lab, &Host) -> Result<()>) {
    scene(LabOptions::with_workloads(), async |lab, host| {
        lab.install_driver(&SIM).await?;
        test(lab, host).await
    })
    .await;
}

/// Creates a Machine with this drain time-out and waits until it runs.
async fn runs_with_timeout(lab: &Lab, name: &str, drain_timeout: &str) -> Result<Machine> {
    let mut machine = manifests::machine(name, "small");
    let spec = serde_json::to_value(&machine.spec)?;
    let mut spec = spec.as_object().cloned().context("a spec is an object")?;
    spec.insert("drainTimeout".to_owned(), json!(drain_timeout));
    machine.spec = serde_json::from_value(spec.into())?;
    lab.machines().create(&PostParams::default(), &machine).await?;
    is_running(lab, name).await
}

/// When the deletion of a Machine was asked for.
async fn deleted_at(lab: &Lab, name: &str) -> Result<Timestamp> {
    let at = lab.machines().get(name).await?.metadata.deletion_timestamp;
    Ok(at.context("its deletion was asked for")?.0)
}

/// In the order in which the API server stored it.
fn version(pod: &Pod) -> Result<u64> {
    Ok(pod.resource_version().context("an object has a version")?.parse()?)
}

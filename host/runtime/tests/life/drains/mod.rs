//! Nodes that are drained before their VMs are deleted.
//!
//! | module | content |
//! | --- | --- |
//! | `pods` | drains of pods without volumes: evictions, budgets, refusals |
//! | `volumes` | pods with volumes, one after another |
//! | `force` | drains that delete pods and attachments without waiting |
//! | `in_place` | Nodes that are drained for an update in place |
//! | `preserved` | Nodes of failed Machines that are preserved |
//! | `frozen` | drains for updates and preservation during a freeze |
//! | `many_drains` | hundreds of drains at a time |
//! | `workload` | pods that end on request, and volumes that are detached and attached |

mod force;
mod frozen;
mod in_place;
mod many_drains;
mod pods;
mod preserved;
mod volumes;
mod workload;

use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::fixture::stage::{Host, Stage, in_namespace};
use memory_api::wire::Call;
use workload::{PODS, Pace, Workload, put};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Volumes leave within seconds and arrive within more.
const PACE: Pace = Pace { detach: SignedDuration::from_secs(3), arrive: Some(SignedDuration::from_secs(7)) };

/// The CRDs of the API server: with `status.machinist`, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crds {
    Ours,
    Theirs,
}

/// A stage on which Machine `a` runs, with Node `a`.
async fn running() -> (Stage, Host) {
    running_under(Crds::Ours).await
}

async fn running_under(crds: Crds) -> (Stage, Host) {
    let stage = Stage::set();
    if crds == Crds::Theirs {
        stage.api.prune_own_status();
    }
    let host = stage.host("host");
    stage.add_running("a").await;
    tokio::time::sleep(SECOND).await;
    (stage, host)
}

fn add(stage: &Stage, pods: impl IntoIterator<Item = Value>) {
    for pod in pods {
        put(stage, "pods", &pod);
    }
}

fn delete(stage: &Stage) {
    stage.api.delete("machines", &in_namespace("a")).unwrap();
}

fn is_gone(stage: &Stage, pod: &str) -> bool {
    stage.api.find("pods", &format!("{PODS}/{pod}")).is_none()
}

/// When each of these pods was evicted, since the test began.
fn evicted_at(stage: &Stage, pod: &str) -> Vec<Duration> {
    stage.wire.times(|call| call.what == "pods/eviction" && call.name == pod)
}

fn deleted_at(stage: &Stage, what: &str, name: &str) -> Vec<Duration> {
    stage.wire.times(|call| call.verb == "DELETE" && call.what == what && call.name == name)
}

fn vm_ordered_away_at(stage: &Stage) -> Duration {
    *stage.wire.times(|call| call.calls("delete")).first().unwrap()
}

/// Condition `Drained` of Machine `a`: status, reason, message.
fn drained(stage: &Stage) -> (String, String, String) {
    let machine = stage.machine("a").unwrap_or_default();
    let conditions = machine["status"]["machinist"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition =
        conditions.into_iter().find(|condition| condition["type"] == "Drained").unwrap_or_default();
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"), text("message"))
}

async fn until_reason(stage: &Stage, reason: &str) {
    stage.until(reason, 20 * MINUTE, || drained(stage).1 == reason).await;
}

/// Writes of Machines, beside Leases and Events.
fn machine_writes(stage: &Stage, since: usize) -> usize {
    let is_of_machine = |call: &Call| call.is_write() && call.what.starts_with("machines");
    stage.wire.records_since(since, is_of_machine).len()
}

fn edit_machine(stage: &Stage, patch: &Value) {
    stage.api.edit("machines", &in_namespace("a"), patch).unwrap();
}

fn drain_timeout(stage: &Stage, timeout: &str) {
    edit_machine(stage, &json!({ "spec": { "drainTimeout": timeout } }));
}

//! One series of each metric, which shows its labels: for the reference of metrics.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::{Machine, MachineDeployment, MachineSet};
use machinist_core::driver::Operation;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::value::id::{ObjectKey, ProviderName};
use machinist_core::value::phase::Phase;
use tokio::sync::watch;

use crate::cache::Store;
use crate::context::GateState;
use crate::context::clock::Clock;
use crate::context::settings::Controllers;

use super::{InventorySources, LostEvent, Metrics, Milestone, Pool, QueueName, RequestMetric};

impl Metrics {
    /// With one series of each.
    pub fn with_examples() -> Self {
        let all = Self::default();
        let (zero, now) = (SignedDuration::ZERO, Timestamp::now());
        let request =
            RequestMetric { verb: "", method: "", resource: "", host: "", code: 0, took: Duration::ZERO };
        all.requests.answered(request);
        let error = CallError::Refused(Refusal::ShuttingDown);
        all.drivers.called(&ProviderName::new(""), Operation::Create, zero, Some(&error));
        all.requests.clock_is_ahead("", false, zero);
        all.events.lost(LostEvent::Backlog);
        all.queue.added(QueueName::Machine);
        all.queue.retried(QueueName::Machine);
        all.queue.depth(std::iter::empty());
        all.queue.began(0, QueueName::Machine, zero, now);
        all.reconcile_ended(0, "", now);
        all.stages.left_phase(Phase::New, zero);
        let milestones = [
            Milestone::Created(zero),
            Milestone::Initialized(zero),
            Milestone::Joined(zero),
            Milestone::JoinTimedOut,
            Milestone::Drained(zero),
            Milestone::Deleted(zero),
            Milestone::SetFrozen(""),
        ];
        for milestone in milestones {
            all.reached(Some(Pool::default()), milestone, now);
        }
        let machines = Store::default();
        machines.insert(ObjectKey::new("", ""), Arc::new(machine()));
        let (_, gate_state) = watch::channel(GateState::default());
        let (sets, deployments) = (Store::default(), Store::default());
        sets.insert(ObjectKey::new("", ""), Arc::new(set()));
        deployments.insert(ObjectKey::new("", ""), Arc::new(deployment()));
        all.show(InventorySources {
            machines: machines.reader(),
            sets: sets.reader(),
            deployments: deployments.reader(),
            controllers: Controllers::ALL,
            serves_cluster_api: false,
            gate_state,
            cluster: String::new(),
            clock: Clock::Wall,
        });
        all
    }
}

fn machine() -> Machine {
    let condition = serde_json::json!({ "type": "", "status": "" });
    serde_json::from_value(serde_json::json!({
        "metadata": {}, "spec": {}, "status": { "conditions": [condition] },
    }))
    .unwrap_or_default()
}

fn set() -> MachineSet {
    let condition = serde_json::json!({ "type": "", "status": "" });
    serde_json::from_value(serde_json::json!({
        "metadata": {}, "spec": {},
        "status": { "machineSetCondition": [condition], "failedMachines": [{ "name": "" }] },
    }))
    .unwrap_or_default()
}

fn deployment() -> MachineDeployment {
    let condition = serde_json::json!({ "type": "", "status": "" });
    let bounds = serde_json::json!({ "maxSurge": 1, "maxUnavailable": 0 });
    serde_json::from_value(serde_json::json!({
        "metadata": {},
        "spec": {
            "template": {}, "strategy": { "rollingUpdate": bounds }, "rollbackTo": {},
            "revisionHistoryLimit": 1, "progressDeadlineSeconds": 1,
        },
        "status": { "conditions": [condition], "failedMachines": [{ "name": "" }] },
    }))
    .unwrap_or_default()
}

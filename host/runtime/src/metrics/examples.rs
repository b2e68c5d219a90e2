//! One series of each metric, which shows its labels: for the reference of metrics.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_api::Machine;
use machinist_core::driver::Operation;
use machinist_core::driver_error::{CallError, Refusal};
use machinist_core::id::{ObjectKey, ProviderName};
use machinist_core::phase::Phase;
use tokio::sync::watch;

use crate::cache::Store;
use crate::clock::Clock;
use crate::context::Hold;

use super::{Answered, Metrics, Milestone, Part, Pool, Sources};

impl Metrics {
    /// With one series of each.
    pub fn with_examples() -> Self {
        let all = Self::default();
        let (zero, now) = (SignedDuration::ZERO, Timestamp::now());
        let request =
            Answered { verb: "", method: "", resource: "", host: "", code: 0, took: Duration::ZERO };
        all.answered(request);
        let error = CallError::Refused(Refusal::ShuttingDown);
        all.driver_called(&ProviderName::new(""), Operation::Create, zero, Some(&error));
        all.added(Part::Machine);
        all.retried(Part::Machine);
        all.due(std::iter::empty());
        all.pass_began(0, Part::Machine, zero, now);
        all.pass_ended(0, "", now);
        all.left_phase(Phase::New, zero);
        let milestones = [
            Milestone::Created(zero),
            Milestone::Initialized(zero),
            Milestone::Joined(zero),
            Milestone::JoinTimedOut,
            Milestone::Drained(zero),
            Milestone::Deleted(zero),
        ];
        for milestone in milestones {
            all.reached(Some(Pool::default()), milestone, now);
        }
        let machines = Store::default();
        machines.insert(ObjectKey::new("", ""), Arc::new(machine()));
        let (_, hold) = watch::channel(Hold::default());
        all.show(Sources { machines: machines.reader(), hold, clock: Clock::Wall });
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

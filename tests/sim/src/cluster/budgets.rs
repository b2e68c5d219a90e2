//! The controller of disruption budgets: counts how many pods may go.

use std::time::Duration;

use memory_api::is_ready;
use serde_json::json;

use super::pods::NAMESPACE;
use super::{Cluster, Due};

/// Changes that come close together are counted once.
const TOGETHER: Duration = Duration::from_millis(50);

impl Cluster {
    /// The budget of this application is counted soon.
    pub(super) fn recount(&self, app: usize) {
        let mut state = self.lock();
        let Some(this) = state.pods.apps.get_mut(app) else { return };
        if std::mem::replace(&mut this.is_counting, true) {
            return;
        }
        drop(state);
        self.later(TOGETHER, Due::Budget(app));
    }

    pub(super) fn count(&self, app: usize) {
        let mut state = self.lock();
        let Some(this) = state.pods.apps.get_mut(app) else { return };
        this.is_counting = false;
        let this = this.clone();
        drop(state);
        let path = format!("{NAMESPACE}/app-{app}");
        let Some(budget) = self.api.find("poddisruptionbudgets", &path) else { return };
        let healthy = this.pods.iter().filter_map(|pod| self.api.find("pods", &format!("{NAMESPACE}/{pod}")));
        let healthy =
            healthy.filter(|pod| is_ready(pod) && !pod["metadata"]["deletionTimestamp"].is_string()).count();
        let status = json!({
            "observedGeneration": budget["metadata"]["generation"],
            "currentHealthy": healthy, "desiredHealthy": this.min_available, "expectedPods": this.replicas,
            "disruptionsAllowed": healthy.saturating_sub(this.min_available), "disruptedPods": null,
        });
        let _ = self.api.edit_status("poddisruptionbudgets", &path, &json!({ "status": status }));
    }
}

//! The kubelets of the VMs: each joins with the token out of its user data and keeps its Node's status.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use machinist_runtime::context::clock::Clock;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::cloud::Cloud;
use memory_api::{ApiServer, decode};

/// From a VM to its Node.
const BOOTS_FOR: Duration = Duration::from_millis(500);

/// How kubelets behave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KubeletHabits {
    /// From joining to Ready.
    pub(crate) ready_after: Duration,
    /// Between two status writes; none when there is none.
    pub(crate) heartbeat: Option<Duration>,
    /// VMs boot and never join.
    pub(crate) never_joins: bool,
    /// Nodes say their provider ids in the form of the cloud's own controller.
    pub(crate) has_own_ids: bool,
}

/// All kubelets.
#[derive(Clone)]
pub(crate) struct Kubelets {
    api: ApiServer,
    clock: Clock,
    habits: KubeletHabits,
    tasks: Arc<Mutex<JoinSet<()>>>,
    /// Joins that the server refused because of the token.
    refused: Arc<Mutex<Vec<String>>>,
}

impl Kubelets {
    pub(crate) fn new(api: ApiServer, clock: Clock, habits: KubeletHabits) -> Self {
        Self { api, clock, habits, tasks: Arc::default(), refused: Arc::default() }
    }

    /// Names of the Nodes whose token was not accepted.
    pub(crate) fn refused(&self) -> Vec<String> {
        self.refused.lock().unwrap().clone()
    }

    /// A VM boots.
    pub(crate) fn boot(&self, cloud: Cloud, provider_id: &str, node: &str, user_data: String) {
        if self.habits.never_joins {
            return;
        }
        let (kubelets, provider_id, node) = (self.clone(), provider_id.to_owned(), node.to_owned());
        self.tasks.lock().unwrap().spawn(async move {
            tokio::time::sleep(BOOTS_FOR).await;
            if cloud.has(&provider_id) {
                kubelets.live(&cloud, &provider_id, &node, &user_data).await;
            }
        });
    }

    async fn live(&self, cloud: &Cloud, provider_id: &str, node: &str, user_data: &str) {
        if !self.may_join(user_data) {
            self.refused.lock().unwrap().push(node.to_owned());
            return;
        }
        let is_ready_at_once = self.habits.ready_after.is_zero();
        let vm = provider_id.rsplit('/').next().unwrap();
        let id_on_node =
            if self.habits.has_own_ids { format!("sim://zone-1/{vm}") } else { provider_id.to_owned() };
        let object = json!({
            "metadata": { "name": node, "labels": { "kubernetes.io/hostname": node } },
            "spec": { "providerID": id_on_node },
            "status": { "conditions": self.conditions(is_ready_at_once) },
        });
        // A Node of that name that is there already is taken over, as kubelets do it.
        let _ = self.api.create("nodes", &object);
        if !is_ready_at_once {
            tokio::time::sleep(self.habits.ready_after).await;
            self.report(node);
        }
        let Some(heartbeat) = self.habits.heartbeat else { return };
        while cloud.has(provider_id) && self.api.find("nodes", node).is_some() {
            self.report(node);
            tokio::time::sleep(heartbeat).await;
        }
    }

    fn report(&self, node: &str) {
        let mut conditions = self.conditions(true);
        let old = self.api.find("nodes", node).unwrap_or_default();
        for (condition, old) in conditions
            .as_array_mut()
            .into_iter()
            .flatten()
            .zip(old["status"]["conditions"].as_array().into_iter().flatten())
        {
            if condition["status"] == old["status"] {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
        }
        // Conditions of others stay, as kubelets leave them.
        let of_others = old["status"]["conditions"].as_array().into_iter().flatten();
        let of_others =
            of_others.filter(|old| !matches!(old["type"].as_str(), Some("DiskPressure" | "Ready")));
        if let Some(all) = conditions.as_array_mut() {
            all.extend(of_others.cloned());
        }
        // The Node may be gone by now.
        let _ = self.api.edit_status("nodes", node, &json!({ "status": { "conditions": conditions } }));
    }

    fn conditions(&self, is_ready: bool) -> Value {
        let now = self.clock.now().to_string();
        let condition = |kind: &str, status: bool| {
            json!({
                "type": kind, "status": if status { "True" } else { "False" }, "reason": "Kubelet",
                "lastHeartbeatTime": now, "lastTransitionTime": now,
            })
        };
        json!([condition("DiskPressure", false), condition("Ready", is_ready)])
    }

    /// The token is the one of a Secret that the server would accept.
    fn may_join(&self, user_data: &str) -> bool {
        let Some((_, token)) = user_data.split_once("--token=") else { return false };
        let token = token.split_whitespace().next().unwrap_or_default();
        let Some((id, secret)) = token.split_once('.') else { return false };
        let Some(found) = self.api.find("secrets", &format!("kube-system/bootstrap-token-{id}")) else {
            return false;
        };
        let data = &found["data"];
        let ends = decode(&data["expiration"]).parse::<jiff::Timestamp>().unwrap();
        decode(&data["token-secret"]) == secret
            && decode(&data["usage-bootstrap-authentication"]) == "true"
            && ends > self.clock.now()
    }
}

//! The condition `OwnerRemediated` of a Machine of Cluster API, by which its owner knows that it has to replace it.

use jiff::Timestamp;
use kube::api::{DynamicObject, Patch};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use machinist_api::infrastructure::cluster_api::{self, HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::id::ObjectKey;
use serde_json::{Value, json};

use crate::client::errors::within_deadline;
use crate::client::writes::{WriteOutcome, patch_status};
use crate::context::key::Kind;
use crate::controllers::objects::conditions::MESSAGE_BYTES;
use crate::events::clip;

/// The reason that Cluster API itself gives this condition.
const REASON: &str = "WaitingForRemediation";

/// Sets the condition, in the version of the Machine that was just read: the controllers of Cluster API write others
/// into the same list.
///
/// # Errors
/// When the Machine is gone, is another one of the same name, or has changed meanwhile: it may be healthy again.
pub(super) async fn ask(
    client: &Client,
    machine: (&ObjectKey, &str),
    message: &str,
    now: Timestamp,
) -> WriteOutcome {
    let (key, uid) = machine;
    let kind = GroupVersionKind::gvk(cluster_api::GROUP, cluster_api::VERSION, "Machine");
    let resource = ApiResource::from_gvk_with_plural(&kind, "machines");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), key.namespace.as_str(), &resource);
    let live = within_deadline(api.get_opt(key.name.as_str())).await?;
    let live = live.filter(|live| live.metadata.uid.as_deref() == Some(uid)).ok_or(ActError::Gone)?;
    if live.metadata.deletion_timestamp.is_some() || !is_unhealthy(live.data.pointer("/status/conditions")) {
        return Err(ActError::Conflict);
    }
    let Some(conditions) = with_request(live.data.pointer("/status/conditions"), message, now) else {
        return Ok(None);
    };
    let patch = json!({
        "metadata": { "resourceVersion": live.metadata.resource_version, "uid": uid },
        "status": { "conditions": conditions },
    });
    patch_status(&api, Kind::OwnerMachine, key.name.as_str(), Patch::Merge(patch)).await
}

fn is_unhealthy(conditions: Option<&Value>) -> bool {
    let mut all = conditions.and_then(Value::as_array).into_iter().flatten();
    all.any(|one| one["type"] == HEALTH_CHECK_SUCCEEDED && one["status"] == "False")
}

/// Returns the list with the request, all others as they are. `None`: the owner is asked already.
fn with_request(conditions: Option<&Value>, message: &str, now: Timestamp) -> Option<Vec<Value>> {
    let mut all = conditions.and_then(Value::as_array).cloned().unwrap_or_default();
    let is_meant = |condition: &Value| condition["type"] == OWNER_REMEDIATED;
    if all.iter().any(|condition| is_meant(condition) && condition["status"] == "False") {
        return None;
    }
    all.retain(|condition| !is_meant(condition));
    all.push(json!({
        "type": OWNER_REMEDIATED,
        "status": "False",
        "reason": REASON,
        "message": clip(message, MESSAGE_BYTES),
        "lastTransitionTime": machinist_api::value::time(now),
    }));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failed_health_check_counts() {
        let check = |status: &str| json!([{ "type": "HealthCheckSucceeded", "status": status }]);
        assert!(is_unhealthy(Some(&check("False"))));
        assert!(
            !is_unhealthy(Some(&check("True"))) && !is_unhealthy(Some(&json!([]))) && !is_unhealthy(None)
        );
    }

    #[test]
    fn the_request_is_there_once_and_other_conditions_stay() {
        let other = json!({ "type": "Ready", "status": "False", "observedGeneration": 3 });
        let done = json!({ "type": "OwnerRemediated", "status": "True", "reason": "Remediated" });
        let now = Timestamp::UNIX_EPOCH;
        let asked = with_request(Some(&json!([done, other])), "no reboot has helped", now).unwrap();
        assert_eq!(asked.len(), 2);
        assert_eq!(asked[0], other);
        assert_eq!(
            asked[1],
            json!({
                "type": "OwnerRemediated", "status": "False", "reason": "WaitingForRemediation",
                "message": "no reboot has helped", "lastTransitionTime": "1970-01-01T00:00:00Z",
            })
        );
        assert_eq!(with_request(Some(&json!(asked)), "again", now), None);
        assert_eq!(with_request(None, "no conditions yet", now).unwrap().len(), 1);
    }
}

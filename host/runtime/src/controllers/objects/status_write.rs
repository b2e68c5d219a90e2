//! Writes to the status of a custom resource, meant for one incarnation of it.
//!
//! A server checks only the version in the metadata of such a write; the uid excludes nobody (`conformance.txt`,
//! "preconditions"). So the version is the precondition. If others wrote the object meanwhile, it is read again, and
//! written if it is the same incarnation.

use std::fmt::Debug;

use kube::api::{Patch, PatchParams};
use kube::core::ObjectMeta;
use kube::{Api, Resource, ResourceExt};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Requeue;
use machinist_core::scheduling::retry::RetryPolicy;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tracing::debug;

use crate::client::errors::within_deadline;
use crate::client::field_manager::FIELD_MANAGER;
use crate::context::own_status::{OwnStatus, SendMode};

/// How often others may be faster; the next reconcile tries again.
const ATTEMPTS: usize = 3;

/// The result of a reconcile's one status write.
pub(crate) enum Published {
    /// There was nothing to say, or nobody is left to say it to.
    Nothing,
    /// Written as this version.
    Version(String),
    /// Written as this version, and nothing of it was kept.
    Dropped(String),
    Failed(RetryPolicy),
    /// Not written, since the gate froze during the reconcile.
    Frozen,
}

/// The end of a reconcile, after its status write.
pub(crate) struct PublishResult {
    /// The version that was written.
    pub wrote: Option<String>,
    /// When to look again.
    pub wake: Requeue,
    /// The object cannot say how things stand, and there was nothing else to say.
    pub is_unsupported: bool,
    /// The gate blocked the conclusion. It is not reported then: the next reconcile reports the frozen gate.
    pub is_frozen: bool,
}

impl Published {
    /// Returns the end of a reconcile that concluded with `wake`.
    pub(crate) fn finish(self, wake: Requeue, own_status: Option<&OwnStatus>) -> PublishResult {
        let is_silent = matches!(self, Self::Nothing | Self::Dropped(_)) && wake != Requeue::Gone;
        let is_unsupported = own_status.is_some_and(OwnStatus::is_dropped) && is_silent;
        let is_frozen = matches!(self, Self::Frozen);
        let retry = |policy| Requeue::Retry { policy, hint: None };
        let (wrote, wake) = match self {
            Self::Nothing => (None, wake),
            Self::Version(version) | Self::Dropped(version) => (Some(version), wake),
            Self::Failed(policy) => (None, retry(policy)),
            Self::Frozen => {
                debug!("conclusion held: the gate was shut during the pass");
                (None, retry(RetryPolicy::SHORT))
            }
        };
        PublishResult { wrote, wake, is_unsupported, is_frozen }
    }
}

/// The object with the status.
pub(crate) struct StatusTarget<'a, K> {
    /// Whether the server keeps `status.machinist` of its kind, if it has that.
    pub own_status: Option<&'a OwnStatus>,
    pub api: &'a Api<K>,
    /// As it was observed.
    pub seen: &'a ObjectMeta,
    /// In which version it was seen or written last.
    pub version: Option<&'a str>,
    /// An answer has `status.machinist`.
    pub keeps: fn(&K) -> bool,
}

/// Merges a status that differs from the stored one, without `machinist` where the server drops that. `wake` is the end
/// of the reconcile otherwise.
pub(crate) async fn send<K>(
    object: StatusTarget<'_, K>,
    mut status: Map<String, Value>,
    wake: Requeue,
) -> Published
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let StatusTarget { own_status, api, seen, version, keeps } = object;
    // Dropped when the answer has arrived.
    let mut send_mode = None;
    if let Some(own_status) = own_status.filter(|_| status.contains_key("machinist")) {
        match own_status.send_mode().await {
            SendMode::Dropped => drop(status.remove("machinist")),
            mode => send_mode = Some(mode),
        }
    }
    if status.is_empty() {
        return Published::Nothing;
    }
    match merge_status(api, seen, version, &json!(status)).await {
        Ok(object) => {
            let was_kept = keeps(&object);
            let version = object.resource_version().unwrap_or_default();
            let Some(own_status) = own_status.filter(|_| send_mode.is_some()) else {
                return Published::Version(version);
            };
            own_status.was_written(was_kept);
            if !was_kept {
                debug!("the API server drops status.machinist: its CRDs do not have it");
            }
            if !was_kept && status.len() == 1 {
                Published::Dropped(version)
            } else {
                Published::Version(version)
            }
        }
        Err(ActError::Gone) => Published::Nothing,
        Err(error) => {
            debug!(error = %error, "status not written");
            Published::Failed(match wake {
                // The next reconcile also does again what has just failed, which is not to be hurried.
                Requeue::Retry { .. } => RetryPolicy::SHORT,
                Requeue::Resync | Requeue::Now | Requeue::After(_) | Requeue::Check(_) | Requeue::Gone => {
                    RetryPolicy::CONFLICT
                }
            })
        }
    }
}

/// Merges `status` into that of the object with the uid of `seen`, whatever else of it has changed since `version`.
/// [`ActError::Gone`] when the object is gone, also when another one has its name.
pub(crate) async fn merge_status<K>(
    api: &Api<K>,
    seen: &ObjectMeta,
    version: Option<&str>,
    status: &Value,
) -> Result<K, ActError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let name = seen.name.as_deref().unwrap_or_default();
    let params = PatchParams::apply(FIELD_MANAGER);
    let mut version = version.map(str::to_owned);
    for _ in 0..ATTEMPTS {
        let patch = json!({ "metadata": { "uid": seen.uid, "resourceVersion": version }, "status": status });
        match within_deadline(api.patch_status(name, &params, &Patch::Merge(patch))).await {
            Err(ActError::Conflict) => {}
            done => return done,
        }
        match within_deadline(api.get_metadata_opt(name)).await? {
            Some(same) if same.metadata.uid == seen.uid => version = same.metadata.resource_version,
            Some(_) | None => return Err(ActError::Gone),
        }
    }
    Err(ActError::Conflict)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use machinist_api::Machine;
    use memory_api::ApiServer;
    use memory_api::wire::Wire;

    use super::*;

    fn server() -> (ApiServer, Api<Machine>) {
        let server = ApiServer::new(Wire::new(), || Timestamp::UNIX_EPOCH);
        let api = Api::namespaced(server.client("host"), "shoot");
        (server, api)
    }

    async fn made(server: &ApiServer, api: &Api<Machine>) -> ObjectMeta {
        let machine = json!({
            "metadata": { "name": "a", "namespace": "shoot" },
            "spec": { "class": { "kind": "MachineClass", "name": "small" } },
        });
        server.create("machines", &machine).unwrap();
        api.get("a").await.unwrap().metadata
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_machine_of_the_same_name_gets_nothing_of_the_earlier_ones_status() {
        let (server, api) = server();
        let seen = made(&server, &api).await;
        server.delete("machines", "shoot/a").unwrap();
        made(&server, &api).await;
        let status = json!({ "lastKnownState": "of the first" });
        let result = merge_status(&api, &seen, seen.resource_version.as_deref(), &status).await;
        assert_eq!(result.err(), Some(ActError::Gone));
        assert!(api.get("a").await.unwrap().status.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_status_is_written_although_others_wrote_the_object_meanwhile() {
        let (server, api) = server();
        let seen = made(&server, &api).await;
        server.edit("machines", "shoot/a", &json!({ "metadata": { "labels": { "l": "1" } } })).unwrap();
        let status = json!({ "lastKnownState": "s" });
        let result = merge_status(&api, &seen, seen.resource_version.as_deref(), &status).await.unwrap();
        assert_eq!(result.status.unwrap().last_known_state.as_deref(), Some("s"));
    }
}

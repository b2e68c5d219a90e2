//! Writes of API objects. Each has a deadline, and names the version that its barrier waits for.

use std::fmt::Debug;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::Request;
use kube::{Api, Client, Resource, ResourceExt};
use machinist_core::driver::write_error::ActError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::errors::within_deadline;
use super::field_manager::FIELD_MANAGER;
use crate::context::key::Kind;

/// How long the server may take to create an object: it does not begin after this. Shorter than the time after which
/// the next reconcile, or the next leader, assumes that nothing arrives any more
/// ([`machinist_core::scheduling::barrier::LANDING`]).
const CREATION_SECONDS: u32 = 10;

/// The outcome of one write: kind and version of the object, if there is a version to wait for.
pub(crate) type WriteOutcome = Result<Option<(Kind, String)>, ActError>;

/// The outcome of a write that takes our finalizer off: the object is deleted with its last finalizer, so there is no
/// version to wait for.
pub(crate) fn finalizer_removed(outcome: WriteOutcome) -> WriteOutcome {
    match outcome {
        Err(ActError::Gone) => Ok(None),
        other => other.map(|_| None),
    }
}

/// Merges a patch into an object.
pub(crate) async fn merge<K>(api: &Api<K>, kind: Kind, name: &str, patch: Value) -> WriteOutcome
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    self::patch(api, kind, name, Patch::Merge(patch)).await
}

/// Patches an object in the way that the patch says.
pub(crate) async fn patch<K>(api: &Api<K>, kind: Kind, name: &str, patch: Patch<Value>) -> WriteOutcome
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let patched = within_deadline(api.patch(name, &PatchParams::apply(FIELD_MANAGER), &patch)).await?;
    Ok(version_of(kind, &patched))
}

/// Patches the status of an object.
pub(crate) async fn patch_status<K>(api: &Api<K>, kind: Kind, name: &str, patch: Patch<Value>) -> WriteOutcome
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let patched = within_deadline(api.patch_status(name, &PatchParams::apply(FIELD_MANAGER), &patch)).await?;
    Ok(version_of(kind, &patched))
}

/// Kind and version of an object that was written.
pub(crate) fn version_of<K: Resource>(kind: Kind, written: &K) -> Option<(Kind, String)> {
    Some((kind, written.resource_version().unwrap_or_default()))
}

/// Creates an object with a request that the server gives up in time.
pub(crate) async fn create<K>(
    client: &Client,
    namespace: &str,
    object: &impl Serialize,
) -> Result<K, ActError>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let request = creation::<K>(namespace, object);
    within_deadline(async { client.request(request?).await }).await
}

/// The request to create an object. The client has no parameter for the server's time.
fn creation<K>(namespace: &str, object: &impl Serialize) -> kube::Result<http::Request<Vec<u8>>>
where
    K: Resource<DynamicType = ()>,
{
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let body = serde_json::to_vec(object).map_err(kube::Error::SerdeError)?;
    let request = Request::new(K::url_path(&(), Some(namespace)));
    let mut request = request.create(&params, body).map_err(kube::Error::BuildRequest)?;
    let uri = format!("{}&timeout={CREATION_SECONDS}s", request.uri()).parse();
    *request.uri_mut() =
        uri.map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(http::Error::from(error)))?;
    Ok(request)
}

/// Parameters that delete only the object with this uid, and, where a version is given, only in that version.
pub(crate) fn only(uid: Option<String>, version: Option<String>) -> DeleteParams {
    let preconditions = Preconditions { uid, resource_version: version };
    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() }
}

/// Deletes an object. Calls `on_gone` if it is gone: the answer to a deletion that completed at once has no version,
/// and its event has it.
pub(crate) async fn delete<K>(
    api: &Api<K>,
    kind: Kind,
    name: &str,
    params: &DeleteParams,
    on_gone: impl FnOnce(),
) -> WriteOutcome
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    match within_deadline(api.delete(name, params)).await {
        Ok(answer) => {
            let remaining = answer.left().filter(|object| object.meta().deletion_timestamp.is_some());
            if remaining.is_none() {
                on_gone();
            }
            Ok(remaining.and_then(|object| version_of(kind, &object)))
        }
        Err(error) => {
            if error == ActError::Gone {
                on_gone();
            }
            Err(error)
        }
    }
}

/// Deleting a missing object is success.
pub(crate) fn gone_is_done<T>(result: Result<T, ActError>) -> Result<(), ActError> {
    match result {
        Ok(_) | Err(ActError::Gone) => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::{Machine, MachineSet};
    use machinist_core::scheduling::barrier::LANDING;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_asked_for_with_a_time_after_which_the_server_does_not_begin() {
        let object = json!({ "a": 1 });
        for (request, resource) in [
            (creation::<Machine>("shoot", &object).unwrap(), "machines"),
            (creation::<MachineSet>("shoot", &object).unwrap(), "machinesets"),
        ] {
            let uri = request.uri().to_string();
            let path = format!("/apis/machine.sapcloud.io/v1alpha1/namespaces/shoot/{resource}?");
            assert!(uri.starts_with(&path), "{uri}");
            assert!(uri.contains("fieldManager=machinist") && uri.ends_with("&timeout=10s"), "{uri}");
            assert_eq!(
                (request.method().as_str(), request.body().as_slice()),
                ("POST", br#"{"a":1}"#.as_slice())
            );
        }
        assert!(i64::from(CREATION_SECONDS) < LANDING.as_secs());
    }
}

//! The requests behind the actions of kubelets and attachers.

use jiff::Timestamp;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use reqwest::{Method, StatusCode};

use crate::api::{ApiServer, MERGE, STRATEGIC_MERGE, patch};
use crate::pods::{PodAction, PodDone, PodKey, finished_patch, in_use_patch, removal, running_patch};
use crate::volumes::{AttacherAction, AttachmentFact};

const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

pub(super) async fn pod(api: &ApiServer, action: &PodAction, now: Timestamp) -> PodDone {
    let status = |key: &PodKey, body| {
        let path = format!("{}/status", path(key));
        patch(api.own(Method::PATCH, &path), STRATEGIC_MERGE, &body)
    };
    let request = match action {
        PodAction::Run(fact) => status(&fact.key, running_patch(fact, now)),
        PodAction::Finish(fact) => status(&fact.key, finished_patch(fact, now)),
        PodAction::Remove { key, uid } => api.own(Method::DELETE, &path(key)).json(&removal(uid)),
        PodAction::TellInUse { node, volumes } => {
            let path = format!("/api/v1/nodes/{node}/status");
            patch(api.own(Method::PATCH, &path), STRATEGIC_MERGE, &in_use_patch(volumes))
        }
    };
    match request.send().await.map(|answer| answer.status()) {
        // Another uid has the name, or nobody: what this was about is gone.
        Ok(StatusCode::NOT_FOUND | StatusCode::CONFLICT) => PodDone::Done,
        Ok(status) if status.is_success() => PodDone::Done,
        Ok(status) => {
            tracing::debug!(%status, ?action, "a kubelet's request was refused");
            PodDone::Failed
        }
        Err(error) => {
            tracing::debug!(%error, "a kubelet's request failed");
            PodDone::Failed
        }
    }
}

/// The object as the write left it; one that is gone is left as it was.
pub(super) async fn attachment(api: &ApiServer, action: &AttacherAction) -> Option<AttachmentFact> {
    let fact = action.fact();
    let path = format!("{ATTACHMENTS}/{}{}", fact.name, if action.is_of_status() { "/status" } else { "" });
    let answer = patch(api.own(Method::PATCH, &path), MERGE, &action.patch()).send().await.ok()?;
    match answer.status() {
        StatusCode::NOT_FOUND => Some(fact.clone()),
        status if status.is_success() => AttachmentFact::of(&answer.json::<VolumeAttachment>().await.ok()?),
        status => {
            tracing::debug!(%status, ?action, "an attacher's write was refused");
            None
        }
    }
}

fn path(key: &PodKey) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", key.namespace, key.name)
}

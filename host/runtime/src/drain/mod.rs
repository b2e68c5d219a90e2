//! Effects of drains on the target cluster.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, EvictParams, ListParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use machinist_core::act_error::ActError;
use machinist_core::drain::{Effect, EvictError, Look, Outcome, PodFact, PodOwner, PodPhase, PodRef};
use machinist_core::id::{ObjectKey, Uid};

use crate::context::Context;
use crate::kube_error::within_deadline;
use crate::world::World;

/// Does it.
pub(crate) async fn perform(context: &Context, _world: &World, effect: &Effect) -> Outcome {
    let Some(target) = context.target.clone() else {
        return effect.failed(ActError::Forbidden { reason: "there is no target cluster" });
    };
    match effect {
        Effect::LookAtPods { node, read } => {
            let params = ListParams::default().fields(&format!("spec.nodeName={node}"));
            let list = within_deadline(Api::<Pod>::all(target).list(&params)).await;
            Outcome::Pods(list.map(|list| Look { read: *read, pods: list.items.iter().map(fact).collect() }))
        }
        Effect::Evict(pod) => {
            let params = EvictParams { delete_options: Some(only(pod)), ..EvictParams::default() };
            let api = pods(target, pod);
            let result = within_deadline(api.evict(pod.key.name.as_str(), &params)).await;
            let result = match result {
                Ok(_) | Err(ActError::Gone) => Ok(()),
                Err(ActError::Throttled { after }) => Err(EvictError::Budget { after }),
                Err(error) => Err(EvictError::Failed(error)),
            };
            Outcome::Evict { pod: pod.clone(), result }
        }
        Effect::DeletePod(pod) => {
            let params = DeleteParams { grace_period_seconds: Some(0), ..only(pod) };
            let result = within_deadline(pods(target, pod).delete(pod.key.name.as_str(), &params)).await;
            let result = match result {
                Ok(_) | Err(ActError::Gone) => Ok(()),
                Err(error) => Err(error),
            };
            Outcome::DeletePod { pod: pod.clone(), result }
        }
        Effect::DeleteAttachment { .. } => effect.failed(ActError::Forbidden { reason: "not offered" }),
    }
}

fn pods(target: Client, pod: &PodRef) -> Api<Pod> {
    Api::namespaced(target, pod.key.namespace.as_str())
}

fn only(pod: &PodRef) -> DeleteParams {
    let preconditions = Preconditions { uid: Some(pod.uid.to_string()), resource_version: None };
    DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() }
}

fn fact(pod: &Pod) -> PodFact {
    let is_daemon = pod.owner_references().iter().any(|owner| owner.kind == "DaemonSet");
    PodFact {
        pod: PodRef {
            key: ObjectKey::new(pod.namespace().unwrap_or_default(), pod.name_any()),
            uid: Uid::new(pod.uid().unwrap_or_default()),
        },
        owner: if is_daemon { PodOwner::DaemonSet } else { PodOwner::Controller },
        phase: PodPhase::Running,
        is_ready: true,
        ending: None,
        grace: jiff::SignedDuration::from_secs(30),
        priority: 0,
        has_local_storage: false,
        claims: Vec::new(),
        budgets: Vec::new(),
    }
}

//! Facts and effects of drains.
//!
//! Pods are listed when a drain needs them. PodDisruptionBudgets and VolumeAttachments are watched, since all drains
//! share them.
//!
//! | module | what it does |
//! | --- | --- |
//! | `list_pods` | lists the pods of a Node |
//! | `volumes` | finds the volumes behind the PersistentVolumeClaims of a pod |
//! | `budgets` | finds the budgets that select a pod |
//! | `evict` | sends one eviction |
//! | `facts` | facts that need no IO |
//! | `caches` | budgets, attachments and volumes that all drains of a tenant share |
//! | `limits` | limits how many drains evict at once, and the requests of all together |
//! | `blocked` | which drains a budget blocks |

mod blocked;
mod budgets;
mod caches;
mod evict;
mod facts;
mod limits;
mod list_pods;
mod volumes;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::DeleteParams;
use kube::{Api, Client, Resource};
use machinist_core::drain::{DrainEffect, DrainOutcome, EvictError, PodRef, ReadConsistency};
use machinist_core::driver::write_error::ActError;
use machinist_core::value::digest::DriverDigest;
use machinist_core::value::id::{Name, ObjectKey, ProviderName, Uid};
use serde::de::DeserializeOwned;
use tracing::info;

use crate::client::errors::within_deadline;
use crate::client::writes::only;
use crate::context::Context;
use crate::ports::Drivers;

pub(crate) use caches::{DrainCaches, DrainCachesFeed, trim_attachment, trim_budget};
pub(crate) use facts::{concerns, facts, volumes_differ};
pub(crate) use limits::DrainSlot;

/// The Machine of a drain.
pub(crate) struct Drainer<'a> {
    pub(crate) machine: &'a ObjectKey,
    pub(crate) volumes: VolumeDriver<'a>,
    /// It is its turn.
    pub(crate) has_slot: bool,
}

/// The driver that knows the cloud's ids of volumes.
pub(crate) struct VolumeDriver<'a> {
    pub(crate) drivers: &'a dyn Drivers,
    /// The provider in the Machine's class.
    pub(crate) provider: &'a ProviderName,
    /// The version that the class asks for.
    pub(crate) pin: Option<DriverDigest>,
}

/// Does it. Leadership and the gate are the caller's.
///
/// Listing pods takes a drain slot, which is returned with the outcome and which the reconcile keeps while its drain
/// has something to do. A drain without a free slot is queued: its reconcile ends, and its Machine is requeued when a
/// slot is free. A forced drain is not queued.
///
/// Promises: at most one request deadline for each effect after the wait for a permit, which drains with a slot share.
pub(crate) async fn perform(
    context: &Context,
    caches: Option<&DrainCaches>,
    drainer: &Drainer<'_>,
    effect: &DrainEffect,
) -> (DrainOutcome, Option<DrainSlot>) {
    let (Some(client), Some(caches)) = (&context.target, caches) else {
        return (effect.failed(ActError::Forbidden { reason: "there is no target cluster" }), None);
    };
    let slot = match effect {
        DrainEffect::ListPods { read: ReadConsistency::Cached | ReadConsistency::Latest, .. }
            if !drainer.has_slot =>
        {
            let Some(slot) = caches.queue.take_slot(drainer.machine) else {
                return (effect.failed(ActError::Throttled { after: None }), None);
            };
            Some(slot)
        }
        DrainEffect::ListPods { .. }
        | DrainEffect::Evict(_)
        | DrainEffect::DeletePod(_)
        | DrainEffect::DeleteAttachment { .. } => None,
    };
    let Some(_permit) = caches.request_limit.acquire().await else {
        return (effect.failed(ActError::Throttled { after: None }), slot);
    };
    (perform_effect(context, (client, caches), drainer, effect).await, slot)
}

async fn perform_effect(
    context: &Context,
    (client, caches): (&Client, &DrainCaches),
    drainer: &Drainer<'_>,
    effect: &DrainEffect,
) -> DrainOutcome {
    let driver = &drainer.volumes;
    match effect {
        DrainEffect::ListPods { node, read } => {
            let now = context.clock.now();
            DrainOutcome::Pods(list_pods::list_pods(caches, client, driver, (node, *read), now).await)
        }
        DrainEffect::Evict(pod) => {
            let now = context.clock.now();
            let result = match caches.request_limit.paused_for(now) {
                Some(left) => Err(EvictError::Failed(ActError::Throttled { after: Some(left) })),
                None => evict::evict(client, pod).await,
            };
            match &result {
                Ok(()) => info!(pod = %pod, "pod evicted"),
                Err(EvictError::Failed(ActError::Throttled { after })) => {
                    caches.request_limit.pause(now, *after);
                }
                Err(EvictError::Budget { after: Some(after) }) => caches.blocked.refused(pod, *after, now),
                Err(
                    EvictError::Budget { after: None } | EvictError::NamespaceEnding | EvictError::Failed(_),
                ) => {}
            }
            DrainOutcome::Evict { pod: pod.clone(), result }
        }
        DrainEffect::DeletePod(pod) => {
            let result = delete_pod(client, pod).await;
            if result.is_ok() {
                info!(pod = %pod, "pod deleted without grace");
            }
            DrainOutcome::DeletePod { pod: pod.clone(), result }
        }
        DrainEffect::DeleteAttachment { name, uid } => {
            let result = delete_attachment(client, name, uid).await;
            if result.is_ok() {
                info!(attachment = %name, "volume attachment deleted");
            }
            DrainOutcome::DeleteAttachment { name: name.clone(), result }
        }
    }
}

async fn delete_pod(client: &Client, pod: &PodRef) -> Result<(), ActError> {
    let api: Api<Pod> = Api::namespaced(client.clone(), pod.key.namespace.as_str());
    delete_at_once(&api, pod.key.name.as_str(), &pod.uid).await
}

async fn delete_attachment(client: &Client, name: &Name, uid: &Uid) -> Result<(), ActError> {
    let api: Api<VolumeAttachment> = Api::all(client.clone());
    delete_at_once(&api, name.as_str(), uid).await
}

/// Deletes only the object that was read. If it is gone, or another one has its name, that is success.
async fn delete_at_once<K>(api: &Api<K>, name: &str, uid: &Uid) -> Result<(), ActError>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let params = DeleteParams { grace_period_seconds: Some(0), ..only(Some(uid.to_string()), None) };
    match within_deadline(api.delete(name, &params)).await {
        Ok(_) | Err(ActError::Gone) => Ok(()),
        Err(ActError::Conflict) => match within_deadline(api.get_metadata_opt(name)).await? {
            Some(other) if other.metadata.uid.as_deref() == Some(uid.as_str()) => Err(ActError::Conflict),
            Some(_) | None => Ok(()),
        },
        Err(error) => Err(error),
    }
}

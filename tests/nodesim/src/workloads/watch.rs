//! Follows pods, claims, volumes, Nodes and attachments.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, PersistentVolume, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

use super::Models;
use crate::api::ApiServer;
use crate::pods::{PodFact, PodKey};
use crate::shared::Shared;
use crate::volumes::AttachmentFact;

pub(super) fn start(
    tasks: &mut JoinSet<()>,
    models: &Arc<Models>,
    api: &Arc<ApiServer>,
    shared: &Arc<Shared>,
) {
    let client = || api.client();
    tasks.spawn(pods(client(), Arc::clone(models), Arc::clone(shared)));
    tasks.spawn(nodes(client(), Arc::clone(models), Arc::clone(shared)));
    tasks.spawn(claims(client(), Arc::clone(models), Arc::clone(shared)));
    tasks.spawn(volumes(client(), Arc::clone(models), Arc::clone(shared)));
    tasks.spawn(attachments(client(), Arc::clone(models), Arc::clone(shared)));
}

async fn pods(client: Client, models: Arc<Models>, shared: Arc<Shared>) {
    let bound = watcher::Config::default().fields("spec.nodeName!=");
    let mut listed = BTreeSet::new();
    follow(Api::<Pod>::all(client), bound, |event| {
        models.pods(|pods| {
            let now = shared.now();
            match event {
                Event::Init => listed.clear(),
                Event::InitApply(pod) => {
                    if let Some(fact) = PodFact::of(&pod) {
                        listed.insert(fact.key.clone());
                        pods.hear(fact, now);
                    }
                }
                Event::InitDone => pods.keep_only(&listed, now),
                Event::Apply(pod) => {
                    if let Some(fact) = PodFact::of(&pod) {
                        pods.hear(fact, now);
                    }
                }
                Event::Delete(pod) => {
                    if let (Some(namespace), Some(name)) = (pod.metadata.namespace, pod.metadata.name) {
                        pods.forget(&PodKey { namespace, name }, now);
                    }
                }
            }
        });
    })
    .await;
}

async fn nodes(client: Client, models: Arc<Models>, shared: Arc<Shared>) {
    follow(Api::<Node>::all(client), watcher::Config::default(), |event| match event {
        Event::Apply(node) | Event::InitApply(node) => {
            let Some(name) = node.metadata.name else { return };
            let status = node.status.unwrap_or_default();
            let attached = status.volumes_attached.into_iter().flatten().map(|volume| volume.name).collect();
            let in_use = status.volumes_in_use.into_iter().flatten().collect();
            models.pods(|pods| pods.hear_node(&name, attached, in_use, shared.now()));
        }
        Event::Delete(node) => {
            if let Some(name) = node.metadata.name {
                models.pods(|pods| pods.forget_node(&name, shared.now()));
            }
        }
        Event::Init | Event::InitDone => {}
    })
    .await;
}

async fn claims(client: Client, models: Arc<Models>, shared: Arc<Shared>) {
    let api = Api::<PersistentVolumeClaim>::all(client);
    follow(api, watcher::Config::default(), |event| {
        models.pods(|pods| {
            pods.catalogue(shared.now(), |catalogue| match &event {
                Event::Apply(claim) | Event::InitApply(claim) => catalogue.hear_claim(claim),
                Event::Delete(claim) => catalogue.forget_claim(claim),
                Event::Init | Event::InitDone => {}
            });
        });
    })
    .await;
}

async fn volumes(client: Client, models: Arc<Models>, shared: Arc<Shared>) {
    follow(Api::<PersistentVolume>::all(client), watcher::Config::default(), |event| {
        models.pods(|pods| {
            pods.catalogue(shared.now(), |catalogue| match &event {
                Event::Apply(volume) | Event::InitApply(volume) => catalogue.hear_volume(volume),
                Event::Delete(volume) => catalogue.forget_volume(volume),
                Event::Init | Event::InitDone => {}
            });
        });
    })
    .await;
}

async fn attachments(client: Client, models: Arc<Models>, shared: Arc<Shared>) {
    let mut listed = BTreeSet::new();
    follow(Api::<VolumeAttachment>::all(client), watcher::Config::default(), |event| {
        models.attacher(|attacher| match event {
            Event::Init => listed.clear(),
            Event::InitApply(one) => {
                if let Some(fact) = AttachmentFact::of(&one) {
                    listed.insert(fact.name.clone());
                    attacher.hear(fact, shared.now());
                }
            }
            Event::InitDone => attacher.keep_only(&listed),
            Event::Apply(one) => {
                if let Some(fact) = AttachmentFact::of(&one) {
                    attacher.hear(fact, shared.now());
                }
            }
            Event::Delete(one) => {
                if let Some(name) = &one.metadata.name {
                    attacher.forget(name);
                }
            }
        });
    })
    .await;
}

/// Passes on each event. The watcher lists again when a watch breaks.
async fn follow<K>(api: Api<K>, config: watcher::Config, mut hear: impl FnMut(Event<K>))
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let mut events = pin!(watcher(api, config).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => hear(event),
            Err(error) => tracing::debug!(%error, "a watch broke"),
        }
    }
}

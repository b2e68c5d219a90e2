//! Performs what pods and volumes want done, and follows what happens to them on the API server.
//!
//! | module | what it does |
//! | --- | --- |
//! | `perform` | sends the requests behind the actions of kubelets and attachers |
//! | `watch` | follows pods, claims, volumes, Nodes and attachments |

mod perform;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::api::ApiServer;
use crate::config::Workloads;
use crate::pods::{PodAction, PodDone, Pods, Subject};
use crate::shared::Shared;
use crate::volumes::{Attacher, AttacherAction, AttachmentFact};

/// The models of pods and volumes, for whoever performs and whoever gives orders.
#[derive(Debug)]
pub(crate) struct Models {
    pods: Mutex<Pods>,
    pods_changed: Notify,
    attacher: Mutex<Attacher>,
    attacher_changed: Notify,
}

impl Models {
    pub(crate) fn new(config: &Workloads) -> Self {
        Self {
            pods: Mutex::new(Pods::new(config.pods.clone())),
            pods_changed: Notify::new(),
            attacher: Mutex::new(Attacher::new(config.volumes.clone())),
            attacher_changed: Notify::new(),
        }
    }

    /// Looks at the pods, or changes something about them.
    pub(crate) fn pods<T>(&self, ask: impl FnOnce(&mut Pods) -> T) -> T {
        let answer = ask(&mut lock(&self.pods));
        self.pods_changed.notify_one();
        answer
    }

    /// Looks at the attachments, or changes something about them.
    pub(crate) fn attacher<T>(&self, ask: impl FnOnce(&mut Attacher) -> T) -> T {
        let answer = ask(&mut lock(&self.attacher));
        self.attacher_changed.notify_one();
        answer
    }
}

/// Follows and performs until it is dropped.
pub(crate) async fn run(models: Arc<Models>, api: Arc<ApiServer>, shared: Arc<Shared>, concurrency: usize) {
    let mut tasks = JoinSet::new();
    watch::start(&mut tasks, &models, &api, &shared);
    tasks.spawn(perform_pods(Arc::clone(&models), Arc::clone(&api), Arc::clone(&shared), concurrency));
    tasks.spawn(perform_attachments(models, api, shared, concurrency));
    while let Some(ended) = tasks.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a part of the node simulator broke");
        }
    }
}

async fn perform_pods(models: Arc<Models>, api: Arc<ApiServer>, shared: Arc<Shared>, concurrency: usize) {
    let mut busy: JoinSet<(Subject, PodAction, PodDone)> = JoinSet::new();
    loop {
        let free = concurrency.saturating_sub(busy.len());
        let (actions, wait) = shared.with(|fleet, now| {
            let mut pods = lock(&models.pods);
            let actions = pods.take_due(now, free, |node| fleet.is_up(node));
            (actions, wait(pods.next_wake(), now))
        });
        for (subject, action) in actions {
            let (api, shared) = (Arc::clone(&api), Arc::clone(&shared));
            busy.spawn(async move {
                let done = perform::pod(&api, &action, shared.now()).await;
                (subject, action, done)
            });
        }
        // With all hands busy, only the end of an action makes room for what is due.
        let has_room = busy.len() < concurrency;
        tokio::select! {
            Some(finished) = busy.join_next() => match finished {
                Ok((subject, action, done)) => lock(&models.pods).finish(&subject, &action, done, shared.now()),
                Err(error) => tracing::error!(%error, "a kubelet's action broke"),
            },
            () = tokio::time::sleep(wait.unwrap_or(Duration::MAX)), if has_room && wait.is_some() => {}
            () = models.pods_changed.notified() => {}
        }
    }
}

async fn perform_attachments(
    models: Arc<Models>,
    api: Arc<ApiServer>,
    shared: Arc<Shared>,
    concurrency: usize,
) {
    let mut busy: JoinSet<(AttacherAction, Option<AttachmentFact>)> = JoinSet::new();
    loop {
        let free = concurrency.saturating_sub(busy.len());
        let (actions, wait) = {
            let (mut attacher, now) = (lock(&models.attacher), shared.now());
            (attacher.take_due(now, free), wait(attacher.next_wake(), now))
        };
        for action in actions {
            let api = Arc::clone(&api);
            busy.spawn(async move {
                let left = perform::attachment(&api, &action).await;
                (action, left)
            });
        }
        let has_room = busy.len() < concurrency;
        tokio::select! {
            Some(finished) = busy.join_next() => match finished {
                Ok((action, left)) => lock(&models.attacher).finish(&action, left, shared.now()),
                Err(error) => tracing::error!(%error, "an attacher's write broke"),
            },
            () = tokio::time::sleep(wait.unwrap_or(Duration::MAX)), if has_room && wait.is_some() => {}
            () = models.attacher_changed.notified() => {}
        }
    }
}

fn wait(next: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    next.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default())
}

fn lock<T>(model: &Mutex<T>) -> MutexGuard<'_, T> {
    model.lock().unwrap_or_else(PoisonError::into_inner)
}

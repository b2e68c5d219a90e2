//! Performs what the fleet wants done, on a thread of its own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use crate::api::ApiServer;
use crate::config::{Config, StartError};
use crate::fleet::{Action, Done, Fleet, KubeletId, Stats};
use crate::pods::PodStats;
use crate::shared::Shared;
use crate::source::{VmEvent, VmSource};
use crate::workloads::{self, Models};

/// Events that wait for the fleet.
const EVENTS_AHEAD: usize = 1024;
/// How long requests may take to end when the simulator stops.
const GRACE: Duration = Duration::from_millis(200);

/// A running node simulator. It stops when it is dropped, without a word to the API server.
///
/// It has a thread and a clock of its own, so it can be used beside paused tokio time.
#[derive(Debug)]
pub struct NodeSim {
    shared: Arc<Shared>,
    workloads: Option<Arc<Models>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl NodeSim {
    /// Starts the kubelets of the VMs that the source tells of. The API server may be away: kubelets keep trying.
    pub fn start(config: Config, source: Arc<dyn VmSource>) -> Result<Self, StartError> {
        let shared = Arc::new(Shared::new(Fleet::new(config.timing.clone(), config.seed)));
        let workloads = config.workloads.as_ref().map(|workloads| Arc::new(Models::new(workloads)));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nodesim")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let (running, models) = (Arc::clone(&shared), workloads.clone());
        let thread = std::thread::Builder::new()
            .name("nodesim".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    match ApiServer::new(config.target, config.labels).await {
                        Ok(api) => {
                            ready.send(Ok(())).ok();
                            let (api, concurrency) = (Arc::new(api), config.concurrency.max(1));
                            let working = models.map(|models| {
                                workloads::run(models, Arc::clone(&api), Arc::clone(&running), concurrency)
                            });
                            let performer = Performer { api, source, shared: running };
                            tokio::select! {
                                () = Arc::new(performer).run(concurrency) => {}
                                Some(()) = async { working?.await; Some(()) } => {}
                                _ = stopped => {}
                            }
                        }
                        Err(error) => {
                            ready.send(Err(error)).ok();
                        }
                    }
                });
                runtime.shutdown_timeout(GRACE);
            })
            .map_err(StartError::Threads)?;
        is_ready.recv().map_err(|_| StartError::Ended)??;
        Ok(Self { shared, workloads, stop: Some(stop), thread: Some(thread) })
    }

    /// Sets what the kubelet of this Node reports as Ready. False if there is no such kubelet.
    pub fn set_ready(&self, node_name: &str, is_ready: bool) -> bool {
        self.shared.order(|fleet, now| fleet.set_ready(node_name, is_ready, now))
    }

    /// Sets what the kubelet of this Node reports as a further condition, such as `ReadonlyFilesystem`. False if there
    /// is no such kubelet.
    pub fn set_condition(&self, node_name: &str, kind: &str, is_true: bool) -> bool {
        self.shared.order(|fleet, now| fleet.set_condition(node_name, kind, is_true, now))
    }

    /// Stops all that the kubelet of this Node does, as when its machine hangs. False if there is no such kubelet.
    pub fn silence(&self, node_name: &str) -> bool {
        self.shared.order(|fleet, now| fleet.silence(node_name, now))
    }

    /// Ends a silence. False if there is no such kubelet.
    pub fn resume(&self, node_name: &str) -> bool {
        self.shared.order(|fleet, now| fleet.resume(node_name, now))
    }

    /// Silences all kubelets, also those that are yet to start, as when the network between nodes and API server is
    /// cut.
    pub fn pause_all(&self) {
        self.shared.order(Fleet::pause_all);
    }

    /// Ends the silence of all kubelets.
    pub fn resume_all(&self) {
        self.shared.order(Fleet::resume_all);
    }

    /// Detachments from this Node hang, as when the cloud does, or go on. False where nobody looks at volumes.
    pub fn set_detaching_stuck(&self, node_name: &str, is_stuck: bool) -> bool {
        let workloads = self.workloads.as_ref();
        workloads.map(|models| models.attacher(|attacher| attacher.set_stuck(node_name, is_stuck))).is_some()
    }

    /// Counts of pods; all zero where nobody looks at them.
    pub fn pod_stats(&self) -> PodStats {
        self.workloads.as_ref().map(|models| models.pods(|pods| pods.stats())).unwrap_or_default()
    }

    pub fn stats(&self) -> Stats {
        self.shared.with(|fleet, _| fleet.stats())
    }

    /// Names of the Nodes that kubelets of running VMs have registered, in order.
    pub fn registered(&self) -> Vec<String> {
        self.shared.with(|fleet, _| fleet.registered())
    }
}

impl Drop for NodeSim {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct Performer {
    api: Arc<ApiServer>,
    source: Arc<dyn VmSource>,
    shared: Arc<Shared>,
}

impl Performer {
    /// Performs actions, at most so many at a time, until it is dropped.
    async fn run(self: Arc<Self>, concurrency: usize) {
        let (events, mut received) = mpsc::channel(EVENTS_AHEAD);
        let mut following = JoinSet::new();
        following.spawn(Arc::clone(&self.source).follow(events));
        let mut busy: JoinSet<(KubeletId, Action, Done)> = JoinSet::new();
        let mut batch: Vec<VmEvent> = Vec::new();
        loop {
            let free = concurrency.saturating_sub(busy.len());
            let (actions, wait) = self.shared.with(|fleet, now| {
                for event in batch.drain(..) {
                    fleet.hear(event, now);
                }
                let actions = fleet.take_due(now, free);
                let wait = fleet.next_wake().map(|at| Duration::try_from(at.duration_since(now)));
                (actions, wait.map(Result::unwrap_or_default))
            });
            for (id, action) in actions {
                let performer = Arc::clone(&self);
                busy.spawn(async move {
                    let now = performer.shared.now();
                    let done = performer.api.perform(&action, performer.source.as_ref(), now).await;
                    (id, action, done)
                });
            }
            // With all hands busy, only the end of an action makes room for what is due.
            let has_room = busy.len() < concurrency;
            tokio::select! {
                Some(finished) = busy.join_next() => self.finish(finished),
                _ = received.recv_many(&mut batch, EVENTS_AHEAD) => {}
                () = tokio::time::sleep(wait.unwrap_or(Duration::MAX)), if has_room && wait.is_some() => {}
                () = self.shared.changed.notified() => {}
            }
        }
    }

    fn finish(&self, finished: Result<(KubeletId, Action, Done), tokio::task::JoinError>) {
        match finished {
            Ok((id, action, done)) => {
                self.shared.with(|fleet, now| fleet.finish(&id, &action, &done, now));
            }
            Err(error) => tracing::error!(%error, "a kubelet's action broke"),
        }
    }
}

//! How long each Machine took to be Running, seen by a watch of its own: the API keeps whole seconds only.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use kube::Api;
use kube::runtime::{WatchStreamExt, watcher};
use machinist_api::Machine;
use tokio::task::JoinHandle;
use tokio::time::Instant;

#[derive(Default)]
struct Times {
    created: BTreeMap<String, Instant>,
    running: BTreeMap<String, Instant>,
}

/// Runs from `start` until it is dropped.
pub(super) struct Stopwatch {
    times: Arc<Mutex<Times>>,
    watch: JoinHandle<()>,
}

impl Stopwatch {
    pub(super) fn start(api: Api<Machine>) -> Self {
        let times: Arc<Mutex<Times>> = Arc::default();
        let seen = times.clone();
        let watch = tokio::spawn(async move {
            let mut machines =
                std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff().applied_objects());
            while let Some(machine) = machines.next().await {
                let Ok(machine): Result<Machine, _> = machine else { continue };
                let name = machine.metadata.name.clone().unwrap_or_default();
                let mut times = seen.lock().unwrap_or_else(PoisonError::into_inner);
                if machine.phase().as_str() == "Running" {
                    times.running.entry(name).or_insert_with(Instant::now);
                }
            }
        });
        Self { times, watch }
    }

    /// The Machine is about to be created.
    pub(super) fn create(&self, name: &str) {
        let mut times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        times.created.insert(name.to_owned(), Instant::now());
    }

    /// From each creation to Running, sorted. Only of those that ran.
    pub(super) fn taken(&self) -> Vec<Duration> {
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = times
            .created
            .iter()
            .filter_map(|(name, created)| Some(times.running.get(name)?.duration_since(*created)));
        let mut taken: Vec<Duration> = taken.collect();
        taken.sort();
        taken
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

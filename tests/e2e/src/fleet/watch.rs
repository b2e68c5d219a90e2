//! A fleet that follows a watch.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use machinist_api::Machine;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::{Fleet, Seen, Stretch, Tally};

/// Only what is stuck shows nothing for so long, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// Follows all Machines until it is dropped.
pub struct FleetWatch {
    fleet: Arc<Mutex<Fleet>>,
    changes: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl FleetWatch {
    /// Starts, and has seen all that are there when it answers.
    pub async fn start(api: Api<Machine>, config: watcher::Config) -> Result<Self> {
        let fleet: Arc<Mutex<Fleet>> = Arc::default();
        let (count_of_changes, mut changes) = watch::channel(0);
        let seen = Arc::clone(&fleet);
        let task = tokio::spawn(async move {
            let mut events = pin!(watcher(api, config).default_backoff());
            let mut listed = Vec::new();
            let mut is_first = true;
            while let Some(event) = events.next().await {
                let mut fleet = lock(&seen);
                match event {
                    Ok(Event::Apply(machine)) => fleet.is_there(&Seen::from(&machine), Instant::now()),
                    Ok(Event::Delete(machine)) => fleet.is_gone(&Seen::from(&machine).name),
                    Ok(Event::InitApply(machine)) => listed.push(Seen::from(&machine)),
                    Ok(Event::InitDone) => {
                        fleet.is_listed(std::mem::take(&mut listed), Instant::now());
                        if std::mem::take(&mut is_first) {
                            fleet.begin();
                        }
                    }
                    // After an error comes either the rest of the watch or a listing, which counts as a gap.
                    Ok(Event::Init) | Err(_) => continue,
                }
                count_of_changes.send_modify(|changes| *changes += 1);
            }
        });
        let first = timeout(TIMEOUT, changes.changed()).await;
        first.context("the Machines cannot be listed")?.context("the watch has ended")?;
        Ok(Self { fleet, changes, task })
    }

    /// Looks at the fleet as it is.
    pub fn look<T>(&self, at: impl FnOnce(&Fleet) -> T) -> T {
        at(&lock(&self.fleet))
    }

    /// Begins a stretch. Answers what there was in the one that ends.
    pub fn begin(&self) -> Stretch {
        lock(&self.fleet).begin()
    }

    /// Returns the extremes since the stretch began.
    pub fn stretch(&self) -> Stretch {
        self.look(|fleet| fleet.stretch().clone())
    }

    /// Waits until this is so. `what` is the sentence that will be true.
    pub async fn until(&self, what: &str, mut is_so: impl FnMut(&Tally) -> bool) -> Result<Instant> {
        let mut changes = self.changes.clone();
        loop {
            changes.mark_unchanged();
            if self.look(|fleet| is_so(fleet.tally())) {
                return Ok(Instant::now());
            }
            match timeout(TIMEOUT, changes.changed()).await {
                Ok(changed) => changed.context("the watch has ended")?,
                Err(_) => {
                    let tally = self.look(|fleet| fleet.tally().to_string());
                    bail!(
                        "nothing has changed for {TIMEOUT:?}, and it is not so that {what}: there are {tally}"
                    );
                }
            }
        }
    }
}

impl Drop for FleetWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(fleet: &Mutex<Fleet>) -> MutexGuard<'_, Fleet> {
    fleet.lock().unwrap_or_else(PoisonError::into_inner)
}

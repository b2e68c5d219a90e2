//! Sees Machines become Running, through a watch as a user's dashboard has it.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use machinist_api::Machine;
use tokio::task::JoinHandle;

/// Only what is stuck takes longer.
const PATIENCE: Duration = Duration::from_secs(600);

/// Follows the Machines with a prefix until so many are Running.
pub(crate) struct Follow(JoinHandle<Result<BTreeMap<String, Instant>>>);

impl Follow {
    pub(crate) fn start(api: Api<Machine>, prefix: &'static str, wanted: usize) -> Self {
        Self(tokio::spawn(async move {
            let seen = tokio::time::timeout(PATIENCE, follow(api, prefix, wanted));
            seen.await
                .with_context(|| format!("not all of {wanted} Machines are Running after {PATIENCE:?}"))?
        }))
    }

    /// When each became Running.
    pub(crate) async fn all(self) -> Result<BTreeMap<String, Instant>> {
        self.0.await?
    }
}

async fn follow(api: Api<Machine>, prefix: &str, wanted: usize) -> Result<BTreeMap<String, Instant>> {
    let mut events = pin!(watcher(api, watcher::Config::default()));
    let mut running = BTreeMap::new();
    while let Some(event) = events.next().await {
        let (Event::Apply(machine) | Event::InitApply(machine)) = event? else { continue };
        let name = machine.name_any();
        if name.starts_with(prefix) && machine.phase().as_str() == "Running" {
            running.entry(name).or_insert_with(Instant::now);
        }
        if running.len() == wanted {
            return Ok(running);
        }
    }
    bail!("the watch ended")
}

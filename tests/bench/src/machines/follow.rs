//! Sees Machines become Running, or go, through a watch as a user's dashboard has it.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use machinist_api::Machine;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Only what is stuck shows nothing for so long, however slow the machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The state that Machines are followed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    Running,
    Gone,
}

/// Follows the Machines with a prefix until so many have come there.
pub(crate) struct Follow(JoinHandle<Result<BTreeMap<String, Instant>>>);

impl Follow {
    pub(crate) fn start(api: Api<Machine>, prefix: &str, goal: Goal, wanted: usize) -> Self {
        let prefix = prefix.to_owned();
        Self(tokio::spawn(async move { follow(api, &prefix, goal, wanted).await }))
    }

    /// When each came there.
    pub(crate) async fn all(self) -> Result<BTreeMap<String, Instant>> {
        self.0.await?
    }
}

async fn follow(
    api: Api<Machine>,
    prefix: &str,
    goal: Goal,
    wanted: usize,
) -> Result<BTreeMap<String, Instant>> {
    let mut events = pin!(watcher(api, watcher::Config::default()));
    let mut there = BTreeMap::new();
    let stuck = |there: usize| {
        format!("{there} of {wanted} Machines are {goal:?}, and nothing has happened for {TIMEOUT:?}")
    };
    while let Some(event) = timeout(TIMEOUT, events.next()).await.with_context(|| stuck(there.len()))? {
        let (machine, is_there) = match event? {
            Event::Apply(machine) | Event::InitApply(machine) => {
                let is_there = goal == Goal::Running && machine.phase().as_str() == "Running";
                (machine, is_there)
            }
            Event::Delete(machine) => (machine, goal == Goal::Gone),
            Event::Init | Event::InitDone => continue,
        };
        let name = machine.name_any();
        if is_there && name.starts_with(prefix) {
            there.entry(name).or_insert_with(Instant::now);
        }
        if there.len() == wanted {
            return Ok(there);
        }
    }
    bail!("the watch ended")
}

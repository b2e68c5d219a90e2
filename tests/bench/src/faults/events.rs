//! Events of many Machines that are created at once: how late they come, and how many.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt;
use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use tokio::task::JoinHandle;

use super::scene::{install, start};
use crate::machines::{Follow, Goal, create, requests, start_host, stop};
use crate::times::Times;

const MACHINES: usize = 200;

/// Events of Machines that were created at once.
#[derive(Clone, Debug)]
pub(crate) struct Crowd {
    pub(crate) machines: usize,
    /// From the time of what happened until a watch shows the Event.
    pub(crate) late: Times,
    pub(crate) events: usize,
    /// Events that the host has given up.
    pub(crate) lost: f64,
}

/// Counts the Events that a watch shows, and times those about Machines.
#[derive(Clone)]
pub(super) struct EventWatch(Arc<Mutex<SeenEvents>>);

#[derive(Debug, Default)]
struct SeenEvents {
    all: u64,
    /// How late those about Machines were.
    about_machines: Vec<Duration>,
}

impl EventWatch {
    /// Watches from now on, until the handle is dropped or aborted.
    pub(super) fn start(client: Client) -> (Self, JoinHandle<Result<()>>) {
        let seen = Self(Arc::default());
        let into = seen.clone();
        (seen, tokio::spawn(async move { into.watch(Api::all(client)).await }))
    }

    async fn watch(&self, api: Api<Event>) -> Result<()> {
        let mut events = pin!(watcher(api, watcher::Config::default()));
        while let Some(event) = events.next().await {
            if let watcher::Event::Apply(event) = event? {
                let about_a_machine =
                    event.regarding.as_ref().is_some_and(|object| object.kind.as_deref() == Some("Machine"));
                let late: Option<Duration> =
                    event.event_time.and_then(|time| (Timestamp::now() - time.0).try_into().ok());
                let mut seen_events = self.seen_events();
                seen_events.all += 1;
                seen_events.about_machines.extend(late.filter(|_| about_a_machine));
            }
        }
        anyhow::bail!("the watch of Events ended")
    }

    /// How late each Event about a Machine was.
    pub(super) fn late(&self) -> Vec<Duration> {
        self.seen_events().about_machines.clone()
    }

    /// How many there were of any kind.
    pub(super) fn all(&self) -> u64 {
        self.seen_events().all
    }

    fn seen_events(&self) -> MutexGuard<'_, SeenEvents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn measure() -> Result<Crowd> {
    const PREFIX: &str = "crowd";
    let lab = start("a crowd of Events").await?;
    let host = start_host(&lab).await?;
    install(&lab).await?;
    let (seen, watch) = EventWatch::start(lab.client.clone());
    requests::when_idle(&host).await?;
    let follow = Follow::start(lab.machines(), PREFIX, Goal::Running, MACHINES);
    create(&lab, PREFIX, MACHINES).await?;
    follow.all().await?;
    requests::when_idle(&host).await?;
    // The sum of no figures is -0.
    let lost = host.metrics().await?.sum("machinist_events_lost_total", &[]).abs();
    let late = seen.late();
    watch.abort();
    late.first().context("a watch has seen Events")?;
    stop(host).await?;
    Ok(Crowd { machines: MACHINES, events: late.len(), late: Times::of(late), lost })
}

//! Clouds whose reads lag and whose answers get lost: how many VMs there are in the end.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use e2e::Lab;
use simcloud::{Effect, Faults, Match, Rule};

use super::{Follow, Goal, create};

/// The result for Machines in such a cloud.
#[derive(Clone, Debug)]
pub(crate) struct Troubled {
    pub(crate) what: &'static str,
    pub(crate) machines: usize,
    pub(crate) wall: Duration,
    pub(crate) vms: u64,
    pub(crate) duplicates: u64,
}

pub(crate) async fn measure(lab: &Lab) -> Result<Vec<Troubled>> {
    Ok(vec![
        // As many as in the figures of the Go controllers.
        one(lab, "lag", 200, "reads lag by 8 s", lagging()).await?,
        one(lab, "lost", 200, "reads lag by 8 s, and of the creates 20 % happen without an answer", losing())
            .await?,
    ])
}

async fn one(
    lab: &Lab,
    prefix: &'static str,
    machines: usize,
    what: &'static str,
    faults: Faults,
) -> Result<Troubled> {
    lab.cloud.set_faults(faults).map_err(|error| anyhow!("{error:?}"))?;
    let before = lab.cloud.stats();
    let follow = Follow::start(lab.machines(), prefix, Goal::Running, machines);
    let started = Instant::now();
    create(lab, prefix, machines).await?;
    let running = follow.all().await?;
    let wall = running.values().max().context("some are Running")?.duration_since(started);
    lab.cloud.clear_faults();
    let after = lab.cloud.stats();
    Ok(Troubled {
        what,
        machines,
        wall,
        vms: after.created - before.created,
        duplicates: after.duplicates_ever - before.duplicates_ever,
    })
}

fn lagging() -> Faults {
    Faults { read_lag_ms: 8_000, ..Faults::default() }
}

fn losing() -> Faults {
    let lost = Rule {
        name: Some("lost answers".to_owned()),
        matches: Match {
            method: Some("POST".to_owned()),
            path: Some("/v1/vms".to_owned()),
            probability: Some(0.2),
            ..Match::default()
        },
        effect: Effect::Timeout { after_commit: true, hold_ms: 100 },
    };
    Faults { rules: vec![lost], ..lagging() }
}

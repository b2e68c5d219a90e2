//! From a declaration to the first call that it answers.

use std::hint::black_box;
use std::pin::pin;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::plugins::sandbox;
use futures::StreamExt;
use machinist_core::driver::ClassSpec;
use machinist_plugin_host::{CodeTier, PluginHost, PluginReport, RawConfigMap};

use crate::times::Times;

const NEW_ROUNDS: usize = 3;
const CACHED_ROUNDS: usize = 50;

/// Components that were never compiled. The optimisation in the background ends with the round.
pub(crate) async fn new(
    host: &PluginHost,
    class: &ClassSpec,
    packed: impl Fn(&str) -> Result<RawConfigMap>,
) -> Result<(Times, &'static str)> {
    let (mut times, mut tier) = (Vec::new(), "none");
    for round in 0..NEW_ROUNDS {
        let (took, report) = first_call(host, class, packed(&format!("new-{round}"))?).await?;
        ensure!(!report.from_cache, "it was compiled before: {report:?}");
        tier = code(&report)?.name();
        times.push(took);
    }
    Ok((Times::of(times), tier))
}

/// How long it takes until calls run in optimised code.
pub(crate) async fn optimised(host: &PluginHost, map: RawConfigMap) -> Result<Duration> {
    let mut changes = pin!(host.changes());
    let started = Instant::now();
    let mut report = sandbox::load(host, map).await?;
    while code(&report)? != CodeTier::Optimised {
        changes.next().await.context("the plugin host has ended")?;
        report = current(host)?;
    }
    Ok(started.elapsed())
}

/// A component whose optimised code is in the cache.
pub(crate) async fn cached(host: &PluginHost, class: &ClassSpec, map: &RawConfigMap) -> Result<Times> {
    let mut times = Vec::with_capacity(CACHED_ROUNDS);
    for _ in 0..CACHED_ROUNDS {
        let (took, report) = first_call(host, class, map.clone()).await?;
        ensure!(report.from_cache && code(&report)? == CodeTier::Optimised, "it was compiled: {report:?}");
        times.push(took);
    }
    Ok(Times::of(times))
}

/// Nothing serves the provider before, so the call waits for all that a load takes.
async fn first_call(
    host: &PluginHost,
    class: &ClassSpec,
    map: RawConfigMap,
) -> Result<(Duration, PluginReport)> {
    let source = map.source();
    host.withdraw(source).await;
    let started = Instant::now();
    host.declare(map).await;
    black_box(host.validate_class(class.clone()).await?);
    Ok((started.elapsed(), current(host)?))
}

fn current(host: &PluginHost) -> Result<PluginReport> {
    host.plugins().into_iter().next().context("the driver is declared")
}

fn code(report: &PluginReport) -> Result<CodeTier> {
    Ok(report.held.as_ref().with_context(|| format!("it serves: {report:?}"))?.code)
}

//! A driver call in a fresh instance, beside the same work in plain Rust.

mod cloud;
mod host;
mod native;

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use machinist_core::driver::MachineRequest;
use machinist_plugin_host::PluginHost;

use crate::times::Times;

use cloud::Cloud;
use native::Native;

const WARM_UP: usize = 500;
const ROUNDS: usize = 10_000;
/// Callers at the same time, for calls a second.
const CALLERS: usize = 64;
const CALLS_A_CALLER: usize = 150;

/// One kind of call, both ways.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) what: &'static str,
    pub(crate) rounds: usize,
    pub(crate) sandboxed: Times,
    pub(crate) native: Times,
    /// How much longer than plain Rust it should take at the median, at most.
    pub(crate) aim: Option<Duration>,
}

impl Pair {
    pub(crate) fn over_native(&self) -> Duration {
        self.sandboxed.median().saturating_sub(self.native.median())
    }
}

/// All that is measured about calls.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) callers: usize,
    /// With so many callers at the same time: empty calls a second.
    pub(crate) empty_a_second: f64,
    /// The same for calls with one HTTP request: in the sandbox, and in plain Rust.
    pub(crate) http_a_second: (f64, f64),
}

pub(crate) async fn measure() -> Result<Figures> {
    eprintln!("building the drivers");
    let (plain, sim) = tokio::task::spawn_blocking(|| {
        anyhow::Ok((guests::bytes("plain-driver")?, guests::bytes("sim-driver")?))
    })
    .await??;
    let cloud = Cloud::start()?;
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let host = host::start(folder.path())?;
    eprintln!("loading the drivers");
    host::load(&host, host::plain(plain)).await?;
    host::load(&host, host::sim(&sim, &cloud.url())?).await?;
    let native = Native::new(&cloud.url())?;
    let (plain, sim) =
        (host::request("plain", "plain:///0.1.0/uid-1"), host::request("sim", "sim:///sim-1a/vm-1"));
    eprintln!("calling");
    let pairs = vec![
        empty(&host, &plain).await?,
        without_network(&host, &plain).await?,
        with_request(&host, &native, &sim).await?,
    ];
    let empty_a_second = a_second(async || Ok(drop(host.validate_class(plain.class.clone()).await?))).await?;
    let sandboxed = a_second(async || Ok(drop(host.get_status(sim.clone()).await?))).await?;
    let in_rust = a_second(async || Ok(drop(native.get_status(&sim).await?))).await?;
    host.shutdown().await;
    Ok(Figures { pairs, callers: CALLERS, empty_a_second, http_a_second: (sandboxed, in_rust) })
}

/// The call with the least work in it: a text that is JSON.
async fn empty(host: &PluginHost, request: &MachineRequest) -> Result<Pair> {
    let answers = host.validate_class(request.class.clone()).await?;
    ensure!(answers == native::validate_class(&request.class)?, "both ways answer alike");
    alternate(
        "an empty call (`validate-class`)",
        Some(Duration::from_micros(60)),
        async || Ok(drop(black_box(native::validate_class(black_box(&request.class))?))),
        async || Ok(drop(black_box(host.validate_class(request.class.clone()).await?))),
    )
    .await
}

/// With secrets, grants and an answer that is a VM.
async fn without_network(host: &PluginHost, request: &MachineRequest) -> Result<Pair> {
    ensure!(
        host.get_status(request.clone()).await? == native::plain_status(request)?,
        "both ways answer alike"
    );
    alternate(
        "a call about a machine without a request (`get-status`)",
        None,
        async || Ok(drop(black_box(native::plain_status(black_box(request))?))),
        async || Ok(drop(black_box(host.get_status(request.clone()).await?))),
    )
    .await
}

async fn with_request(host: &PluginHost, native: &Native, request: &MachineRequest) -> Result<Pair> {
    ensure!(
        host.get_status(request.clone()).await? == native.get_status(request).await?,
        "both ways answer alike"
    );
    alternate(
        "a call with one HTTP request (`get-status`)",
        Some(Duration::from_micros(250)),
        async || Ok(drop(native.get_status(request).await?)),
        async || Ok(drop(host.get_status(request.clone()).await?)),
    )
    .await
}

/// Both ways in turn, so that whatever else the machine does befalls both.
async fn alternate(
    what: &'static str,
    aim: Option<Duration>,
    mut native: impl AsyncFnMut() -> Result<()>,
    mut sandboxed: impl AsyncFnMut() -> Result<()>,
) -> Result<Pair> {
    for _ in 0..WARM_UP {
        native().await?;
        sandboxed().await?;
    }
    let mut times = (Vec::with_capacity(ROUNDS), Vec::with_capacity(ROUNDS));
    for _ in 0..ROUNDS {
        let started = Instant::now();
        native().await?;
        times.0.push(started.elapsed());
        let started = Instant::now();
        sandboxed().await?;
        times.1.push(started.elapsed());
    }
    Ok(Pair { what, rounds: ROUNDS, native: Times::of(times.0), sandboxed: Times::of(times.1), aim })
}

/// How many calls a second end when many callers call at the same time.
async fn a_second(call: impl AsyncFn() -> Result<()>) -> Result<f64> {
    let started = Instant::now();
    let callers = (0..CALLERS).map(|_| async {
        for _ in 0..CALLS_A_CALLER {
            call().await?;
        }
        anyhow::Ok(())
    });
    futures::future::try_join_all(callers).await?;
    let calls = u32::try_from(CALLERS * CALLS_A_CALLER)?;
    Ok(f64::from(calls) / started.elapsed().as_secs_f64())
}

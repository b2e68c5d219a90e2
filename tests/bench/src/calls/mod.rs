//! A driver call in a fresh instance, beside the same work in plain Rust.
//!
//! | module | content |
//! | --- | --- |
//! | `host` | a plugin host with two drivers |
//! | `cloud` | the smallest HTTP server, on a thread of its own |
//! | `native` | the work of the drivers in plain Rust, without a sandbox |
//! | `policy` | a health policy in a fresh instance, beside the same rule in plain Rust |
//! | `signing` | the time to sign a request, beside the time to send it unsigned |

mod cloud;
pub(crate) mod host;
pub(crate) mod native;
mod policy;
pub(crate) mod signing;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::plugins::sandbox;
use machinist_core::driver::MachineRequest;
use machinist_plugin_host::PluginHost;
use tokio::task::JoinSet;

use crate::times::Times;

pub(crate) use cloud::Cloud;
use native::Native;

const WARM_UP: usize = 500;
const ROUNDS: usize = 10_000;
/// Of what takes milliseconds.
const LONG_ROUNDS: usize = 300;
/// The host counts a driver as in use for one second after a call, and a driver that uses more than its share of the
/// processor begins at low priority while another one is in use.
const ALONE_AFTER: Duration = Duration::from_millis(1_500);
/// Between two calls of the other driver, in rounds.
const OTHER_EVERY: usize = 1_000;
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
pub(crate) struct CallFigures {
    pub(crate) pairs: Vec<Pair>,
    pub(crate) callers: usize,
    /// With so many callers at the same time: empty calls a second.
    pub(crate) empty_a_second: f64,
    /// The same for calls with one HTTP request: in the sandbox, and in plain Rust.
    pub(crate) http_a_second: (f64, f64),
}

/// The kinds of calls.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// With the least work in it: a text that is JSON.
    Empty,
    /// The same while another driver is in use, so that the call begins at low priority.
    EmptyBesideAnother,
    /// With secrets, grants and an answer that is a VM.
    WithoutNetwork,
    /// With one HTTP request.
    WithRequest,
    /// With one HTTP request whose answer has a mebibyte, in which the host looks for secrets and user data.
    WithLongAnswer,
    /// Of a health policy, with the rule that is built in.
    Policy,
}

impl Kind {
    fn what(self) -> &'static str {
        match self {
            Self::Empty => "an empty call (`validate-class`)",
            Self::EmptyBesideAnother => "the same, of the busiest driver of two: at low priority",
            Self::WithoutNetwork => "a call about a machine without a request (`get-status`)",
            Self::WithRequest => "a call with one HTTP request (`get-status`)",
            Self::WithLongAnswer => "a call with one answer of 1 MiB, searched for secrets (`get-status`)",
            Self::Policy => "a health policy's verdict (`evaluate`)",
        }
    }

    fn aim(self) -> Option<Duration> {
        match self {
            Self::Empty => Some(Duration::from_micros(60)),
            Self::EmptyBesideAnother | Self::WithoutNetwork | Self::WithLongAnswer | Self::Policy => None,
            Self::WithRequest => Some(Duration::from_micros(250)),
        }
    }

    fn rounds(self) -> usize {
        match self {
            Self::WithLongAnswer => LONG_ROUNDS,
            Self::Empty
            | Self::EmptyBesideAnother
            | Self::WithoutNetwork
            | Self::WithRequest
            | Self::Policy => ROUNDS,
        }
    }
}

/// Both ways, and what they are asked.
struct Ways {
    host: PluginHost,
    native: Native,
    plain: MachineRequest,
    sim: MachineRequest,
    talkative: MachineRequest,
    asked: policy::Asked,
}

impl Ways {
    async fn sandboxed(&self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Empty | Kind::EmptyBesideAnother => {
                drop(black_box(self.host.validate_class(self.plain.class.clone()).await?));
            }
            Kind::WithoutNetwork => drop(black_box(self.host.get_status(self.plain.clone()).await?)),
            Kind::WithRequest => drop(black_box(self.host.get_status(self.sim.clone()).await?)),
            Kind::WithLongAnswer => drop(black_box(self.host.get_status(self.talkative.clone()).await?)),
            Kind::Policy => {
                black_box(self.asked.sandboxed(&self.host).await?);
            }
        }
        Ok(())
    }

    async fn native(&self, kind: Kind) -> Result<()> {
        match kind {
            Kind::Empty | Kind::EmptyBesideAnother => {
                drop(black_box(native::validate_class(black_box(&self.plain.class))?));
            }
            Kind::WithoutNetwork => drop(black_box(native::plain_status(black_box(&self.plain))?)),
            Kind::WithRequest => drop(black_box(self.native.get_status(&self.sim).await?)),
            Kind::WithLongAnswer => drop(black_box(self.native.get_status(&self.talkative).await?)),
            Kind::Policy => {
                black_box(black_box(&self.asked).native());
            }
        }
        Ok(())
    }

    async fn answer_alike(&self) -> Result<()> {
        let (plain, sim) = (&self.plain, &self.sim);
        let classes = self.host.validate_class(plain.class.clone()).await?;
        ensure!(classes == native::validate_class(&plain.class)?, "both ways find the same in a class");
        ensure!(
            self.host.get_status(plain.clone()).await? == native::plain_status(plain)?,
            "both ways see one machine"
        );
        let vms = (self.host.get_status(sim.clone()).await?, self.native.get_status(sim).await?);
        ensure!(vms.0 == vms.1, "both ways see one VM: {vms:?}");
        let long = &self.talkative;
        let vms = (self.host.get_status(long.clone()).await?, self.native.get_status(long).await?);
        ensure!(vms.0 == vms.1, "both ways see the VM that has much to tell: {vms:?}");
        self.asked.answer_alike(&self.host).await
    }
}

pub(crate) async fn measure() -> Result<CallFigures> {
    eprintln!("building the drivers");
    let (plain, sim, policy) = tokio::task::spawn_blocking(|| {
        let bytes = guests::bytes;
        anyhow::Ok((bytes("plain-driver")?, bytes("sim-driver")?, bytes("policy-default")?))
    })
    .await??;
    let cloud = Cloud::start()?;
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let host = host::start(folder.path())?;
    eprintln!("loading the drivers");
    sandbox::load(&host, host::plain(plain)).await?;
    sandbox::load(&host, host::sim(&sim, &cloud.url())?).await?;
    sandbox::load(&host, policy::declared(policy)).await?;
    let ways = Arc::new(Ways {
        host,
        native: Native::new(&cloud.url())?,
        plain: host::request("plain", "plain:///0.1.0/uid-1"),
        sim: host::request("sim", "sim:///sim-1a/vm-1"),
        talkative: host::hiding_user_data(host::request(
            "sim",
            &format!("sim:///sim-1a/{}", cloud::TALKATIVE),
        )),
        asked: policy::Asked::new(),
    });
    ways.answer_alike().await?;
    eprintln!("calling");
    let mut pairs = Vec::new();
    let kinds = [
        Kind::Empty,
        Kind::EmptyBesideAnother,
        Kind::WithoutNetwork,
        Kind::WithRequest,
        Kind::WithLongAnswer,
        Kind::Policy,
    ];
    for kind in kinds {
        tokio::time::sleep(ALONE_AFTER).await;
        // As tasks, on workers, as the controllers make their calls.
        pairs.push(tokio::spawn(alternate(Arc::clone(&ways), kind)).await??);
    }
    let empty_a_second = a_second(&ways, Kind::Empty, false).await?;
    let http_a_second =
        (a_second(&ways, Kind::WithRequest, false).await?, a_second(&ways, Kind::WithRequest, true).await?);
    ways.host.shutdown().await;
    Ok(CallFigures { pairs, callers: CALLERS, empty_a_second, http_a_second })
}

/// Both ways in turn, so that whatever else the machine does befalls both.
async fn alternate(ways: Arc<Ways>, kind: Kind) -> Result<Pair> {
    for _ in 0..WARM_UP.min(kind.rounds()) {
        ways.native(kind).await?;
        ways.sandboxed(kind).await?;
    }
    let mut times = (Vec::with_capacity(kind.rounds()), Vec::with_capacity(kind.rounds()));
    for round in 0..kind.rounds() {
        if matches!(kind, Kind::EmptyBesideAnother) && round.is_multiple_of(OTHER_EVERY) {
            ways.sandboxed(Kind::WithRequest).await?;
        }
        let started = Instant::now();
        ways.native(kind).await?;
        times.0.push(started.elapsed());
        let started = Instant::now();
        ways.sandboxed(kind).await?;
        times.1.push(started.elapsed());
    }
    let (native, sandboxed) = (Times::of(times.0), Times::of(times.1));
    Ok(Pair { what: kind.what(), rounds: kind.rounds(), native, sandboxed, aim: kind.aim() })
}

/// How many calls a second end when many callers call at the same time.
async fn a_second(ways: &Arc<Ways>, kind: Kind, natively: bool) -> Result<f64> {
    let started = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let ways = Arc::clone(ways);
        callers.spawn(async move {
            for _ in 0..CALLS_A_CALLER {
                if natively { ways.native(kind).await? } else { ways.sandboxed(kind).await? }
            }
            anyhow::Ok(())
        });
    }
    callers.join_all().await.into_iter().collect::<Result<()>>()?;
    let calls = u32::try_from(CALLERS * CALLS_A_CALLER)?;
    Ok(f64::from(calls) / started.elapsed().as_secs_f64())
}

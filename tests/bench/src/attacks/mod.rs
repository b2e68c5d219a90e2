//! Calls of a driver while another driver attacks: alone, in turn with the same calls during an attack.
//!
//! | module | content |
//! | --- | --- |
//! | `plans` | attackers: the hostile driver by a plan, or a plain program |
//! | `cloud` | a hostile cloud: answers that drip, never end, or unpack to a gigabyte |
//! | `reader` | a plain program that reads from the hostile cloud, for comparison |

mod cloud;
mod plans;
mod reader;

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::manifests;
use e2e::plugins::sandbox;
use machinist_core::driver::MachineRequest;
use machinist_plugin_host::{PluginHost, RawConfigMap};
use tokio::task::JoinSet;

use crate::calls::{self, Cloud};
use crate::conditions::BusyCores;
use crate::times::Times;
use cloud::HostileCloud;
pub(crate) use plans::PAUSE_OF_CALLS;
use plans::{Attack, Plan};
use reader::Reader;

/// Short and many, so that what else the machine does falls on both sides alike.
pub(crate) const BLOCKS_A_RUN: usize = 20;
pub(crate) const CALLS_A_BLOCK: usize = 100;
/// Of these the middle one counts.
pub(crate) const RUNS: usize = 5;
/// Until attacks are in full swing, and until what is left of them is gone.
const PAUSE: Duration = Duration::from_millis(30);

/// Small limits, so that attacks come often.
const LIMITS: &str =
    "limits: { memory_mib: 32, table_elements: 20000, cpu_ms: 500, deadline_ms: 4000, response_kib: 64 }";

/// Calls beside one attack.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) what: &'static str,
    /// How many call the hostile driver at the same time.
    pub(crate) callers: usize,
    /// Attacks that came to their end.
    pub(crate) attacks: u64,
    runs: Vec<Run>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) alone: Times,
    pub(crate) during: Times,
}

impl Run {
    /// At the 99th percentile, beside the attack over alone.
    pub(crate) fn ratio(&self) -> f64 {
        self.during.p99().as_secs_f64() / self.alone.p99().as_secs_f64()
    }
}

impl Measured {
    pub(crate) fn run(&self) -> Run {
        self.runs.get(self.runs.len() / 2).cloned().unwrap_or_default()
    }

    /// The lowest and the highest ratio.
    pub(crate) fn range(&self) -> (f64, f64) {
        let ratio = |run: Option<&Run>| run.map(Run::ratio).unwrap_or_default();
        (ratio(self.runs.first()), ratio(self.runs.last()))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct AttackFigures {
    pub(crate) measured: Vec<Measured>,
    /// Cores that were busy with something else than this program.
    pub(crate) others: f64,
}

/// All attacks, or those of these names.
pub(crate) async fn measure(chosen: &[String]) -> Result<AttackFigures> {
    eprintln!("building the drivers");
    let build = || anyhow::Ok((guests::bytes("sim-driver")?, guests::hostile()?));
    let (sim, hostile) = tokio::task::spawn_blocking(build).await??;
    let (cloud, enemy) = (Cloud::start()?, HostileCloud::start()?);
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let mut settings = sandbox::settings(folder.path())?;
    // In earnest it would be left alone after ten attacks, and there would be nothing to measure.
    settings.quarantine.broken_calls = usize::MAX;
    // Somebody reads the log.
    settings.log_listener = Some(Arc::new(|line| drop(black_box(line.clone()))));
    let host = PluginHost::start(settings).context("failed to start the plugin host")?;
    eprintln!("loading the drivers");
    sandbox::load(&host, calls::host::sim(&sim, &cloud.url())?).await?;
    sandbox::load(&host, declared(hostile, enemy.port)).await?;
    let (cores, used) = (BusyCores::start()?, own_cpu()?);
    let mut measured = Vec::new();
    for attack in plans::chosen(&format!("http://127.0.0.1:{}", enemy.port), chosen)? {
        let beside = beside(&host, attack, enemy.port).await?;
        let (least, most) = beside.range();
        eprintln!(
            "beside {}: at the 99th percentile {:.2} times as long ({least:.2} to {most:.2})",
            beside.what,
            beside.run().ratio()
        );
        measured.push(beside);
    }
    let others = cores.others(own_cpu()?.saturating_sub(used))?;
    host.shutdown().await;
    Ok(AttackFigures { measured, others })
}

/// Processor time of this program so far.
fn own_cpu() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").context("failed to read CPU times")?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    let ticks: Vec<u32> = fields.map(str::parse).collect::<Result<_, _>>().context("odd CPU times")?;
    Ok(Duration::from_millis(10) * ticks.iter().sum())
}

fn declared(component: Vec<u8>, port: u16) -> RawConfigMap {
    let mut map = manifests::plugin_with("hostile", "plugin.wasm", component);
    let grants = format!(
        "egress: [{{ host: 127.0.0.1, scheme: http, ports: [{port}], addresses: loopback }}]\n{LIMITS}\n"
    );
    map.data.get_or_insert_default().insert("grants.yaml".to_owned(), grants);
    sandbox::raw(map)
}

async fn beside(host: &PluginHost, attack: Attack, port: u16) -> Result<Measured> {
    let ended = Arc::new(AtomicU64::new(0));
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        runs.push(run(host, &attack, port, &ended).await?);
    }
    runs.sort_by(|one, other| one.ratio().total_cmp(&other.ratio()));
    let attacks = ended.load(Ordering::Relaxed);
    Ok(Measured { what: attack.what, callers: attack.plans.len(), attacks, runs })
}

async fn run(host: &PluginHost, attack: &Attack, port: u16, ended: &Arc<AtomicU64>) -> Result<Run> {
    let (mut alone, mut during) = (Vec::new(), Vec::new());
    for _ in 0..BLOCKS_A_RUN {
        alone.extend(block(host, attack.pause).await?);
        let (mut attackers, mut readers) = (JoinSet::new(), Vec::new());
        for plan in &attack.plans {
            let (host, ended) = (host.clone(), Arc::clone(ended));
            match plan {
                Plan::Read { path } => readers.push(Reader::start(port, path, ended)),
                Plan::Call(plan) => {
                    let request = hostile(&plan.to_string());
                    attackers.spawn(async move {
                        loop {
                            // However it ends: it is an attack.
                            drop(black_box(host.create(request.clone()).await));
                            ended.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
            }
        }
        tokio::time::sleep(PAUSE).await;
        during.extend(block(host, attack.pause).await?);
        attackers.shutdown().await;
        tokio::task::spawn_blocking(|| drop(readers)).await?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(Run { alone: Times::of(alone), during: Times::of(during) })
}

/// Calls one after the other, as a task on a worker, as the controllers make theirs.
async fn block(host: &PluginHost, pause: Duration) -> Result<Vec<Duration>> {
    let host = host.clone();
    tokio::spawn(async move {
        let machine = calls::host::request("sim", "sim:///sim-1a/vm-1");
        let mut times = Vec::with_capacity(CALLS_A_BLOCK);
        for _ in 0..CALLS_A_BLOCK {
            let request = machine.clone();
            let started = Instant::now();
            black_box(host.get_status(request).await?);
            times.push(started.elapsed());
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(times)
    })
    .await?
}

fn hostile(plan: &str) -> MachineRequest {
    let mut request = calls::host::request("hostile", "hostile:///uid-1");
    plan.clone_into(&mut request.class.spec);
    request
}

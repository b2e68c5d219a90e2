//! The driver of each cloud, on its cloud, beside a plain client in that cloud's own library.
//!
//! | module | content |
//! | --- | --- |
//! | `subject` | a cloud of these figures: its plain client, its requests |
//! | `clouds` | the clouds |
//! | `languages` | one driver in each language, beside plain Rust |
//! | `life` | Machines from create to Running, and until they are gone |
//! | `plain` | runs a plain client |

mod clouds;
pub(crate) mod languages;
mod life;
mod plain;
mod subject;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::plugins::sandbox;
use e2e::{Aws, Azure, Gcp, Hcloud, Lxd, OpenStack};
use guests::Driver;
use machinist_plugin_host::RawConfigMap;
use tokio::net::TcpListener;

use crate::times::Times;
use languages::{Memory, loads, memory, start};
use life::Life;
use plain::PlainFigures;
use subject::Subject;

/// The result for a driver.
#[derive(Clone, Debug)]
pub(crate) enum DriverOutcome {
    Measured(Box<DriverFigures>),
    LeftOut { cloud: &'static str, why: String },
}

/// The figures of a driver.
#[derive(Clone, Debug)]
pub(crate) struct DriverFigures {
    pub(crate) cloud: &'static str,
    pub(crate) language: &'static str,
    /// The library of the plain client.
    pub(crate) library: &'static str,
    pub(crate) size_bytes: usize,
    pub(crate) packed_bytes: usize,
    /// From the declaration to the answer of the first call; compiled.
    pub(crate) new: Times,
    /// From the declaration to the answer of the first call; from the cache.
    pub(crate) cached: Times,
    pub(crate) memory: Memory,
    pub(crate) life: Life,
    pub(crate) plain: PlainFigures,
    /// Requests that the API needs at least: for a VM that runs, and for one that is gone.
    pub(crate) fewest: [u32; 2],
}

pub(crate) async fn measure() -> Result<Vec<DriverOutcome>> {
    Ok(vec![
        outcome::<Aws>().await,
        outcome::<Azure>().await,
        outcome::<Gcp>().await,
        outcome::<Hcloud>().await,
        outcome::<OpenStack>().await,
        outcome::<Lxd<false>>().await,
    ])
}

async fn outcome<C: Subject>() -> DriverOutcome {
    match one::<C>().await {
        Ok(figures) => DriverOutcome::Measured(Box::new(figures)),
        Err(error) => {
            let why = format!("{error:#}");
            eprintln!("{} IS LEFT OUT: {why}", C::NAME);
            DriverOutcome::LeftOut { cloud: C::NAME, why }
        }
    }
}

async fn one<C: Subject>() -> Result<DriverFigures> {
    // First: a cloud without its parts fails at once, and its driver may need minutes.
    eprintln!("{}: starting the cloud, building the driver", C::NAME);
    let cloud = C::begin(&simcloud::Config::default()).await?;
    let component = tokio::task::spawn_blocking(|| C::DRIVER.build()).await??;
    eprintln!("{}: a plain client, {}", C::NAME, C::LIBRARY);
    let plain = plain::measure(&cloud).await?;
    eprintln!("{}: loading the driver", C::NAME);
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let host = start(folder.path())?;
    let class = sandbox::class(&cloud.class("small", C::NAME));
    let packed = |mark: &str| Ok(sandbox::raw(cloud.plugin(&sandbox::marked(&component, mark))?));
    let (new, _) = loads::new(&host, &class, packed).await?;
    loads::optimised(&host, packed("kept")?).await?;
    let map = packed("kept")?;
    let cached = loads::cached(&host, &class, &map).await?;
    host.shutdown().await;
    let memory = waiting_memory(&cloud, folder.path(), &map).await?;
    let packed_bytes = map.binary_data.values().map(bytes::Bytes::len).sum();
    eprintln!("{}: {} Machines", C::NAME, C::MACHINES);
    Ok(DriverFigures {
        cloud: C::NAME,
        language: language(C::DRIVER),
        library: C::LIBRARY,
        size_bytes: component.len(),
        packed_bytes,
        new,
        cached,
        memory,
        life: life::measure(cloud, &component).await?,
        plain,
        fewest: C::FEWEST,
    })
}

fn language(driver: Driver) -> &'static str {
    match driver {
        Driver::Rust { .. } => "Rust",
        Driver::Go { .. } => "Go",
        Driver::JavaScript { .. } => "TypeScript",
    }
}

/// Of instances that wait for a cloud that never answers, where the real one would be.
async fn waiting_memory<C: Subject>(cloud: &C, folder: &Path, map: &RawConfigMap) -> Result<Memory> {
    let silent = TcpListener::bind(("127.0.0.1", 0)).await.context("failed to listen")?;
    let (from, to) = (cloud.port()?.to_string(), silent.local_addr()?.port().to_string());
    let mut map = map.clone();
    for value in map.data.values_mut() {
        *value = value.replace(&from, &to);
    }
    let (class, secret) = (cloud.class("small", C::NAME), cloud.secret(C::NAME));
    let mut request = sandbox::request("machine-1", &class, &secret, "lab");
    request.class.spec = request.class.spec.replace(&from, &to);
    for value in request.secrets.values.values_mut() {
        let text = std::str::from_utf8(value).context("a test's Secret is text")?;
        *value = text.replace(&from, &to).into_bytes();
    }
    memory::measure(folder, &silent, map, &request).await
}

impl DriverFigures {
    /// From create to Running, over the plain client's time until its VMs run.
    pub(crate) fn over_plain(&self) -> f64 {
        ratio(self.life.running, self.plain.running)
    }
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::EPSILON)
}

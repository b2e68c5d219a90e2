//! How long a declared component takes until its first answer, which is the one to `describe`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::manifests;
use e2e::plugins::sandbox;
use k8s_openapi::api::core::v1::ConfigMap;
use machinist_plugin_host::PluginHost;
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::times::Times;

const CACHED_ROUNDS: usize = 200;
const NEW_ROUNDS: usize = 5;

pub(super) struct Drivers {
    pub(super) plain: Vec<u8>,
    pub(super) sim: Vec<u8>,
    pub(super) aws: Vec<u8>,
}

impl Drivers {
    pub(super) fn build() -> Result<Self> {
        Ok(Self {
            plain: guests::bytes("plain-driver")?,
            sim: guests::bytes("sim-driver")?,
            aws: guests::bytes("aws-driver")?,
        })
    }
}

/// Loads of one driver.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub(crate) driver: &'static str,
    pub(crate) size_bytes: usize,
    /// Its code is in the cache.
    pub(crate) cached: Times,
    /// Its code has to be compiled.
    pub(crate) new: Times,
    /// Unpacking and hashing alone, in plain Rust.
    pub(crate) unpacking: Times,
}

pub(super) async fn measure(drivers: &Drivers) -> Result<Vec<Load>> {
    Ok(vec![
        one("plain-driver", &drivers.plain).await?,
        one("sim-driver", &drivers.sim).await?,
        one("aws-driver", &drivers.aws).await?,
    ])
}

async fn one(driver: &'static str, component: &[u8]) -> Result<Load> {
    let folder = tempfile::tempdir().context("failed to make a folder for compiled code")?;
    let host =
        PluginHost::start(sandbox::settings(folder.path())?).context("failed to start the plugin host")?;
    let mut new = Vec::new();
    for round in 0..NEW_ROUNDS {
        new.push(load(&host, plugin(&sandbox::marked(component, &format!("new-{round}")))?, false).await?);
    }
    let versions =
        [plugin(&sandbox::marked(component, "new-0"))?, plugin(&sandbox::marked(component, "new-1"))?];
    let (mut cached, mut unpacking) = (Vec::new(), Vec::new());
    for version in versions.iter().cycle().take(CACHED_ROUNDS) {
        unpacking.push(unpack(version)?);
        cached.push(load(&host, version.clone(), true).await?);
    }
    host.shutdown().await;
    Ok(Load {
        driver,
        size_bytes: component.len(),
        cached: Times::of(cached),
        new: Times::of(new),
        unpacking: Times::of(unpacking),
    })
}

fn plugin(component: &[u8]) -> Result<ConfigMap> {
    manifests::plugin_granted("plugin", component, &json!({}), &json!({}))
}

async fn load(host: &PluginHost, map: ConfigMap, is_cached: bool) -> Result<Duration> {
    let map = sandbox::raw(map);
    let started = Instant::now();
    let report = sandbox::load(host, map).await?;
    let took = started.elapsed();
    ensure!(report.from_cache == is_cached, "it came from elsewhere: {report:?}");
    Ok(took)
}

fn unpack(map: &ConfigMap) -> Result<Duration> {
    let packed =
        map.binary_data.as_ref().and_then(|data| data.values().next()).context("there is a component")?;
    let started = Instant::now();
    black_box(Sha256::digest(zstd::decode_all(packed.0.as_slice())?));
    Ok(started.elapsed())
}

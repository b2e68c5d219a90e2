//! Calls that a host recorded on a cloud: the driver does the same again, without the cloud.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use e2e::Cloud;
use guests::Driver;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::plugins::record::files;

/// Set: the calls of this run replace the recordings beside the driver. With it,
/// `cargo test -p e2e --test all clouds::azure::machines_become_vms` makes those of Azure's driver.
const RECORD_AGAIN: &str = "MACHINIST_RECORD_ANEW";
/// So many calls of each operation are kept beside the driver.
const KEPT: usize = 2;

/// Replays all recordings in a folder, which are some.
pub(super) async fn replays<C: Cloud>(folder: &TempDir) {
    replay::<C>(folder.path()).await.unwrap_or_else(|error| panic!("{error:#}"));
}

async fn replay<C: Cloud>(folder: &Path) -> Result<()> {
    let component = tokio::task::spawn_blocking(|| C::DRIVER.build()).await??;
    let file = folder.join("driver.wasm");
    fs::write(&file, component)?;
    let recordings = folder.join("recordings");
    let mut command = Command::new(e2e::binary()?);
    command.args(["driver", "replay"]).arg(&file).arg(&recordings).stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.context("the program does not start")?;
    let [printed, errors] =
        [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    ensure!(output.status.success(), "the driver does otherwise:\n{printed}{errors}");
    if std::env::var_os(RECORD_AGAIN).is_some() {
        record_again(&recordings, &beside(C::DRIVER))?;
    }
    Ok(())
}

/// The recordings beside a driver.
fn beside(driver: Driver) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    match driver {
        Driver::Rust { package, .. } => root.join("plugins").join(package.trim_end_matches("-driver")),
        Driver::Go { folder } | Driver::JavaScript { folder } => root.join(folder),
    }
    .join("recordings")
}

/// Keeps the first calls of each operation, in the order in which they were made.
fn record_again(from: &Path, to: &Path) -> Result<()> {
    let _absent = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    let mut kept: BTreeMap<String, usize> = BTreeMap::new();
    // Names begin with the time.
    for path in files(from)? {
        let text = fs::read_to_string(&path)?;
        let recording: Value = serde_json::from_str(&text)?;
        let operation = recording["operation"].as_str().context("a recording has an operation")?.to_owned();
        let count = kept.entry(operation.clone()).or_default();
        *count += 1;
        if operation != "Describe" && *count <= KEPT {
            let number = fs::read_dir(to)?.count() + 1;
            fs::write(to.join(format!("{number:02}-{operation}.json")), text)?;
        }
    }
    Ok(())
}

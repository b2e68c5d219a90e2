//! Demo and benchmark: builds what they start, then becomes them.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use crate::shell::Line;
use crate::{components, paths};

/// The driver that both of them run.
const DRIVER: &str = "sim-driver";

/// The demo, as fast to build as can be.
pub(crate) fn demo(arguments: &[OsString]) -> Result<()> {
    let binaries = prepare("debug", &["--package", "e2e"])?;
    Line::new(binaries.join("demo")).with(arguments).become_it()
}

/// The benchmark, as fast to run as can be.
pub(crate) fn bench(arguments: &[OsString]) -> Result<()> {
    let binaries = prepare("release", &["--package", "bench", "--release"])?;
    Line::new(binaries.join("bench")).with(arguments).become_it()
}

/// The control plane, by the binary that cargo has built into this folder. What is in the cache is not built again.
pub(crate) fn build_control_plane(binaries: &Path) -> Result<()> {
    Line::new(binaries.join("control-plane")).with(&["build"]).run()
}

fn prepare(profile_folder: &str, what: &[&str]) -> Result<std::path::PathBuf> {
    // In one go: cargo chooses the features of dependencies by what is built together, and builds them once so.
    Line::cargo(&["build", "--bins", "--package", "machinist", "--package", "control-plane"])
        .with(what)
        .run()?;
    components::build(DRIVER)?;
    let binaries = paths::binaries(profile_folder)?;
    build_control_plane(&binaries)?;
    Ok(binaries)
}

//! Demo and benchmark: builds what they start, then becomes them.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use crate::shell::Line;
use crate::{components, paths};

/// The driver that both of them run.
const DRIVER: &str = "sim-driver";
/// The driver for EC2, which the benchmark measures, and the demo shows if it is asked to.
const EC2_DRIVER: &str = "aws-driver";

/// The demo, as fast to build as can be.
pub(crate) fn demo(arguments: &[OsString]) -> Result<()> {
    prepared_demo(arguments)?.become_it()
}

/// The same, and comes back.
pub(crate) fn demonstrate(arguments: &[&str]) -> Result<()> {
    prepared_demo(&arguments.iter().map(OsString::from).collect::<Vec<_>>())?.run()
}

fn prepared_demo(arguments: &[OsString]) -> Result<Line> {
    // The driver is built with the others because of its dependencies: with it they have the features that the tests
    // need.
    let binaries = prepare("debug", &["--package", "e2e", "--package", "ec2", "--package", DRIVER])?;
    if asks_for_ec2(arguments) {
        components::build(EC2_DRIVER)?;
        prepare_emulators(&binaries)?;
    }
    Ok(Line::new(binaries.join("demo")).with(arguments))
}

/// The benchmark, as fast to run as can be.
pub(crate) fn bench(arguments: &[OsString]) -> Result<()> {
    prepared_bench()?.with(arguments).become_it()
}

/// All figures of the benchmark, which it prints and does not write.
pub(crate) fn measure() -> Result<()> {
    prepared_bench()?.run()
}

fn prepared_bench() -> Result<Line> {
    let binaries = prepare("release", &["--package", "bench", "--package", "ec2", "--release"])?;
    components::build(EC2_DRIVER)?;
    prepare_emulators(&binaries)?;
    Ok(Line::new(binaries.join("bench")))
}

/// The simulator. Dependencies are optimised in the profile of tests too, so that only our own crates are compiled
/// again for it.
pub(crate) fn sim(arguments: &[OsString]) -> Result<()> {
    built_simulator()?.with(arguments).become_it()
}

/// The same, and comes back.
pub(crate) fn simulate(arguments: &[&str]) -> Result<()> {
    built_simulator()?.with(arguments).run()
}

fn built_simulator() -> Result<Line> {
    let simulator = optimised("sim", &["--package", "sim"], &SIMULATED)?;
    Ok(simulator.variable("GLIBC_TUNABLES", ALLOCATION))
}

/// The fuzzer. Overflows and assertions are checked as in tests.
pub(crate) fn fuzz(arguments: &[OsString]) -> Result<()> {
    built_fuzzer()?.with(arguments).become_it()
}

/// The same, and comes back.
pub(crate) fn try_inputs(arguments: &[&str]) -> Result<()> {
    built_fuzzer()?.with(arguments).run()
}

/// Of all packages, so that dependencies have the features that they have in tests and are not compiled again.
fn built_fuzzer() -> Result<Line> {
    optimised("fuzz", &["--workspace", "--bin", "fuzz"], &FUZZED)
}

/// A program of the tests in the profile of tests, with these crates optimised.
fn optimised(program: &str, chosen: &[&str], crates: &[&str]) -> Result<Line> {
    let mut line = Line::cargo(&["build"]).with(chosen);
    for package in crates {
        line = line.with(&["--config", &format!("profile.dev.package.{package}.opt-level=3")]);
    }
    line.run()?;
    Ok(Line::new(paths::binaries("debug")?.join(program)))
}

/// The crates in which a fuzzer spends its time.
const FUZZED: [&str; 10] = [
    "fuzz", "machinist-api", "machinist-artifacts", "machinist-core", "machinist-plugin-host",
    "machinist-runtime", "machinist-sdk", "memory-api", "native-aws-driver", "native-sim-driver",
];

/// Half of a simulation is small objects that come and go on one thread: they are kept at hand, and memory is not given
/// back in between. A fifth of its time.
const ALLOCATION: &str = "glibc.malloc.tcache_count=2000:glibc.malloc.tcache_max=4096:glibc.malloc.top_pad=16777216:\
    glibc.malloc.trim_threshold=268435456:glibc.malloc.mmap_threshold=268435456";

/// The crates in which a simulation spends its time.
const SIMULATED: [&str; 6] =
    ["machinist-api", "machinist-core", "machinist-runtime", "memory-api", "sim", "simcloud"];

/// The control plane, by the binary that cargo has built into this folder. Programs in the cache are not built again.
pub(crate) fn build_control_plane(binaries: &Path) -> Result<()> {
    Line::new(binaries.join("control-plane")).with(&["build"]).run()
}

/// Cluster API's programs, by the binary that cargo has built into this folder, as above.
pub(crate) fn build_cluster_api(binaries: &Path) -> Result<()> {
    Line::new(binaries.join("cluster-api")).with(&["build"]).run()
}

/// moto, by the binary that cargo has built into this folder. An installation in the cache is not repeated.
pub(crate) fn prepare_emulators(binaries: &Path) -> Result<()> {
    Line::new(binaries.join("ec2")).with(&["prepare"]).run()?;
    let registry = binaries.join("registry");
    // The demo, which needs none, does not build it.
    if registry.is_file() { Line::new(registry).with(&["prepare"]).run() } else { Ok(()) }
}

/// The services of OpenStack, the images of LXD's containers and the kubelet, by the binaries that cargo has built into
/// this folder. Parts in the cache are not made again.
pub(crate) fn prepare_clouds(binaries: &Path) -> Result<()> {
    Line::new(binaries.join("openstack")).with(&["prepare"]).run()?;
    Line::new(binaries.join("lxd")).with(&["prepare"]).run()?;
    Line::new(binaries.join("control-plane")).with(&["build", "--kubelet"]).run()
}

/// Whether `--provider aws` is among the demo's arguments, however it is written.
fn asks_for_ec2(arguments: &[OsString]) -> bool {
    let is_aws = |value: &str| value.eq_ignore_ascii_case("aws");
    let apart = arguments.windows(2).any(|pair| match pair {
        [option, value] => option == "--provider" && value.to_str().is_some_and(is_aws),
        _ => false,
    });
    let joined = |argument: &OsString| argument.to_str()?.strip_prefix("--provider=").map(is_aws);
    apart || arguments.iter().filter_map(joined).any(|is_meant| is_meant)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(arguments: &[&str]) -> bool {
        asks_for_ec2(&arguments.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_demo_needs_ec2_only_with_the_provider_aws() {
        assert!(asks(&["--", "--provider", "aws"]) && asks(&["--machines", "3", "--provider=AWS"]));
        assert!(!asks(&[]) && !asks(&["--provider", "sim"]) && !asks(&["aws", "--provider"]));
    }
}

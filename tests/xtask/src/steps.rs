//! The steps of `cargo xtask test`.

use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::shell::Line;
use crate::{components, deny, drivers, journeys, launch, paths, sdk, setup};

/// Which steps run when none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// The CI runs these on each change: 20 minutes on two cores with warm caches, 60 with cold ones.
    Commit,
    /// These and the long ones. Somebody starts them by hand, before an issue ends.
    Nightly,
}

/// The steps by name, in the order in which they run: what is quick and fails often comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    Format,
    Tidy,
    Licences,
    Sdk,
    Clippy,
    Build,
    Components,
    ControlPlane,
    Emulators,
    Test,
    Journeys,
    Drivers,
    Clouds,
    Long,
    Demos,
    Seeds,
    Inputs,
    Figures,
}

/// Seeds of the nightly simulation: each is a cluster with 20 minutes of faults, and the calm after them.
const NIGHTLY_SEEDS: &str = "2000";
/// Inputs of the nightly fuzzer, over all of its targets: some twenty minutes on two cores.
const NIGHTLY_INPUTS: &str = "10000000";
/// Each property test takes so many times its usual number of inputs at night.
const NIGHTLY_CASES: &str = "20";

/// The demos of the night, by their arguments. Real services and containers get few Machines: two cores are busy with
/// these.
const DEMOS: [&[&str]; 8] = [
    &[],
    &["--provider", "aws"],
    &["--provider", "azure"],
    &["--provider", "gcp"],
    &["--provider", "hcloud"],
    &["--provider", "openstack", "--machines", "6"],
    &["--provider", "lxd", "--machines", "4"],
    &["--api", "capi"],
];

impl Name {
    fn text(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Tidy => "tidy",
            Self::Licences => "licences",
            Self::Sdk => "sdk",
            Self::Clippy => "clippy",
            Self::Build => "build",
            Self::Components => "components",
            Self::ControlPlane => "control-plane",
            Self::Emulators => "emulators",
            Self::Test => "test",
            Self::Journeys => "journeys",
            Self::Drivers => "drivers",
            Self::Clouds => "clouds",
            Self::Long => "long",
            Self::Demos => "demos",
            Self::Seeds => "seeds",
            Self::Inputs => "inputs",
            Self::Figures => "figures",
        }
    }

    /// The first tier that runs this step.
    fn tier(self) -> Tier {
        match self {
            Self::Format
            | Self::Tidy
            | Self::Licences
            | Self::Sdk
            | Self::Clippy
            | Self::Build
            | Self::Components
            | Self::ControlPlane
            | Self::Emulators
            | Self::Test => Tier::Commit,
            Self::Journeys
            | Self::Drivers
            | Self::Clouds
            | Self::Long
            | Self::Demos
            | Self::Seeds
            | Self::Inputs
            | Self::Figures => Tier::Nightly,
        }
    }

    fn purpose(self) -> &'static str {
        match self {
            Self::Format => "the code is formatted",
            Self::Tidy => "the tree keeps its rules: dependency edges, purity of the core, sizes, links",
            Self::Licences => "licences, doubled versions and sources of the dependencies (deny.toml)",
            Self::Sdk => "the SDKs of other languages than Rust, without WebAssembly",
            Self::Clippy => "lints, warnings are errors",
            Self::Build => "everything is compiled, tests too",
            Self::Components => "drivers and hostile components are compiled",
            Self::ControlPlane => {
                "etcd, kube-apiserver and Cluster API for the tests (the first time: ten to thirteen minutes)"
            }
            Self::Emulators => {
                "moto and a registry, the EC2 and the OCI registry of the tests (the first time: a minute or two)"
            }
            Self::Test => "unit, plugin-host and end-to-end tests",
            Self::Journeys => {
                "nightly: Machines on OpenStack and LXD (the first time: ten minutes); skipped with a notice if their \
                 parts cannot be had, unless MACHINIST_EVERY_CLOUD is set"
            }
            Self::Drivers => "nightly: the drivers in Go and TypeScript, without WebAssembly",
            Self::Clouds => {
                "nightly: OpenStack, the images of LXD and the kubelet for the long tests (the first time: ten minutes)"
            }
            Self::Long => "nightly: all tests, long ones and planted bugs too, with 20 times the inputs",
            Self::Demos => "nightly: the demo on each cloud, and for Cluster API",
            Self::Seeds => "nightly: 2,000 simulated clusters",
            Self::Inputs => "nightly: 10,000,000 inputs for everything that parses what strangers send",
            Self::Figures => "nightly: all figures, printed and not written",
        }
    }

    fn run(self) -> Result<()> {
        match self {
            Self::Format => Line::cargo(&["fmt", "--all", "--check"]).run(),
            Self::Tidy => Line::cargo(&["test", "--package", "tidy"]).run(),
            Self::Licences => deny::check(&["licenses", "bans", "sources"]),
            Self::Sdk => sdk::test_all(),
            Self::Clippy => {
                Line::cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).run()
            }
            Self::Build => test(&["--no-run"]),
            Self::Components => components::build_all(),
            Self::ControlPlane => {
                // Compiling what is compiled costs a second, and this step can be asked for alone.
                test(&["--no-run"])?;
                let binaries = paths::binaries("debug")?;
                launch::build_control_plane(&binaries)?;
                launch::build_cluster_api(&binaries)
            }
            Self::Emulators => {
                // As above.
                test(&["--no-run"])?;
                launch::prepare_emulators(&paths::binaries("debug")?)
            }
            Self::Test => {
                // Drivers in JavaScript go through the conformance kit.
                setup::check_for_javascript()?;
                test(&[])
            }
            Self::Journeys => {
                setup::check_for_javascript()?;
                // As above.
                test(&["--no-run"])?;
                journeys::run(&paths::binaries("debug")?, tests())
            }
            Self::Drivers => drivers::test_all(),
            Self::Clouds => {
                // As above.
                test(&["--no-run"])?;
                launch::prepare_clouds(&paths::binaries("debug")?)
            }
            Self::Long => {
                setup::check_for_javascript()?;
                tests()
                    .with(&["--", "--include-ignored"])
                    .variable("MACHINIST_CASES_FACTOR", NIGHTLY_CASES)
                    .run()
            }
            Self::Demos => {
                // The driver of LXD is in TypeScript.
                setup::check_for_javascript()?;
                DEMOS.iter().try_for_each(|arguments| launch::demonstrate(arguments))
            }
            Self::Seeds => launch::simulate(&["--seeds", NIGHTLY_SEEDS, "--hours", "0.34"]),
            Self::Inputs => launch::try_inputs(&["--inputs", NIGHTLY_INPUTS]),
            Self::Figures => launch::measure(),
        }
    }
}

/// End-to-end tests wait more than they compute: six at a time leave a third of two cores idle. A value from the user
/// is kept.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "8");

/// One choice of packages for compiling and for testing: cargo chooses the features of dependencies by it, and compiles
/// them once more for another. Binaries come with the integration tests of their packages. Tidy has run: its tests are
/// not counted twice.
fn test(arguments: &[&str]) -> Result<()> {
    tests().with(arguments).run()
}

fn tests() -> Line {
    let line = Line::cargo(&["test", "--workspace", "--exclude", "tidy"]);
    match std::env::var_os(THREADS.0) {
        None => line.variable(THREADS.0, THREADS.1),
        Some(_) => line,
    }
}

pub(crate) fn list() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for step in Name::value_variants() {
        writeln!(out, "{:<14} {}", step.text(), step.purpose())?;
    }
    Ok(())
}

/// Runs these steps, or those of the tier. The first that fails ends it.
pub(crate) fn run(only: &[Name], tier: Tier) -> Result<()> {
    let mut done = Vec::new();
    for step in chosen(only, tier) {
        println!("\n=== {}: {} ===", step.text(), step.purpose());
        let start = Instant::now();
        let outcome = step.run();
        done.push((step, start.elapsed(), outcome.is_ok()));
        if outcome.is_err() {
            print!("{}", summary(&done));
            let repeat = format!("failed at `{0}`; repeat it with: cargo xtask test --only {0}", step.text());
            return outcome.context(repeat);
        }
    }
    print!("{}", summary(&done));
    Ok(())
}

/// In the order of the steps, whatever the order of the arguments. A step that is named runs in each tier.
fn chosen(only: &[Name], tier: Tier) -> Vec<Name> {
    let is_chosen = |step: &Name| match only {
        [] => tier == Tier::Nightly || step.tier() == Tier::Commit,
        only => only.contains(step),
    };
    Name::value_variants().iter().copied().filter(is_chosen).collect()
}

fn summary(done: &[(Name, Duration, bool)]) -> String {
    let lines = done.iter().map(|(step, took, passed)| {
        let outcome = if *passed { "ok" } else { "FAILED" };
        format!("{:<14} {:>8.1} s  {outcome}\n", step.text(), took.as_secs_f64())
    });
    std::iter::once("\n=== summary ===\n".to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_choice_the_steps_of_a_commit_run_and_those_with_many_parts_come_last() {
        let steps = chosen(&[], Tier::Commit);
        assert_eq!((steps.first(), steps.last()), (Some(&Name::Format), Some(&Name::Test)));
        assert!(!steps.contains(&Name::Seeds), "long steps are for the night");
    }

    #[test]
    fn at_night_all_steps_run_and_a_named_step_runs_in_each_tier() {
        assert_eq!(chosen(&[], Tier::Nightly), Name::value_variants());
        assert_eq!(chosen(&[Name::Seeds], Tier::Commit), [Name::Seeds]);
        assert_eq!(chosen(&[Name::Test], Tier::Nightly), [Name::Test]);
    }

    #[test]
    fn chosen_steps_run_in_their_own_order() {
        let names: Vec<_> =
            chosen(&[Name::Test, Name::Format], Tier::Commit).into_iter().map(Name::text).collect();
        assert_eq!(names, ["format", "test"]);
    }

    #[test]
    fn a_step_is_asked_for_by_the_name_that_is_printed() {
        for step in Name::value_variants() {
            assert!(Name::from_str(step.text(), false) == Ok(*step), "{}", step.text());
        }
    }

    #[test]
    fn the_summary_says_which_step_failed() {
        let done =
            [(Name::Format, Duration::from_millis(1_500), true), (Name::Clippy, Duration::ZERO, false)];
        let lines: Vec<String> = summary(&done).lines().map(String::from).collect();
        assert_eq!(lines[2], "format              1.5 s  ok");
        assert_eq!(lines[3], "clippy              0.0 s  FAILED");
    }
}

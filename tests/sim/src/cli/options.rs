//! The options of the simulator, and the command that repeats one run.

use std::time::Duration;

use clap::Parser;
use sim::{Plan, Planted};

#[derive(Clone, Debug, PartialEq, Parser)]
#[command(name = "cargo xtask sim", bin_name = "cargo xtask sim")]
/// Simulates whole clusters, each from its seed: the real runtime and core, everything else in memory, with a clock as
/// fast as the computer.
pub(crate) struct Options {
    /// Number of seeds to run
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// First seed of the run
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Number of Machines in each run
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) machines: u32,
    /// Simulated hours with faults; a calm period without faults follows
    #[arg(long, default_value_t = 3.0, value_parser = hours)]
    pub(crate) hours: f64,
    /// Seeds to run at once; default: one per processor
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1_024))]
    pub(crate) threads: Option<u32>,
    /// Plant a bug between the hosts and the world, to test that the checks find it: creates-twice, never-deletes, …
    #[arg(long, value_parser = bug)]
    pub(crate) plant: Option<Planted>,
    /// Serve Cluster API's kinds beside MCM's in every run; otherwise in every fourth
    #[arg(long)]
    pub(crate) cluster_api: bool,
    /// Print the figures at the end, as one line of JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the logs of the hosts, filtered by RUST_LOG
    #[arg(long)]
    pub(crate) log: bool,
}

impl Options {
    /// The run of this seed.
    pub(crate) fn plan(&self, seed: u64) -> Plan {
        let plan = Plan::new(seed, self.machines as usize, self.chaos());
        let plan = if self.cluster_api { plan.with_cluster_api() } else { plan };
        match self.plant {
            Some(bug) => plan.with(bug),
            None => plan,
        }
    }

    /// Simulated time with faults.
    pub(crate) fn chaos(&self) -> Duration {
        Duration::from_secs_f64(self.hours * 3600.0)
    }

    /// Returns the options that repeat the run of this seed, and nothing else.
    pub(crate) fn command(&self, seed: u64) -> String {
        let Self { machines, hours, .. } = self;
        let cluster_api = if self.cluster_api { " --cluster-api" } else { "" };
        let bug = self.plant.map(|bug| format!(" --plant {}", name(bug))).unwrap_or_default();
        format!(
            "cargo xtask sim --seeds 1 --seed {seed} --machines {machines} --hours {hours}{cluster_api}{bug}"
        )
    }
}

fn hours(text: &str) -> Result<f64, String> {
    let hours: f64 = text.parse().map_err(|_| "is not a number".to_owned())?;
    if (0.01..=100_000.0).contains(&hours) {
        Ok(hours)
    } else {
        Err("must be from 0.01 to 100000".to_owned())
    }
}

fn bug(text: &str) -> Result<Planted, String> {
    let names = || Planted::ALL.iter().copied().map(name).collect::<Vec<_>>().join(", ");
    let found = Planted::ALL.iter().copied().find(|bug| name(*bug) == text);
    found.ok_or_else(|| format!("is none of {}", names()))
}

/// As it is written on the command line: `CreatesTwice` is `creates-twice`.
fn name(bug: Planted) -> String {
    let mut name = String::new();
    for letter in format!("{bug:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(command: &str) -> Options {
        let rest = command.strip_prefix("cargo xtask sim ").unwrap();
        Options::try_parse_from(std::iter::once("sim").chain(rest.split(' '))).unwrap()
    }

    #[test]
    fn the_command_that_repeats_a_run_asks_for_the_same_run() {
        for hours in ["3", "0.3333", "168", "0.01"] {
            let asked = parsed(&format!(
                "cargo xtask sim --seeds 9 --machines 12 --hours {hours} --cluster-api --plant never-deletes"
            ));
            let again = parsed(&asked.command(7));
            assert_eq!(again, Options { seeds: 1, seed: 7, ..asked.clone() });
            assert_eq!(again.chaos(), asked.chaos());
        }
    }

    #[test]
    fn every_planted_bug_has_a_name_of_its_own() {
        for planted in Planted::ALL {
            assert_eq!(bug(&name(*planted)), Ok(*planted));
        }
        assert!(bug("none").unwrap_err().contains("creates-twice"));
    }
}

//! A week of ten thousand Machines in the simulator: how long it takes to compute.
//!
//! The simulator is a program of its own, built as `cargo xtask sim` builds it. Two short runs are measured, one some
//! hours longer than the other: what both have in common is the beginning and the calm at the end, and the difference
//! is what these hours cost.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

const WEEK_HOURS: f64 = 168.0;
const SHORT_HOURS: f64 = 1.0;
/// One hour more is not enough: whether a class is broken in it, or a host dies, is most of what it costs.
const LONG_HOURS: f64 = 4.0;

/// The simulator's own figures.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SimRun {
    pub(crate) machines: u64,
    pub(crate) simulated_hours: f64,
    pub(crate) machine_hours: f64,
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
    pub(crate) most_megabytes: f64,
    pub(crate) calls: u64,
    pub(crate) vms: u64,
    pub(crate) faults: BTreeMap<String, u64>,
}

/// The same cluster under the same seed, for an hour and for some more.
#[derive(Clone, Debug)]
pub(crate) struct Week {
    pub(crate) short: SimRun,
    pub(crate) long: SimRun,
}

impl Week {
    /// Processor time of an hour, in seconds.
    pub(crate) fn an_hour(&self) -> f64 {
        (self.long.processor_seconds - self.short.processor_seconds) / (LONG_HOURS - SHORT_HOURS)
    }

    /// Processor time of a week, in seconds, from the runs that were made.
    pub(crate) fn whole(&self) -> f64 {
        self.long.processor_seconds + (WEEK_HOURS - LONG_HOURS) * self.an_hour()
    }
}

pub(crate) fn measure() -> Result<Week> {
    Ok(Week { short: hours(SHORT_HOURS)?, long: hours(LONG_HOURS)? })
}

fn hours(hours: f64) -> Result<SimRun> {
    eprintln!("week: 10000 Machines for {hours} h, after building the simulator");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["xtask", "sim", "--seeds", "1", "--machines", "10000", "--json", "--hours"])
        .arg(hours.to_string())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start the simulator")?;
    let said = String::from_utf8(output.stdout).context("the simulator wrote no text")?;
    ensure!(output.status.success(), "a rule was broken:\n{said}");
    parse(&said)
}

/// The last line is for programs.
fn parse(said: &str) -> Result<SimRun> {
    let line = said.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("these are no figures of the simulator: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_is_what_it_begins_with_and_as_many_hours_as_are_left() {
        let figures = |processor_seconds| SimRun {
            machines: 10,
            simulated_hours: 1.0,
            machine_hours: 10.0,
            seconds: 1.0,
            processor_seconds,
            most_megabytes: 1.0,
            calls: 1,
            vms: 1,
            faults: BTreeMap::new(),
        };
        let week = Week { short: figures(50.0), long: figures(59.0) };
        assert_eq!((week.an_hour(), week.whole()), (3.0, 59.0 + 164.0 * 3.0));
    }

    #[test]
    fn figures_are_the_last_line_and_anything_else_is_refused() {
        let line =
            r#"{"machines":10,"simulatedHours":2.0,"machineHours":20.0,"seconds":1.5,"processorSeconds":1.4,
            "mostMegabytes":20.0,"calls":7,"vms":12,"faults":{"409":3}}"#
                .replace('\n', "");
        let figures = parse(&format!("seeds 1\n\nall is well\n{line}\n")).unwrap();
        assert_eq!((figures.machines, figures.vms, figures.faults["409"]), (10, 12, 3));
        assert!(parse("seeds 1\n").unwrap_err().to_string().contains("seeds 1"));
    }
}

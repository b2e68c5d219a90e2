//! A week of ten thousand Machines in the simulator: how long it takes to compute.
//!
//! The simulator is a program of its own, built as `cargo xtask sim` builds it.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// One cluster, one seed.
const ASKED: [&str; 9] = ["xtask", "sim", "--seeds", "1", "--machines", "10000", "--hours", "168", "--json"];

/// What the simulator says of itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figures {
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

pub(crate) fn measure() -> Result<Figures> {
    eprintln!("week: building the simulator, then a week of 10000 Machines");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(ASKED)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .context("failed to start the simulator")?;
    let said = String::from_utf8(output.stdout).context("the simulator wrote no text")?;
    ensure!(output.status.success(), "a rule was broken within the week:\n{said}");
    parse(&said)
}

/// The last line is for programs.
fn parse(said: &str) -> Result<Figures> {
    let line = said.lines().last().unwrap_or_default();
    serde_json::from_str(line).with_context(|| format!("these are no figures of the simulator: {line:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

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

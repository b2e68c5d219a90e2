//! The last lines of the output.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};
use sim::Report;

use super::{Cost, Options};

pub(crate) struct Summary<'a> {
    options: &'a Options,
    reports: &'a [Report],
    seconds: f64,
    processor_seconds: f64,
    most_megabytes: f64,
    faults: BTreeMap<&'static str, u64>,
}

impl<'a> Summary<'a> {
    pub(crate) fn of(options: &'a Options, reports: &'a [Report], cost: &Cost) -> Self {
        let mut faults = BTreeMap::new();
        for (name, count) in reports.iter().flat_map(|report| &report.faults) {
            *faults.entry(*name).or_default() += count;
        }
        let (seconds, processor_seconds) = (cost.took().as_secs_f64(), cost.processor_seconds());
        let most_megabytes = cost.most_megabytes();
        Self { options, reports, seconds, processor_seconds, most_megabytes, faults }
    }

    pub(crate) fn table(&self) -> String {
        let Self { options, reports, seconds, .. } = self;
        let (hours, faults) = (self.machine_hours(), self.all_faults());
        let mut text = String::new();
        let mut line = |what: &str, figure: String| {
            // A String takes everything.
            let _ = writeln!(text, "{what:<17} {figure}");
        };
        line("seeds", format!("{} from {}, in {seconds:.1} s", reports.len(), options.seed));
        line("seeds per second", format!("{:.2}", reports.len() as f64 / seconds));
        line(
            "processor time",
            format!("{:.1} s, {:.0} MB at most", self.processor_seconds, self.most_megabytes),
        );
        line("machine-hours", format!("{hours:.0} simulated, {:.0} per second", hours / seconds));
        line("calls", format!("{}, {:.0} per second", self.calls(), self.calls() as f64 / seconds));
        line("VMs made", format!("{}, {:.2} a Machine", self.vms(), self.vms() as f64 / self.machines()));
        line("faults injected", format!("{faults}, {:.3} a machine-hour", faults as f64 / hours));
        for (name, count) in &self.faults {
            line(&format!("  {name}"), count.to_string());
        }
        if let [report] = reports {
            line("trace", format!("{:016x}", report.hash));
        }
        text
    }

    /// The last line of all, when nothing failed.
    pub(crate) fn sentence(&self) -> String {
        format!(
            "{} seeds in {:.1} s, {:.2} a second: {:.0} machine-hours with {} faults, and all rules held",
            self.reports.len(),
            self.seconds,
            self.reports.len() as f64 / self.seconds,
            self.machine_hours(),
            self.all_faults(),
        )
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "seeds": self.reports.len(),
            "failed": self.reports.iter().filter(|report| report.violation.is_some()).count(),
            "machines": self.options.machines,
            "hours": self.options.hours,
            "simulatedHours": self.reports.iter().map(|report| report.simulated.as_secs_f64() / 3600.0).sum::<f64>(),
            "machineHours": self.machine_hours(),
            "seconds": self.seconds,
            "processorSeconds": self.processor_seconds,
            "mostMegabytes": self.most_megabytes,
            "calls": self.calls(),
            "vms": self.vms(),
            "faults": self.faults,
        })
    }

    fn machine_hours(&self) -> f64 {
        self.reports.iter().map(Report::machine_hours).sum()
    }

    fn machines(&self) -> f64 {
        self.reports.iter().map(|report| report.machines as f64).sum()
    }

    fn calls(&self) -> usize {
        self.reports.iter().map(|report| report.calls).sum()
    }

    fn vms(&self) -> u64 {
        self.reports.iter().map(|report| report.vms).sum()
    }

    fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }
}

/// A failure, all about it; the command that repeats it is the last line.
pub(crate) fn failure_text(options: &Options, report: &Report) -> String {
    let (seed, command) = (report.seed, options.command(report.seed));
    format!("{}\n\nseed {seed} failed{}\nrepeat it with: {command}", report.story, violation(report))
}

/// Which rule was broken, how and when.
pub(crate) fn violation(report: &Report) -> String {
    report.violation.as_ref().map(|violation| format!(": {violation}")).unwrap_or_default()
}

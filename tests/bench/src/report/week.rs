//! The part about a week in the simulator.

use super::{float, heading, row, table};
use crate::week::Figures;

/// Aims of the figures.
const MOST_SECONDS: f64 = 600.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        &format!("A week of {} Machines in the simulator", figures.machines),
        &format!(
            "{:.0} simulated hours: a week with users, faults and outages, then the calm in which everything must come to rest, on one \
             thread. {} requests and calls of the hosts, {} VMs made.",
            figures.simulated_hours, figures.calls, figures.vms,
        ),
    );
    table(page, &["what", "figure", "aim"]);
    let (seconds, busy) = (figures.seconds, figures.processor_seconds);
    row(page, "a week, in seconds", format!("**{seconds:.0}**"), Some((MOST_SECONDS, seconds)));
    row(page, "of this on a processor", format!("{busy:.0}"), Some((MOST_SECONDS, busy)));
    row(page, "simulated time to real time", format!("{:.0}", figures.simulated_hours * 3600.0 / seconds), None);
    row(page, "machine-hours a second", format!("{:.0}", figures.machine_hours / seconds), None);
    row(page, "memory", format!("{:.0} MB", figures.most_megabytes), None);
    let faults: u64 = figures.faults.values().sum();
    row(page, "faults", format!("{faults}"), None);
    row(page, "faults a machine-hour", format!("{:.3}", float(faults) / figures.machine_hours), None);
    for (name, count) in &figures.faults {
        row(page, &format!("fault: {name}"), count, None);
    }
}

//! The part about a week in the simulator.

use super::{float, heading, row, table};
use crate::week::Week;

/// Aims of the figures.
const MOST_SECONDS: f64 = 600.0;

pub(super) fn render(page: &mut String, week: &Week) {
    let figures = &week.long;
    heading(
        page,
        &format!("A week of {} Machines in the simulator", figures.machines),
        &format!(
            "Not run whole: two runs of the same seed, of one and of some more hours with users, faults and outages, each with its calm in \
             which everything must come to rest, on one thread. The longer one: {:.1} simulated hours, {} requests and calls of the \
             hosts, {} VMs made.",
            figures.simulated_hours, figures.calls, figures.vms,
        ),
    );
    table(page, &["what", "figure", "aim"]);
    row(page, "processor time of the shorter run", format!("{:.1} s", week.short.processor_seconds), None);
    row(page, "processor time of the longer run", format!("{:.1} s", figures.processor_seconds), None);
    row(page, "so an hour costs", format!("**{:.1} s**", week.an_hour()), None);
    let whole = week.whole();
    row(page, "and a week, in seconds", format!("**{whole:.0}**"), Some((MOST_SECONDS, whole)));
    row(page, "machine-hours a second", format!("{:.0}", figures.machine_hours / figures.seconds), None);
    row(page, "memory", format!("{:.0} MB", figures.most_megabytes), None);
    let faults: u64 = figures.faults.values().sum();
    row(page, "faults", format!("{faults}"), None);
    row(page, "faults a machine-hour", format!("{:.3}", float(faults) / figures.machine_hours), None);
    for (name, count) in &figures.faults {
        row(page, &format!("fault: {name}"), count, None);
    }
}

//! The part about loading and swapping.

use std::time::Duration;

use super::{heading, line, millis, row, secs, table, verdict};
use crate::swaps::{Figures, Load};

/// Of a driver in Rust whose code is in the cache.
const CACHED: Duration = Duration::from_millis(5);

pub(super) fn render(page: &mut String, figures: &Figures) {
    render_loads(page, &figures.loads);
    render_changes(page, figures);
    render_under_load(page, figures);
}

fn render_loads(page: &mut String, loads: &[Load]) {
    heading(
        page,
        "Loading a driver",
        "From its declaration until its first answer, the one to `describe`: unpacked, hashed, verified, its code loaded (or compiled \
         in a child process, at low priority), linked and called. Unpacking and hashing alone, in plain Rust, stand beside. Times in ms.",
    );
    table(
        page,
        &[
            "driver",
            "KiB",
            "cached, median",
            "p99",
            "unpacking alone, median",
            "compiled, median",
            "aim for cached",
        ],
    );
    for load in loads {
        let cached = load.cached.median();
        line(
            page,
            format_args!(
                "| {} | {} | **{}** | {} | {} | {} | below {}: {} |",
                load.driver,
                load.size_bytes / 1024,
                millis(cached),
                millis(load.cached.p99()),
                millis(load.unpacking.median()),
                millis(load.new.median()),
                CACHED.as_millis(),
                verdict(cached < CACHED),
            ),
        );
    }
}

fn render_changes(page: &mut String, figures: &Figures) {
    heading(
        page,
        "From the change of a ConfigMap to the first call",
        "The whole program on a real kube-apiserver. The ConfigMap of a driver without network is changed while Machines are created \
         without pause; the first Machine whose VM the changed driver made is seen by a watch. Times in ms.",
    );
    table(page, &["change", "median", "longest", "aim"]);
    for change in &figures.changes {
        let median = change.times.median();
        line(
            page,
            format_args!(
                "| {} | **{}** | {} | below {}: {} |",
                change.what,
                millis(median),
                millis(change.times.longest()),
                change.aim.as_millis(),
                verdict(median < change.aim),
            ),
        );
    }
}

fn render_under_load(page: &mut String, figures: &Figures) {
    let outcome = &figures.under_load;
    heading(
        page,
        &format!("{} swaps under {} calls in flight", outcome.swaps, outcome.callers),
        "Two versions of the driver of the simulated cloud in turn, each from the cache, while creates are in flight without pause. What \
         was asked is counted by the callers, what was done by the cloud.",
    );
    table(page, &["what", "figure", "aim"]);
    let failed: u64 = outcome.failed.values().sum();
    row(page, "all swaps", format!("{:.2} s", secs(outcome.took)), None);
    row(page, "calls", outcome.calls, None);
    row(page, "calls that failed", failed, Some((0.0, super::float(failed))));
    let doubled = outcome.cloud_calls.saturating_sub(outcome.calls) + outcome.duplicates;
    row(page, "calls that were doubled", doubled, Some((0.0, super::float(doubled))));
    row(page, "requests to the cloud, VMs", format!("{}, {}", outcome.cloud_calls, outcome.created), None);
}

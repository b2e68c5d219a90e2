//! The part about a host that has nothing to do.

use super::{heading, megabytes, row, secs, table};
use crate::idle::Figures;

/// Aims of the figures.
const REQUESTS_A_SECOND: f64 = 1.0;
/// Near zero.
const CPU_PERCENT: f64 = 1.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        &format!("A host with {} Machines that run", figures.machines),
        &format!(
            "Nothing happens for {:.0} s but that kubelets report every five minutes.",
            secs(figures.time)
        ),
    );
    table(page, &["what", "figure", "aim"]);
    let requests = figures.requests_a_second;
    row(
        page,
        "API requests a second beside its Leases",
        format!("**{requests:.3}**"),
        Some((REQUESTS_A_SECOND, requests)),
    );
    let cpu = figures.cpu_share * 100.0;
    row(page, "CPU, in percent of a core", format!("**{cpu:.2}**"), Some((CPU_PERCENT, cpu)));
    row(page, "memory of the host", format!("{:.1} MB", megabytes(figures.rss_bytes)), None);
}

//! The part about Machines without pods.

use super::{count, float, heading, row, secs, spread, table};
use crate::deletions::Figures;

/// Aims of the figures.
const BEYOND_CLOUD_SECS: f64 = 2.0;
const CREATION_WRITES: f64 = 7.0;
const DELETION_WRITES: f64 = 8.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        "Machines without pods, from delete to gone",
        &format!(
            "Real etcd and kube-apiserver. The cloud takes {:.1} s from the order until a VM is gone: that is its own time. Times are \
             those of one Machine after the other, each older than the driver's consistency window; writes are those of {} Machines at once, Events, Leases and evictions apart.",
            secs(figures.cloud),
            figures.machines,
        ),
    );
    table(page, &["what", "figure", "aim"]);
    row(page, "delete until gone, median / p99 / longest", spread(&figures.gone), None);
    let beyond = secs(figures.gone.p99().saturating_sub(figures.cloud));
    row(
        page,
        "of this beyond the cloud's own time, p99",
        format!("**{beyond:.2} s**"),
        Some((BEYOND_CLOUD_SECS, beyond)),
    );
    for (what, requests, aim) in [
        ("writes of the host a Machine from create to Running", &figures.creation, CREATION_WRITES),
        ("writes of the host a Machine from delete to gone", &figures.deletion, DELETION_WRITES),
    ] {
        let each = float(requests.writes_beside_evictions()) / count(figures.machines);
        row(page, what, format!("**{each:.2}**"), Some((aim, each)));
    }
    for (what, requests) in [("creation", &figures.creation), ("deletion without pods", &figures.deletion)] {
        heading(page, &format!("Requests of a {what}"), "By the host's own counters.");
        super::requests(page, requests, figures.machines);
    }
}

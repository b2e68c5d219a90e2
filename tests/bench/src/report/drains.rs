//! The part about drains.

use super::{count, float, heading, megabytes, millis, row, secs, spread, table};
use crate::drains::{EXIT, Figures, Flight, PODS};

/// Aims of the figures.
const DELETION_WRITES: f64 = 8.0;
const WALL_RATIO: f64 = 3.0;
/// A few hundred.
const FLIGHT_PEAK_MB: f64 = 300.0;
/// Other Machines go on as if nothing were.
const LIFE_RATIO: f64 = 2.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        &format!("{} Machines with {PODS} pods each, from delete to gone", figures.machines),
        &format!(
            "Real etcd and kube-apiserver; kubelets end pods {:.1} s after they are asked to; all Machines are deleted at once. The plain \
             client makes the host's writes of the same kinds, the evictions and the kubelets' removals, and waits for no pod and no VM; \
             the host is stopped meanwhile.",
            secs(EXIT)
        ),
    );
    table(page, &["what", "figure", "aim"]);
    let (wall, plain) = (secs(figures.wall), secs(figures.baseline.wall));
    row(page, "delete until all are gone", format!("{wall:.2} s"), None);
    row(page, "plain client", format!("{plain:.2} s for {} writes", figures.baseline.writes), None);
    row(page, "ratio", format!("**{:.2}**", wall / plain), Some((WALL_RATIO, wall / plain)));
    row(page, "one Machine, median / p99 / longest", spread(&figures.each), None);
    row(
        page,
        "pods that their kubelets have ended",
        format!("{} of {}", figures.ended, figures.machines * PODS),
        None,
    );
    let each = float(figures.requests.writes_beside_evictions()) / count(figures.machines);
    row(
        page,
        "writes of the host a Machine, evictions apart",
        format!("**{each:.2}**"),
        Some((DELETION_WRITES, each)),
    );
    let (idle, peak) = (megabytes(figures.idle_bytes), megabytes(figures.peak_bytes));
    row(
        page,
        "peak memory of the host",
        format!("**{peak:.1} MB** ({idle:.1} MB before the first deletion)"),
        None,
    );
    let cpu = &figures.cpu;
    row(
        page,
        "CPU of the host; of API server and etcd",
        format!("{:.2} s; {:.2} s and {:.2} s", secs(cpu.host), secs(cpu.api_server), secs(cpu.etcd)),
        None,
    );
    row(page, "cores busy with something else", format!("{:.2}", cpu.others), None);
    heading(page, "Requests of a deletion with pods", "By the host's own counters.");
    super::requests(page, &figures.requests, figures.machines);
    render_flight(page, &figures.flight);
}

fn render_flight(page: &mut String, flight: &Flight) {
    heading(
        page,
        &format!("{} drains in flight", flight.drains),
        &format!(
            "{PODS} pods a Machine that were asked to end and do not. Other Machines without pods live meanwhile, one after the other."
        ),
    );
    table(page, &["what", "figure", "aim"]);
    let peak = megabytes(flight.peak_bytes);
    row(
        page,
        "peak memory of the one process",
        format!("**{peak:.1} MB** ({:.1} MB before the first deletion)", megabytes(flight.before_bytes)),
        Some((FLIGHT_PEAK_MB, peak)),
    );
    row(page, "delete until all pods are asked to end", format!("{:.2} s", secs(flight.asked)), None);
    for (what, before, meanwhile) in [
        ("another Machine, create until Running", &flight.running_before, &flight.running_meanwhile),
        ("another Machine, delete until gone", &flight.gone_before, &flight.gone_meanwhile),
    ] {
        let figure = format!(
            "{} ms, {} ms without drains (medians; p99 {} ms and {} ms)",
            millis(meanwhile.median()),
            millis(before.median()),
            millis(meanwhile.p99()),
            millis(before.p99()),
        );
        row(page, what, figure, None);
        let ratio = secs(meanwhile.median()) / secs(before.median());
        row(page, "ratio of the medians", format!("**{ratio:.2}**"), Some((LIFE_RATIO, ratio)));
    }
    let requests = format!("{:.2}", flight.requests_a_second);
    row(page, "requests a second beside Leases, while nothing happens", requests, None);
    row(page, "CPU meanwhile", format!("{:.1} % of a core", flight.cpu_share * 100.0), None);
}

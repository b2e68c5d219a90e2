//! The part about Machines.

use super::{count, float, heading, line, megabytes, row, secs, spread, table};
use crate::machines::{Figures, Troubled};

/// Aims of the first figures.
const WALL_RATIO: f64 = 3.0;
const WRITES: f64 = 7.0;
const REQUESTS: f64 = 10.0;
const CLOUD_CALLS: f64 = 3.0;
const PEAK_MB: f64 = 80.0;

pub(super) fn render(page: &mut String, figures: &Figures) {
    render_machines(page, figures);
    render_requests(page, figures);
    render_troubled(page, &figures.troubled);
}

fn render_machines(page: &mut String, figures: &Figures) {
    heading(
        page,
        &format!("{} Machines from create to Running", figures.machines),
        &format!(
            "Real etcd and kube-apiserver ({}) without kube-controller-manager; the cloud answers a create after 20 ms and boots in \
             500 ms; kubelets join with the token out of their user data; the host runs under its least-privilege account. \
             {} Machines are created at the same time. The plain client creates as many Machines and makes the host's \
             writes of the same kinds, one Machine's in sequence, {} Machines at once, and neither reads nor watches; the host \
             is stopped meanwhile.",
            figures.api_server, figures.baseline.concurrency, figures.baseline.concurrency,
        ),
    );
    table(page, &["what", "figure", "aim"]);
    let count = count(figures.machines);
    let (wall, plain) = (figures.wall.as_secs_f64(), figures.baseline.wall.as_secs_f64());
    row(page, "create until all are Running", format!("{wall:.2} s"), None);
    row(page, "plain client", format!("{plain:.2} s for {} writes", figures.baseline.writes), None);
    row(page, "ratio", format!("**{:.2}**", wall / plain), Some((WALL_RATIO, wall / plain)));
    row(page, "one Machine, median / p99 / longest", spread(&figures.each), None);
    let requests = &figures.requests;
    for (what, total, aim) in [
        ("writes of the host a Machine", requests.writes(), WRITES),
        ("requests of the host a Machine", requests.total(), REQUESTS),
        ("cloud calls a Machine", figures.cloud_calls(), CLOUD_CALLS),
    ] {
        let each = float(total) / count;
        row(page, what, format!("**{each:.2}**"), Some((aim, each)));
    }
    row(page, "duplicate VMs", figures.duplicates.to_string(), Some((0.0, float(figures.duplicates))));
    let peak = megabytes(figures.peak_bytes);
    let memory =
        format!("**{peak:.1} MB** ({:.1} MB before the first of them)", megabytes(figures.idle_bytes));
    row(page, "peak memory of the host", memory, Some((PEAK_MB, peak)));
    let (cpu, baseline) = (&figures.cpu, &figures.baseline);
    row(page, "CPU of the host", format!("{:.2} s", secs(cpu.host)), None);
    let servers = format!(
        "{:.2} s and {:.2} s; plain client: {:.2} s for the API server",
        secs(cpu.api_server),
        secs(cpu.etcd),
        secs(baseline.api_server_cpu)
    );
    row(page, "CPU of API server and etcd", servers, None);
    let others = format!(
        "{:.2} s; plain client: {:.2} s for client, cloud and kubelets",
        secs(cpu.bench),
        secs(baseline.client_cpu)
    );
    row(page, "CPU of cloud, kubelets and whoever creates and watches", others, None);
    let busy = format!("{:.2}; plain client: {:.2} (with etcd)", cpu.others, baseline.others);
    row(page, "cores busy with something else", busy, None);
}

fn render_requests(page: &mut String, figures: &Figures) {
    heading(
        page,
        "Requests a Machine",
        "By the host's own counters, until it has nothing more to ask. Events, Leases and watches are not part of the sums \
         above.",
    );
    super::requests(page, &figures.requests, figures.machines);
    let count = count(figures.machines);
    for (operation, calls) in &figures.cloud {
        line(page, format_args!("| cloud: {operation} | {:.3} |", float(*calls) / count));
    }
}

fn render_troubled(page: &mut String, troubled: &[Troubled]) {
    heading(
        page,
        "Clouds in trouble",
        "Exactly one VM for each Machine is the aim, whatever the cloud does.",
    );
    table(page, &["cloud", "Machines", "VMs created", "duplicates", "until all are Running"]);
    for Troubled { what, machines, wall, vms, duplicates } in troubled {
        line(page, format_args!("| {what} | {machines} | {vms} | {duplicates} | {:.2} s |", secs(*wall)));
    }
}

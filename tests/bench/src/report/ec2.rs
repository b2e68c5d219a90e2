//! The part about Machines on EC2.

use super::{count, float, heading, line, row, secs, spread, table};
use crate::machines::ec2::Figures;

pub(super) fn render(page: &mut String, figures: &Figures) {
    let baseline = &figures.baseline;
    heading(
        page,
        &format!("{} Machines on EC2, played by moto", figures.machines),
        &format!(
            "Real etcd and kube-apiserver; moto behind a proxy that verifies each signature; kubelets join with the token out of their \
             user data. {} Machines are created at the same time. The plain client makes the same requests of EC2, signed, \
             and as many writes of the same kinds, one Machine's in sequence, {} Machines at once; the host is stopped \
             meanwhile.",
            baseline.concurrency, baseline.concurrency,
        ),
    );
    table(page, &["what", "figure", "aim"]);
    let machines = count(figures.machines);
    let (wall, plain) = (secs(figures.wall), secs(baseline.wall));
    row(page, "create until all are Running", format!("{wall:.2} s"), None);
    row(page, "plain client", format!("{plain:.2} s for {} writes", baseline.writes), None);
    row(page, "ratio", format!("**{:.2}**", wall / plain), None);
    row(page, "one Machine, median / p99 / longest", spread(&figures.each), None);
    row(
        page,
        "requests of the host to Kubernetes a Machine",
        format!("**{:.2}**", float(figures.requests.total()) / machines),
        None,
    );
    row(
        page,
        "requests of the driver to EC2 a Machine",
        format!("**{:.2}**", float(figures.cloud_requests()) / machines),
        None,
    );
    row(page, "instances", figures.created, None);
    row(page, "duplicate instances", figures.duplicates, Some((0.0, float(figures.duplicates))));
    line(page, format_args!(""));
    table(page, &["request", "a Machine"]);
    for (action, total) in &figures.actions {
        line(page, format_args!("| {action} | {:.3} |", float(*total) / machines));
    }
}

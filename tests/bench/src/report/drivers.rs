//! Drivers of clouds, beside plain clients.

use super::page::{at_most, none};
use super::{Page, Report, millis, per_machine, secs};
use crate::drivers::{DriverFigures, DriverOutcome};

/// The largest driver in Rust, in KiB.
const MOST_KIB: usize = 450;

impl Report for Vec<DriverOutcome> {
    fn write(&self, page: &mut Page) {
        let measured: Vec<&DriverFigures> = self
            .iter()
            .filter_map(|outcome| match outcome {
                DriverOutcome::Measured(figures) => Some(&**figures),
                DriverOutcome::LeftOut { .. } => None,
            })
            .collect();
        write_loads(page, &measured);
        write_lives(page, &measured);
        for outcome in self {
            if let DriverOutcome::LeftOut { cloud, why } = outcome {
                let why = why.lines().next().unwrap_or_default();
                page.line(format_args!("\n{cloud} is left out: {why}"));
            }
        }
    }
}

fn write_loads(page: &mut Page, measured: &[&DriverFigures]) {
    page.section(
        "The driver of each cloud: size, first call, memory",
        "From the declaration, while nothing serves the provider, to the answer of the first call, `validate-class`: of a component that was never compiled (in a child process, at low priority), \
         and from the cache. Memory is that of an instance of `get-status` that waits for its cloud.",
    );
    page.table(&[
        "cloud", "language", "KiB", "aim", "packed KiB", "new, s", "cached, ms", "p99", "resident KiB",
        "private KiB",
    ]);
    for figures in measured {
        let kib = figures.size_bytes / 1024;
        let aim = if figures.language == "Rust" { at_most(MOST_KIB, kib <= MOST_KIB) } else { String::new() };
        page.row(&[
            &figures.cloud,
            &figures.language,
            &kib,
            &aim,
            &(figures.packed_bytes / 1024),
            &format_args!("{:.2}", secs(figures.new.median())),
            &format_args!("**{}**", millis(figures.cached.median())),
            &millis(figures.cached.p99()),
            &figures.memory.resident_kib,
            &figures.memory.private_kib,
        ]);
    }
}

fn write_lives(page: &mut Page, measured: &[&DriverFigures]) {
    page.section(
        "Machines of each cloud, beside a plain client in the cloud's own library",
        "The whole program on a real kube-apiserver: from the first create until all are Running with their Nodes, and from the first delete until all are gone. The plain client makes as many VMs, 32 at a \
         time, and waits for each as its library does; it has neither objects nor Nodes. Requests to the cloud are for each Machine; \"fewest\" is what the API needs at least.",
    );
    page.table(&[
        "cloud", "Machines", "Running, s", "median", "plain client", "s", "**over plain**", "gone, s",
        "plain, s", "requests, created", "fewest", "requests, deleted", "fewest", "plain, both",
        "duplicates", "left", "aim",
    ]);
    for figures in measured {
        let (life, plain) = (&figures.life, &figures.plain);
        let each = |total: u64| format!("{:.2}", per_machine(total, life.machines));
        let lost = life.duplicates + u64::try_from(life.leftovers.len()).unwrap_or(u64::MAX);
        let (most, count) = none(lost);
        page.row(&[
            &figures.cloud,
            &life.machines,
            &format_args!("{:.1}", secs(life.running)),
            &format_args!("{:.1}", secs(life.each.median())),
            &figures.library,
            &format_args!("{:.1}", secs(plain.running)),
            &format_args!("**{:.2}**", figures.over_plain()),
            &format_args!("{:.1}", secs(life.gone)),
            &format_args!("{:.1}", secs(plain.gone)),
            &each(life.requests_created),
            &figures.fewest[0],
            &each(life.requests_deleted),
            &figures.fewest[1],
            &each(plain.requests),
            &life.duplicates,
            &life.leftovers.len(),
            &at_most(most, count <= most),
        ]);
    }
}

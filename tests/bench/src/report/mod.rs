//! The figures as a Markdown page: a section for each part, in the order in which they are measured.
//!
//! | module | content |
//! | --- | --- |
//! | `page` | a Markdown page of tables |
//! | `plugins` | calls, loads, languages, attacks and signing |
//! | `machines` | Machines, drains, an idle host, and a week in the simulator |
//! | `deployments` | growth, rollouts, scale-downs, and many MachineDeployments |
//! | `infra` | MachinistMachines from create to provisioned, and an idle host |
//! | `drivers` | the driver of each cloud, beside a plain client |
//! | `faults` | clouds that refuse and fail, a killed host, Events and requests to the cloud |

mod deployments;
mod drivers;
mod faults;
mod infra;
mod machines;
mod page;
mod plugins;

use std::time::Duration;

use crate::conditions::Conditions;
use crate::times::Times;

pub(crate) use page::Page;

/// Figures of one part.
pub(crate) trait Report {
    fn write(&self, page: &mut Page);
}

/// A page that says on what machine it was measured.
pub(crate) fn start(conditions: &Conditions) -> Page {
    let mut page = Page::default();
    page.line(
        "# Figures\n\nWritten by `cargo xtask bench -- --write`. Compare ratios, not seconds: each figure stands beside a \
         baseline of the same run.\n",
    );
    page.line(format_args!(
        "Conditions: {}, {} cores, {} GiB of memory, load {} at the start, {} build, machinist {}, wasmtime {}, \
         kube {}. Everything runs on the same cores.",
        conditions.date,
        conditions.cores,
        conditions.memory_gib,
        conditions.load,
        if cfg!(debug_assertions) { "DEBUG" } else { "release" },
        env!("CARGO_PKG_VERSION"),
        conditions.wasmtime,
        conditions.kube,
    ));
    page
}

/// Median, 99th percentile and longest.
fn spread(times: &Times) -> String {
    format!("{:.2} / {:.2} / {:.2} s", secs(times.median()), secs(times.p99()), secs(times.longest()))
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", secs(time))
}

fn micros(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e6)
}

fn millis(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1e3)
}

fn secs(time: Duration) -> f64 {
    time.as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

fn count(machines: usize) -> f64 {
    float(u64::try_from(machines).unwrap_or(u64::MAX))
}

fn per_machine(total: u64, machines: usize) -> f64 {
    float(total) / count(machines)
}

fn megabytes(bytes: u64) -> f64 {
    float(bytes) / 1e6
}

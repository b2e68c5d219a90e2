//! The figures as a page.

mod attacks;
mod calls;
mod deletions;
mod deployments;
mod drains;
mod ec2;
mod faults;
mod idle;
mod languages;
mod machines;
mod signing;
mod swaps;
mod week;

use std::fmt::Write as _;
use std::time::Duration;

use crate::Figures;
use crate::conditions::Conditions;
use crate::machines::Requests;
use crate::times::Times;

/// A Markdown page with what was measured.
pub(crate) fn render(conditions: &Conditions, figures: &Figures) -> String {
    let mut page = String::from(
        "# Figures\n\nWritten by `cargo xtask bench -- --write`. Compare ratios, not seconds: each figure stands beside a \
         baseline of the same run.\n\n",
    );
    line(
        &mut page,
        format_args!(
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
        ),
    );
    if let Some(figures) = &figures.calls {
        calls::render(&mut page, figures);
    }
    if let Some(figures) = &figures.swaps {
        swaps::render(&mut page, figures);
    }
    if let Some(outcomes) = &figures.languages {
        languages::render(&mut page, outcomes);
    }
    if let Some(figures) = &figures.attacks {
        attacks::render(&mut page, figures);
    }
    if let Some(figures) = &figures.signing {
        signing::render(&mut page, figures);
    }
    if let Some(figures) = &figures.machines {
        machines::render(&mut page, figures);
    }
    if let Some(figures) = &figures.deletions {
        deletions::render(&mut page, figures);
    }
    if let Some(figures) = &figures.drains {
        drains::render(&mut page, figures);
    }
    if let Some(figures) = &figures.faults {
        faults::render(&mut page, figures);
    }
    if let Some(figures) = &figures.idle {
        idle::render(&mut page, figures);
    }
    deployments::render(&mut page, figures);
    if let Some(figures) = &figures.ec2 {
        ec2::render(&mut page, figures);
    }
    if let Some(figures) = &figures.week {
        week::render(&mut page, figures);
    }
    page
}

/// Writing to a text cannot fail.
fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(page, "{text}");
}

fn heading(page: &mut String, title: &str, text: &str) {
    line(page, format_args!("\n## {title}\n\n{text}\n"));
}

/// The head of a table.
fn table(page: &mut String, columns: &[&str]) {
    line(page, format_args!("| {} |", columns.join(" | ")));
    line(page, format_args!("|{}", " --- |".repeat(columns.len())));
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "**missed**" }
}

fn row(page: &mut String, what: &str, figure: impl std::fmt::Display, aim: Option<(f64, f64)>) {
    let aim = aim.map_or(String::new(), |(most, is)| format!("at most {most}: {}", verdict(is <= most)));
    line(page, format_args!("| {what} | {figure} | {aim} |"));
}

/// Median, 99th percentile and longest.
fn spread(times: &Times) -> String {
    format!("{:.2} / {:.2} / {:.2} s", secs(times.median()), secs(times.p99()), secs(times.longest()))
}

/// A table of what was asked for each Machine.
fn requests(page: &mut String, requests: &Requests, machines: usize) {
    table(page, &["request", "a Machine"]);
    for (request, total) in &requests.0 {
        let failed = request.failed.as_ref().map(|code| format!(", answered by {code}")).unwrap_or_default();
        let apart = if request.is_apart() { " (apart)" } else { "" };
        let each = float(*total) / count(machines);
        line(page, format_args!("| {} {}{failed}{apart} | {each:.3} |", request.verb, request.resource));
    }
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

fn megabytes(bytes: u64) -> f64 {
    float(bytes) / 1e6
}

//! The part about drivers in each language.

use std::time::Duration;

use super::{heading, line, micros, millis, secs, table, verdict};
use crate::languages::{Figures, Outcome};

/// From the declaration of a component that was never compiled to its first answer.
const NEW: Duration = Duration::from_secs(3);
/// A fresh instance, over the bare prototype.
const OVER_PROTOTYPE: f64 = 1.5;

pub(super) fn render(page: &mut String, outcomes: &[Outcome]) {
    let measured: Vec<&Figures> = outcomes
        .iter()
        .filter_map(|outcome| match outcome {
            Outcome::Measured(figures) => Some(&**figures),
            Outcome::LeftOut { .. } => None,
        })
        .collect();
    render_loads(page, &measured);
    render_calls(page, &measured);
    for outcome in outcomes {
        if let Outcome::LeftOut { language, why } = outcome {
            let why = why.lines().next().unwrap_or_default();
            line(page, format_args!("\n{language} is left out: {why}"));
        }
    }
}

fn render_loads(page: &mut String, measured: &[&Figures]) {
    heading(
        page,
        "The first call of a driver in each language",
        "The driver of the simulated cloud. From the declaration, while nothing serves the provider, to the answer of the first call: of a component that was never compiled \
         (in a child process, at low priority), and from the cache. Beside it, when optimised code has taken the place of the first.",
    );
    table(
        page,
        &[
            "language",
            "KiB",
            "packed",
            "new, s",
            "its code",
            "aim",
            "optimised after, s",
            "cached, ms",
            "p99",
            "aim",
        ],
    );
    for figures in measured {
        let aim = cached_aim(figures);
        let (new, cached) = (figures.new.median(), figures.cached.median());
        line(
            page,
            format_args!(
                "| {} | {} | {} | **{:.2}** | {} | below {}: {} | {:.2} | **{}** | {} | below {}: {} |",
                figures.language,
                figures.size_bytes / 1024,
                figures.packed_bytes / 1024,
                secs(new),
                figures.first_tier,
                NEW.as_secs(),
                verdict(new < NEW),
                secs(figures.optimised),
                millis(cached),
                millis(figures.cached.p99()),
                aim.as_millis(),
                verdict(cached < aim),
            ),
        );
    }
}

fn cached_aim(figures: &Figures) -> Duration {
    Duration::from_millis(if figures.language == "Rust" { 5 } else { 50 })
}

fn render_calls(page: &mut String, measured: &[&Figures]) {
    heading(
        page,
        "A call of a driver in each language",
        "In a fresh instance with optimised code, in turn with the same work in plain Rust: `validate-class`, and `get-status` with one HTTP request. Times in µs. The aim is set by a \
         bare prototype of the language. Memory is that of an instance that waits for its cloud.",
    );
    table(
        page,
        &[
            "language",
            "empty, median",
            "p99",
            "times plain Rust",
            "times the prototype",
            "aim",
            "with a request, median",
            "p99",
            "times plain Rust",
            "resident KiB",
            "private KiB",
        ],
    );
    for figures in measured {
        let (empty, request) = (&figures.empty, &figures.request);
        let ratio = times(empty.sandboxed.median(), figures.prototype);
        line(
            page,
            format_args!(
                "| {} | **{}** | {} | {:.0} | {ratio:.2} | at most {OVER_PROTOTYPE}: {} | **{}** | {} | {:.1} | {} | {} |",
                figures.language,
                micros(empty.sandboxed.median()),
                micros(empty.sandboxed.p99()),
                times(empty.sandboxed.median(), empty.native.median()),
                verdict(ratio <= OVER_PROTOTYPE),
                micros(request.sandboxed.median()),
                micros(request.sandboxed.p99()),
                times(request.sandboxed.median(), request.native.median()),
                figures.memory.resident_kib,
                figures.memory.private_kib,
            ),
        );
    }
}

fn times(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::MIN_POSITIVE)
}

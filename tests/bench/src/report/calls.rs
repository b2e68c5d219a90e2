//! The part about calls.

use super::{heading, line, micros, table, verdict};
use crate::calls::{Figures, Pair};

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        "A driver call in a fresh instance",
        "One call at a time, in turn with the same work in plain Rust (for the request: `reqwest` with pooled connections). \
         The server is one thread on loopback that answers at once. Times in µs.",
    );
    table(page, &["call", "sandboxed median", "p99", "plain median", "p99", "over plain, median", "aim"]);
    for pair in &figures.pairs {
        line(
            page,
            format_args!(
                "| {} | {} | {} | {} | {} | **{}** | {} |",
                pair.what,
                micros(pair.sandboxed.median()),
                micros(pair.sandboxed.p99()),
                micros(pair.native.median()),
                micros(pair.native.p99()),
                micros(pair.over_native()),
                aim_of(pair),
            ),
        );
    }
    let rounds = figures.pairs.first().map_or(0, |pair| pair.rounds);
    let (sandboxed, native) = figures.http_a_second;
    line(
        page,
        format_args!(
            "\n{rounds} calls each. With {} callers at the same time: {:.0} empty calls a second; {sandboxed:.0} calls with a \
             request, plain Rust {native:.0}.",
            figures.callers, figures.empty_a_second,
        ),
    );
}

fn aim_of(pair: &Pair) -> String {
    pair.aim.map_or("-".to_owned(), |aim| {
        format!("at most {}: {}", aim.as_micros(), verdict(pair.over_native() <= aim))
    })
}

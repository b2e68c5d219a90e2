//! The part about calls of a driver while another one attacks.

use std::time::Duration;

use super::{heading, line, micros, table, verdict};
use crate::attacks::{BLOCKS_A_RUN, CALLS_A_BLOCK, Figures, PAUSE_OF_CALLS, RUNS};

/// What others may notice at the 99th percentile.
const MOST: f64 = 1.10;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        "Calls of a driver while another one attacks",
        &format!(
            "`get-status` of the simulated cloud's driver with one HTTP request, one call at a time with {PAUSE_OF_CALLS:?} between two: {BLOCKS_A_RUN} blocks of {CALLS_A_BLOCK} calls by itself, in turn with as \
             many blocks during which the hostile driver is called over and over, without a pause and without being quarantined; {RUNS} such runs, of which the one with the middle ratio is \
             shown. The hostile cloud lets others go first: it stands for another machine. Times in µs.",
        ),
    );
    table(
        page,
        &[
            "attack",
            "callers",
            "attacks ended",
            "median alone",
            "during",
            "ratio",
            "p99 alone",
            "during",
            "ratio",
            "of all runs",
            "aim",
        ],
    );
    for measured in &figures.measured {
        let run = measured.run();
        let (alone, during, ratio) = (&run.alone, &run.during, run.ratio());
        let (least, most) = measured.range();
        line(
            page,
            format_args!(
                "| {} | {} | {} | {} | {} | {:.2} | {} | {} | **{ratio:.2}** | {least:.2} to {most:.2} | at most {MOST:.2}: {} |",
                measured.what,
                measured.callers,
                measured.attacks,
                micros(alone.median()),
                micros(during.median()),
                times(during.median(), alone.median()),
                micros(alone.p99()),
                micros(during.p99()),
                verdict(ratio <= MOST),
            ),
        );
    }
    line(page, format_args!("\nCores busy with something else meanwhile: {:.2}.", figures.others));
}

fn times(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64().max(f64::MIN_POSITIVE)
}

//! The part about signing.

use super::{float, heading, line, micros, table};
use crate::signing::Figures;

pub(super) fn render(page: &mut String, figures: &Figures) {
    heading(
        page,
        "Signing a request",
        "SigV4 as the host does it for each request that a driver marks, beside an unsigned request of the same size with `reqwest` \
         and pooled connections to a server on loopback that answers at once; in turn. Times in µs.",
    );
    table(page, &["what", "median", "p99"]);
    for (what, times) in [("signing", &figures.signing), ("an unsigned request", &figures.unsigned)] {
        line(page, format_args!("| {what} | {} | {} |", micros(times.median()), micros(times.p99())));
    }
    let ratio = figures.signing.median().as_secs_f64() / figures.unsigned.median().as_secs_f64();
    line(
        page,
        format_args!(
            "\n{} of each, with bodies of {:.0} KiB. At the median, signing takes **{ratio:.2}** of the time of a request to a server \
             that is next door and does nothing.",
            figures.rounds,
            float(figures.body_bytes as u64) / 1024.0,
        ),
    );
}

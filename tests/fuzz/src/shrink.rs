//! Makes an input that breaks a promise as short as it goes.

use std::time::{Duration, Instant};

use crate::caught;
use crate::target::{Shape, Target};

/// The longest time for attempts at a shorter input.
const LONGEST: Duration = Duration::from_secs(20);

/// Leaves out ever smaller parts, as long as the same promise stays broken.
pub(crate) fn shrunk(target: &Target, input: &[u8], what: &str) -> Vec<u8> {
    let (begun, wanted) = (Instant::now(), Shape::of(what));
    let is_broken =
        |input: &[u8]| caught::check(target, input).is_err_and(|found| Shape::of(&found) == wanted);
    let mut best = input.to_vec();
    let mut part = best.len().div_ceil(2);
    while part > 0 && begun.elapsed() < LONGEST {
        let mut at = 0;
        let mut has_shrunk = false;
        while at < best.len() && begun.elapsed() < LONGEST {
            let end = (at + part).min(best.len());
            let shorter = [best.get(..at).unwrap_or_default(), best.get(end..).unwrap_or_default()].concat();
            if is_broken(&shorter) {
                best = shorter;
                has_shrunk = true;
            } else {
                at = end;
            }
        }
        part = if has_shrunk && part == 1 { 1 } else { part / 2 };
    }
    best
}

//! Changes of XML by whole elements.

use std::ops::Range;

use super::words::{self, with};
use crate::rng::Rng;

/// `None`: there is no element.
pub(super) fn mutated(base: &[u8], other: &[u8], dictionary: &[&str], rng: &mut Rng) -> Option<Vec<u8>> {
    let element = an_element(base, rng)?;
    let text = base.get(element.clone())?;
    Some(match rng.below(7) {
        0 => with(base, element, b""),
        1 => with(base, element, &text.repeat(2 + rng.length(40))),
        2 => with(base, element, other.get(an_element(other, rng)?)?),
        3 => {
            let to = an_element(base, rng)?.start;
            with(base, to..to, text)
        }
        4 => {
            let inside = inside(text)?;
            let changed = words::mutated(text.get(inside.clone())?, other, dictionary, rng);
            with(base, element.start + inside.start..element.start + inside.end, &changed)
        }
        5 => {
            let inside = inside(text)?;
            with(base, element.start + inside.start..element.start + inside.end, b"")
        }
        _ => {
            let depth = 1 + rng.length(2_000);
            with(base, element, &[b"<a>".repeat(depth), text.to_vec(), b"</a>".repeat(depth)].concat())
        }
    })
}

/// An element with its end, chosen by chance.
fn an_element(text: &[u8], rng: &mut Rng) -> Option<Range<usize>> {
    let is_start = |pair: &[u8]| matches!(pair, [b'<', first] if first.is_ascii_alphabetic());
    let starts: Vec<usize> =
        text.windows(2).enumerate().filter(|(_, pair)| is_start(pair)).map(|(at, _)| at).collect();
    let start = *rng.pick(&starts)?;
    let rest = text.get(start..)?;
    let name_ends = rest.iter().position(|byte| b" >/\n\t".contains(byte))?;
    let tag_ends = rest.iter().position(|byte| *byte == b'>')? + 1;
    if rest.get(tag_ends.checked_sub(2)?) == Some(&b'/') {
        return Some(start..start + tag_ends);
    }
    let name = rest.get(1..name_ends)?;
    let (open, close) = ([b"<", name].concat(), [b"</", name, b">"].concat());
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(here) = rest.get(at..).filter(|here| !here.is_empty()) {
        let follows = here.get(open.len()).is_some_and(|byte| b" >/\n\t".contains(byte));
        if here.starts_with(&open) && follows {
            depth += 1;
        } else if here.starts_with(&close) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(start..start + at + close.len());
            }
        }
        at += 1;
    }
    None
}

/// The content between the tags of an element.
fn inside(element: &[u8]) -> Option<Range<usize>> {
    let start = element.iter().position(|byte| *byte == b'>')? + 1;
    let end = element.iter().rposition(|byte| *byte == b'<')?;
    (start <= end).then_some(start..end)
}

//! Changes of texts by words: runs of letters and digits, runs of blanks, and each other sign alone.

use std::ops::Range;

use super::unusual;
use crate::rng::Rng;

pub(super) fn mutated(base: &[u8], other: &[u8], dictionary: &[&str], rng: &mut Rng) -> Vec<u8> {
    let words = split(base);
    let at = rng.part(words.len());
    let part = bytes_of(&words, at.clone(), base.len());
    let piece = base.get(part.clone()).unwrap_or_default();
    let one = words.get(at.start).cloned().unwrap_or(part.start..part.start);
    match rng.below(8) {
        0 => with(base, part, b""),
        1 => with(base, part, &piece.repeat(2)),
        2 => with(base, one, unusual::text(dictionary, rng).as_bytes()),
        3 => with(base, one.start..one.start, unusual::text(dictionary, rng).as_bytes()),
        4 => {
            let words = split(other);
            let taken = bytes_of(&words, rng.part(words.len()), other.len());
            with(base, part, other.get(taken).unwrap_or_default())
        }
        5 => {
            let to = words.get(rng.below(words.len())).map_or(0, |word| word.start);
            with(base, to..to, piece)
        }
        6 => with(base, part.clone(), &piece.to_ascii_uppercase()),
        _ => with(
            base,
            one.clone(),
            &piece.repeat(1 + rng.length(300)).get(..4_000).map_or_else(|| piece.repeat(3), <[u8]>::to_vec),
        ),
    }
}

/// The base with something else in one place.
pub(super) fn with(base: &[u8], place: Range<usize>, new: &[u8]) -> Vec<u8> {
    let before = base.get(..place.start).unwrap_or(base);
    let behind = base.get(place.end..).unwrap_or_default();
    [before, new, behind].concat()
}

fn split(text: &[u8]) -> Vec<Range<usize>> {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | 0x80.. => 1,
        b' ' | b'\n' | b'\t' | b'\r' => 2,
        _ => 0,
    };
    let mut words: Vec<Range<usize>> = Vec::new();
    for (index, byte) in text.iter().enumerate() {
        match words.last_mut() {
            Some(last)
                if kind(*byte) != 0
                    && text.get(last.start).is_some_and(|first| kind(*first) == kind(*byte)) =>
            {
                last.end = index + 1;
            }
            _ => words.push(index..index + 1),
        }
    }
    words
}

fn bytes_of(words: &[Range<usize>], part: Range<usize>, length: usize) -> Range<usize> {
    let start = words.get(part.start).map_or(length, |word| word.start);
    let end = part.end.checked_sub(1).filter(|last| *last >= part.start).and_then(|last| words.get(last));
    start..end.map_or(start, |word| word.end)
}

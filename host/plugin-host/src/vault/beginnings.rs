//! Finds many spellings in one pass: by the first 8 bytes of each.

use std::ops::Range;
use std::sync::Arc;

use super::index::{BLOCK, Filter};
use super::scrub::SecretSource;

/// The beginnings of all spellings of some sources.
pub(super) struct Beginnings {
    filter: Filter,
    /// Sorted by their first field, the first bytes.
    entries: Vec<(u64, Spelling)>,
}

/// Names a spelling of a source.
struct Spelling {
    source: Arc<SecretSource>,
    number: usize,
}

impl Beginnings {
    pub(super) fn of<'a>(sources: impl Iterator<Item = &'a Arc<SecretSource>>) -> Self {
        let mut entries: Vec<(u64, Spelling)> = Vec::new();
        for source in sources {
            for (number, spelling) in source.spellings().iter().enumerate() {
                if let Some((first, _)) = spelling.split_first_chunk::<BLOCK>() {
                    entries
                        .push((u64::from_be_bytes(*first), Spelling { source: Arc::clone(source), number }));
                }
            }
        }
        entries.sort_by_key(|(beginning, _)| *beginning);
        let filter = Filter::for_blocks(entries.len(), entries.iter().map(|(beginning, _)| beginning));
        Self { filter, entries }
    }

    /// Adds the places of spellings; of overlapping occurrences, the first.
    pub(super) fn find(&self, bytes: &[u8], found: &mut Vec<Range<usize>>) {
        let mut ends = vec![0; self.entries.len()];
        let mut beginning = 0_u64;
        for (at, byte) in bytes.iter().enumerate() {
            beginning = (beginning << 8) | u64::from(*byte);
            let Some(start) = (at + 1).checked_sub(BLOCK).filter(|_| self.filter.has(beginning)) else {
                continue;
            };
            let first = self.entries.partition_point(|(other, _)| *other < beginning);
            for ((other, spelling), end) in self.entries.iter().zip(&mut ends).skip(first) {
                if *other != beginning {
                    break;
                }
                if start >= *end
                    && let Some(length) = spelling.length_at(bytes, start)
                {
                    *end = start + length;
                    found.push(start..*end);
                }
            }
        }
    }
}

impl Spelling {
    /// Returns the length of the spelling, if it is at this place.
    fn length_at(&self, bytes: &[u8], start: usize) -> Option<usize> {
        let spelling = self.source.spellings().get(self.number)?;
        bytes.get(start..)?.starts_with(spelling).then_some(spelling.len())
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "what is found is a list of ranges, here of one")]
mod tests {
    use super::*;

    fn beginnings(values: &[&str]) -> Beginnings {
        let sources: Vec<_> =
            values.iter().map(|value| Arc::new(SecretSource::value(value.as_bytes()))).collect();
        Beginnings::of(sources.iter())
    }

    fn found_by(beginnings: &Beginnings, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        beginnings.find(text.as_bytes(), &mut found);
        found
    }

    fn found(values: &[&str], text: &str) -> Vec<Range<usize>> {
        found_by(&beginnings(values), text)
    }

    #[test]
    fn values_that_begin_alike_are_distinguished() {
        let values = ["password-one", "password-two-longer"];
        assert_eq!(found(&values, "a password-one b"), [2..14]);
        assert_eq!(found(&values, "password-two-longer"), [0..19]);
        assert_eq!(found(&values, "password-three"), []);
    }

    #[test]
    fn the_first_and_the_last_bytes_of_a_text_count() {
        assert_eq!(found(&["12345678"], "12345678"), [0..8]);
        assert_eq!(found(&["12345678"], "x12345678"), [1..9]);
        assert_eq!(found(&["12345678"], "1234567"), []);
    }

    #[test]
    fn one_that_overlaps_itself_is_found_once_for_each_length() {
        assert_eq!(found(&["aaaaaaaa"], &"a".repeat(20)), [0..8, 8..16]);
    }

    #[test]
    fn a_thousand_values_are_all_found() {
        let values: Vec<String> = (0..1_000).map(|number| format!("{number:04}-value")).collect();
        let texts: Vec<&str> = values.iter().map(String::as_str).collect();
        let beginnings = beginnings(&texts);
        for text in texts {
            assert_eq!(found_by(&beginnings, &format!("<{text}>")), [1..11], "{text}");
        }
    }
}

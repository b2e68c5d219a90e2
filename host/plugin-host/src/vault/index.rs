//! Finds pieces of many folded values in one pass over a folded view.
//!
//! For each value the index has some blocks of 8 characters, so densely that every significant piece contains one. The
//! search reads the view with a window of 8; a filter of bits excludes nearly all places, and at the others the
//! neighbourhood of the block is compared.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use zeroize::Zeroizing;

/// Characters of a block: as many as fit into a machine word.
pub(super) const BLOCK: usize = 8;
/// The same block of more places says nothing: such a value repeats itself.
const PLACES_PER_BLOCK: usize = 8;
/// Of a block with fewer different characters there are too many everywhere.
const DIFFERENT: usize = 3;
/// Bits of the smallest filter, as a power of two.
const FILTER_BITS: u32 = 14;
/// One bit of so many is set at most, or nearly.
const BITS_PER_BLOCK: usize = 16;

/// A text by which a value is looked for.
pub(super) struct Needle {
    /// Letters and digits in lower case.
    pub(super) characters: Zeroizing<Vec<u8>>,
    /// So many of them in a row are found.
    pub(super) accepted: usize,
}

/// Names the value that a needle is of.
pub(super) type ValueId = u64;

#[derive(Default)]
pub(super) struct NeedleIndex {
    needles: Vec<(ValueId, Needle)>,
    heads: HashMap<u64, u32>,
    places: Vec<NeedlePlace>,
    filter: Filter,
    longest: usize,
    characters: usize,
}

struct NeedlePlace {
    needle: u32,
    at: u32,
    next: Option<u32>,
}

impl NeedleIndex {
    pub(super) fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Characters of a view that must be there to recognise whatever begins before them.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Characters of all needles.
    pub(super) fn characters(&self) -> usize {
        self.characters
    }

    pub(super) fn add(&mut self, value: ValueId, needle: Needle) {
        let length = needle.characters.len();
        if length < BLOCK || needle.accepted < BLOCK {
            return;
        }
        let accepted = needle.accepted.min(length);
        let number = u32::try_from(self.needles.len()).unwrap_or(u32::MAX);
        let last = length - BLOCK;
        let step = accepted - BLOCK + 1;
        for at in (0..last).step_by(step).chain([last]) {
            if let Some(block) = needle.characters.get(at..at + BLOCK) {
                self.note(block, number, at);
            }
        }
        self.longest = self.longest.max(accepted);
        self.characters += length;
        self.needles.push((value, Needle { accepted, ..needle }));
    }

    fn note(&mut self, block: &[u8], needle: u32, at: usize) {
        let different: BTreeSet<u8> = block.iter().copied().collect();
        if different.len() < DIFFERENT {
            return;
        }
        let key = block.iter().fold(0, |key, character| (key << 8) | u64::from(*character));
        let head = self.heads.get(&key).copied();
        if self.chain(head).count() >= PLACES_PER_BLOCK {
            return;
        }
        let here = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        self.places.push(NeedlePlace { needle, at: u32::try_from(at).unwrap_or(u32::MAX), next: head });
        self.heads.insert(key, here);
        if self.filter.is_full(self.places.len()) {
            self.filter = Filter::for_blocks(2 * self.places.len(), self.heads.keys());
        }
        self.filter.set(key);
    }

    fn chain(&self, head: Option<u32>) -> impl Iterator<Item = &NeedlePlace> {
        let place = |number: u32| self.places.get(number as usize);
        std::iter::successors(head.and_then(place), move |last| last.next.and_then(place))
    }

    /// Adds the places of pieces in a view, except of these values.
    pub(super) fn find(&self, view: &[u8], but: &BTreeSet<ValueId>, found: &mut Vec<Range<usize>>) {
        if self.is_empty() {
            return;
        }
        let (mut key, mut from) = (0u64, 0);
        for (at, character) in view.iter().enumerate() {
            key = (key << 8) | u64::from(*character);
            let behind = at + 1;
            if behind < from + BLOCK || !self.filter.has(key) {
                continue;
            }
            if let Some(range) = self.confirmed(view, behind - BLOCK, key, but) {
                // A block within it says nothing more.
                from = range.end.saturating_sub(BLOCK - 1).max(behind - BLOCK + 1);
                found.push(range);
            }
        }
    }

    fn confirmed(
        &self,
        view: &[u8],
        start: usize,
        key: u64,
        but: &BTreeSet<ValueId>,
    ) -> Option<Range<usize>> {
        let head = self.heads.get(&key).copied();
        let ranges = self.chain(head).filter_map(|place| {
            let (value, needle) = self.needles.get(place.needle as usize)?;
            let range = common(view, start, &needle.characters, place.at as usize)?;
            (range.len() >= needle.accepted && !but.contains(value)).then_some(range)
        });
        ranges.reduce(|one, other| one.start.min(other.start)..one.end.max(other.end))
    }
}

/// Returns what two texts have in common around a block that both have at these places.
fn common(view: &[u8], start: usize, needle: &[u8], at: usize) -> Option<Range<usize>> {
    let (before, behind) = (view.get(..start)?, view.get(start..)?);
    let (needle_before, needle_behind) = (needle.get(..at)?, needle.get(at..)?);
    let alike = |pair: &(&u8, &u8)| pair.0 == pair.1;
    let left = before.iter().rev().zip(needle_before.iter().rev()).take_while(alike).count();
    let right = behind.iter().zip(needle_behind).take_while(alike).count();
    Some(start - left..start + right)
}

/// Tells most keys that are not there.
pub(super) struct Filter {
    words: Vec<u64>,
    bits: u32,
}

impl Default for Filter {
    fn default() -> Self {
        Self::of(FILTER_BITS)
    }
}

impl Filter {
    fn of(bits: u32) -> Self {
        Self { words: vec![0; 1 << (bits - 6)], bits }
    }

    pub(super) fn for_blocks<'a>(blocks: usize, keys: impl Iterator<Item = &'a u64>) -> Self {
        let bits = (blocks * BITS_PER_BLOCK).next_power_of_two().trailing_zeros().max(FILTER_BITS);
        let mut filter = Self::of(bits);
        keys.for_each(|key| filter.set(*key));
        filter
    }

    fn is_full(&self, blocks: usize) -> bool {
        blocks * BITS_PER_BLOCK > 1 << self.bits
    }

    fn place(&self, key: u64) -> (usize, u32) {
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - self.bits);
        (usize::try_from(hash >> 6).unwrap_or_default(), (hash & 63) as u32)
    }

    fn set(&mut self, key: u64) {
        let (word, bit) = self.place(key);
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    pub(super) fn has(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        self.words.get(word).is_some_and(|word| (word >> bit) & 1 == 1)
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "what is found is a list of ranges, here of one")]
mod tests {
    use super::*;

    fn index(needles: &[(&str, usize)]) -> NeedleIndex {
        let mut index = NeedleIndex::default();
        for (value, (text, accepted)) in needles.iter().enumerate() {
            let characters = Zeroizing::new(text.as_bytes().to_vec());
            index.add(value as u64, Needle { characters, accepted: *accepted });
        }
        index
    }

    fn found(index: &NeedleIndex, view: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        index.find(view.as_bytes(), &BTreeSet::new(), &mut found);
        found
    }

    const LONG: &str = "k3j4h5g6f7d8s9a0q1w2e3r4t5y6u7i8o9p0zmxncbv";

    #[test]
    fn every_piece_that_is_long_enough_is_found_and_no_shorter_one() {
        let index = index(&[(LONG, 24)]);
        for start in 0..=LONG.len() - 24 {
            let piece = &LONG[start..start + 24];
            assert_eq!(found(&index, &format!("!!{piece}!!")), [2..26], "{piece}");
            assert_eq!(found(&index, &format!("!!{}!!", &piece[1..])), [], "{piece}");
        }
        assert_eq!(found(&index, LONG), [0..LONG.len()]);
        assert_eq!(index.longest(), 24);
    }

    #[test]
    fn a_short_one_is_found_as_a_whole() {
        let index = index(&[("hunter2hunter3", 24), ("short", 24)]);
        assert_eq!(found(&index, "ahunter2hunter3b"), [1..15]);
        assert_eq!(found(&index, "unter2hunter3 short"), []);
        assert_eq!(found(&index, "hunter2hunter"), []);
    }

    #[test]
    fn values_may_be_left_out() {
        let index = index(&[("hunter2hunter3", 24), ("another4another5", 24)]);
        let mut found = Vec::new();
        index.find(b"hunter2hunter3xanother4another5", &BTreeSet::from([0]), &mut found);
        assert_eq!(found, [15..31]);
    }

    #[test]
    fn many_values_are_all_found() {
        let texts: Vec<String> =
            (0..5_000u64).map(|n| format!("value{:016x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let needles: Vec<(&str, usize)> = texts.iter().map(|text| (text.as_str(), 24)).collect();
        let index = index(&needles);
        for text in &texts {
            assert_eq!(found(&index, &format!("a{text}b")), [1..22], "{text}");
        }
    }

    #[test]
    fn a_value_that_repeats_itself_costs_no_more_than_another() {
        let text = "abc".repeat(10_000);
        let index = index(&[(&text, 64), (&"0".repeat(10_000), 64)]);
        let covered: usize = found(&index, &"abc".repeat(100_000)).iter().map(ExactSizeIterator::len).sum();
        assert!(covered > 299_000, "{covered}");
        assert_eq!(found(&index, &"0".repeat(100_000)), []);
        let nearly = format!("{}x", "abc".repeat(20)).repeat(500);
        assert_eq!(found(&index, &nearly), []);
    }
}

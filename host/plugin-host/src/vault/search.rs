//! One search over what leaves the host's hands: for exact spellings of the call's own values, and in a folded view for
//! pieces of all that is known.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::fold::Folded;
use super::index::{NeedleIndex, ValueId};
use super::known::RememberedValues;
use super::scrub::{Needles, masked};

/// An escape that is cut at the end of what has come.
const CUT_ESCAPE_BYTES: usize = 64;

/// All that is looked for at one moment.
pub(super) struct Search {
    pub(super) exact: Arc<Needles>,
    pub(super) known: [Arc<RememberedValues>; 3],
    /// Looked for in addition.
    pub(super) own: Option<Arc<NeedleIndex>>,
    /// Values that are shown on purpose.
    pub(super) shown: Arc<BTreeSet<ValueId>>,
}

pub(super) struct SearchResult {
    pub(super) ranges: Vec<Range<usize>>,
    /// A value that begins before this place was recognised; behind it may lie a beginning.
    pub(super) certain: usize,
}

impl Search {
    pub(super) fn is_idle(&self) -> bool {
        self.exact.longest_bytes() == 0
            && self.own.as_ref().is_none_or(|own| own.is_empty())
            && self.known.iter().all(|memory| memory.is_empty())
    }

    /// `None` when nothing was found.
    pub(super) fn scrub(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let found = self.find(bytes).ranges;
        if found.is_empty() { None } else { Some(masked(bytes, &found)) }
    }

    pub(super) fn find(&self, bytes: &[u8]) -> SearchResult {
        let mut found = Vec::new();
        self.exact.find(bytes, &mut found);
        let view = Folded::of(bytes);
        let longest = self.find_pieces(&view, &mut found);
        let exact = bytes.len().saturating_sub(self.exact.longest_bytes().saturating_sub(1));
        let certain = exact.min(beginning_of_last(&view, longest, bytes.len()));
        SearchResult { ranges: merged(found), certain }
    }

    /// Gives how many characters must be there to recognise a piece.
    fn find_pieces(&self, view: &Folded, found: &mut Vec<Range<usize>>) -> usize {
        let mut pieces = Vec::new();
        let mut longest = 0;
        for memory in &self.known {
            longest = longest.max(memory.find(&view.characters, &self.shown, &mut pieces));
        }
        if let Some(own) = &self.own {
            own.find(&view.characters, &BTreeSet::new(), &mut pieces);
            longest = longest.max(own.longest());
        }
        found.extend(
            pieces
                .into_iter()
                .filter_map(|piece| Some(view.start(piece.start)?..view.end(piece.end.checked_sub(1)?)?)),
        );
        longest
    }
}

/// Where the last characters of a view begin that alone are no piece.
fn beginning_of_last(view: &Folded, longest: usize, length: usize) -> usize {
    if longest == 0 {
        return length;
    }
    let first = (view.characters.len() + 1).checked_sub(longest);
    let start = match first {
        Some(first) => view.start(first).unwrap_or(length),
        None => 0,
    };
    start.min(length.saturating_sub(CUT_ESCAPE_BYTES))
}

/// Ranges that overlap or touch become one.
fn merged(mut found: Vec<Range<usize>>) -> Vec<Range<usize>> {
    found.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(found.len());
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

//! Scrubs a stream, piece by piece.

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::Vault;
use super::scrub::masked;

/// A search is not worth less.
const LEAST_BYTES: usize = 16 * 1024;

/// Scrubs a stream. Bytes that may be the beginning of a value are held back until more is known. It asks the vault at
/// each search: a token that becomes known during an answer is removed from the rest of that answer.
pub struct Scrubber {
    vault: Vault,
    buffer: BytesMut,
    /// The number of bytes that were held back at the last search.
    kept: usize,
}

impl Scrubber {
    pub(super) fn new(vault: Vault) -> Self {
        Self { vault, buffer: BytesMut::new(), kept: 0 }
    }

    /// True if there are no values to search for: bytes pass unchanged.
    pub fn is_idle(&self) -> bool {
        self.buffer.is_empty() && self.vault.is_idle()
    }

    /// Returns how much it holds back.
    pub(crate) fn buffered_bytes(&self) -> usize {
        self.buffer.capacity()
    }

    /// True when there is nothing to look for, and will be nothing in this call.
    pub(crate) fn stays_idle(&self) -> bool {
        self.is_idle() && !self.vault.may_learn()
    }

    /// Takes a piece, returns the bytes that are certain. Searches only when as many bytes have come as are held back,
    /// so that a server that sends single bytes costs no more than others.
    pub fn push(&mut self, piece: Bytes) -> Bytes {
        if self.is_idle() {
            return piece;
        }
        self.buffer.extend_from_slice(&piece);
        if self.buffer.len() <= (2 * self.kept).max(LEAST_BYTES) {
            return Bytes::new();
        }
        let found = self.vault.search_for_guest().find(&self.buffer);
        // A value that reaches into the tail stays whole.
        let cut = found
            .ranges
            .iter()
            .find(|range| range.start < found.certain && found.certain <= range.end)
            .map_or(found.certain, |range| range.start);
        let done = self.buffer.split_to(cut);
        self.kept = self.buffer.len();
        let inside: Vec<Range<usize>> = found.ranges.into_iter().filter(|range| range.end <= cut).collect();
        if inside.is_empty() { done.freeze() } else { masked(&done, &inside).into() }
    }

    /// Returns the bytes that were held back; the stream is over.
    pub fn finish(&mut self) -> Bytes {
        let rest = self.buffer.split().freeze();
        if rest.is_empty() {
            return rest;
        }
        self.vault.search_for_guest().scrub(&rest).map_or(rest, Bytes::from)
    }

    /// A whole value, such as a header's; independent of the stream.
    pub fn whole(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        self.vault.search_for_guest().scrub(bytes)
    }

    /// The same for many values.
    pub(crate) fn of_wholes(&self) -> impl Fn(&[u8]) -> Option<Vec<u8>> + use<> {
        let search = self.vault.search_for_guest();
        move |bytes| search.scrub(bytes)
    }
}

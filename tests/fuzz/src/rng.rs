//! Random choices from a seed: the same seed makes the same inputs.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// A stream of random choices.
#[derive(Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Begins the stream of this seed.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// Draws a number below `end`; 0 when there is none.
    pub fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.random_range(0..end) }
    }

    /// Returns true once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Chooses one of these.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let at = self.below(choices.len());
        choices.get(at)
    }

    pub fn byte(&mut self) -> u8 {
        self.0.random()
    }

    /// Draws any whole number.
    pub fn number(&mut self) -> u64 {
        self.0.random()
    }

    /// Draws a short length: mostly a few, rarely many.
    pub fn length(&mut self, most: usize) -> usize {
        let most = if self.once_in(20) { most } else { most.min(16) };
        self.below(most.saturating_add(1))
    }

    /// Draws the place of a part that is in a text of this length.
    pub fn part(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length.saturating_add(1));
        let end = start + self.length(length - start);
        start..end
    }
}

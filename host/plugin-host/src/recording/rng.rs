//! Clocks of a recording, and reproducible random numbers: SHA-256 over a seed and a counter. The seed comes from the
//! system for each recorded call, so for its component the numbers are equivalent to the system's.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use rand::TryRng;
use sha2::{Digest as _, Sha256};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

use crate::output_limits::hex;
use crate::recording::ActiveRecording;

/// The seed of a call's random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed([u8; 32]);

impl Seed {
    pub(super) fn draw() -> Self {
        Self(rand::random())
    }

    /// 32 bytes in hex.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    pub(super) fn text(self) -> String {
        hex(&self.0)
    }

    /// A stream of its own for each purpose.
    pub(super) fn stream(self, purpose: &str) -> RandomStream {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(purpose.as_bytes());
        RandomStream { key: hasher.finalize().into(), counter: 0, block: [0; 32], used: 32 }
    }
}

/// A stream of random bytes.
#[derive(Clone, Debug)]
pub(super) struct RandomStream {
    key: [u8; 32],
    counter: u64,
    block: [u8; 32],
    used: usize,
}

impl RandomStream {
    fn byte(&mut self) -> u8 {
        if self.used >= self.block.len() {
            let mut hasher = Sha256::new();
            hasher.update(self.key);
            hasher.update(self.counter.to_le_bytes());
            self.block = hasher.finalize().into();
            self.counter = self.counter.wrapping_add(1);
            self.used = 0;
        }
        let byte = self.block.get(self.used).copied().unwrap_or_default();
        self.used += 1;
        byte
    }

    fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.byte();
        }
    }

    pub(super) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.fill(&mut bytes);
        bytes
    }
}

impl TryRng for RandomStream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.array()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.array()))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.fill(bytes);
        Ok(())
    }
}

/// The same in a recording and in its replay, whatever the system's clock can do.
const RESOLUTION: Duration = Duration::from_nanos(1);

/// Time on the wall.
pub(super) struct Wall(pub(super) Arc<ActiveRecording>);

impl HostWallClock for Wall {
    fn resolution(&self) -> Duration {
        RESOLUTION
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.0.wall_ns())
    }
}

/// Time since the beginning of the call.
pub(super) struct Monotonic(pub(super) Arc<ActiveRecording>);

impl HostMonotonicClock for Monotonic {
    fn resolution(&self) -> u64 {
        u64::try_from(RESOLUTION.as_nanos()).unwrap_or(1)
    }

    fn now(&self) -> u64 {
        self.0.monotonic_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_that_was_written_gives_the_same_numbers() {
        let seed = Seed::draw();
        let again = Seed::parse(&seed.text()).expect("it was written");
        let numbers = |seed: Seed| -> [u8; 100] { seed.stream("secure").array() };
        assert_eq!(numbers(seed), numbers(again));
        assert_ne!(numbers(seed), seed.stream("insecure").array());
        assert_ne!(numbers(seed), numbers(Seed::draw()));
        assert!(Seed::parse("12").is_none() && Seed::parse(&"g".repeat(64)).is_none());
    }

    #[test]
    fn numbers_stay_the_same_over_versions_of_the_host() {
        let seed = Seed::parse(&"00".repeat(32)).expect("a seed");
        assert_eq!(hex(&seed.stream("secure").array::<8>()), KNOWN);
    }

    /// Recordings that are kept depend on it.
    const KNOWN: &str = "f4b3aac4d7279250";
}

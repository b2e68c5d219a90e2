//! Chance, from the seed alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// One stream of random numbers. Each user has its own, so that what one draws does not change what another one gets.
#[derive(Debug)]
pub(crate) struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of this name.
    pub(crate) fn new(seed: u64, name: &str) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mixed(seed, name)))
    }

    /// True with this probability.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.0.random::<f64>() < probability
    }

    /// A number below `end`; 0 when there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        if end == 0 { 0 } else { self.0.random_range(0..end) }
    }

    pub(crate) fn between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        shortest + longest.saturating_sub(shortest).mul_f64(self.0.random::<f64>())
    }

    /// From one event to the next, when there are so many an hour by chance. At most a year.
    pub(crate) fn pause(&mut self, per_hour: f64) -> Duration {
        let year = 365.0 * 24.0 * 3600.0;
        let seconds = -(1.0 - self.0.random::<f64>()).ln() * 3600.0 / per_hour;
        Duration::from_secs_f64(if seconds.is_finite() { seconds.min(year) } else { year })
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let at = self.below(choices.len());
        choices.get(at)
    }

    /// One of these, each as often as its weight says.
    pub(crate) fn weighed<T: Copy>(&mut self, choices: &[(u32, T)]) -> Option<T> {
        let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
        let mut left = u32::try_from(self.below(total as usize)).unwrap_or_default();
        for (weight, choice) in choices {
            if left < *weight {
                return Some(*choice);
            }
            left -= weight;
        }
        None
    }

    /// As the runtime takes its seed.
    pub(crate) fn bytes(&mut self) -> [u8; 32] {
        self.0.random()
    }
}

/// The seed of a stream.
pub(crate) fn mixed(seed: u64, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (seed, name).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_name_give_the_same_stream_and_others_another() {
        let draw = |seed, name| (0..8).map(|_| Rng::new(seed, name).below(1_000_000)).collect::<Vec<_>>();
        assert_eq!(draw(7, "a"), draw(7, "a"));
        assert_ne!(draw(7, "a"), draw(7, "b"));
        assert_ne!(draw(7, "a"), draw(8, "a"));
    }

    #[test]
    fn events_come_as_often_as_asked_for() {
        let mut rng = Rng::new(1, "pause");
        let total: Duration = (0..10_000).map(|_| rng.pause(60.0)).sum();
        assert!((500_000..700_000).contains(&total.as_secs()), "{total:?}");
        assert!(rng.pause(0.0) > Duration::from_hours(24 * 300));
    }
}

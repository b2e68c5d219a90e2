//! The past values of something, and since when.

use jiff::Timestamp;

/// Values, each until the next one.
#[derive(Clone, Debug)]
pub(crate) struct Past<T>(Vec<(Timestamp, T)>);

impl<T> Default for Past<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + PartialEq + Default> Past<T> {
    /// It is so from now on.
    pub(super) fn set(&mut self, value: T, now: Timestamp) {
        if self.0.last().is_none_or(|(_, last)| *last != value) {
            self.0.push((now, value));
        }
    }

    pub(super) fn last(&self) -> T {
        self.0.last().map(|(_, value)| *value).unwrap_or_default()
    }

    /// Returns the values at any time since then.
    pub(super) fn since(&self, at: Timestamp) -> impl Iterator<Item = T> {
        let first = self.0.partition_point(|(since, _)| *since <= at).saturating_sub(1);
        self.0.iter().skip(first).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_held_at_the_beginning_of_a_time_has_held_since() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        let mut past = Past::default();
        for (second, value) in [(0, 3), (10, 5), (11, 5), (20, 2)] {
            past.set(value, at(second));
        }
        let since = |second| past.since(at(second)).collect::<Vec<u32>>();
        assert_eq!((since(0), since(9), since(10)), (vec![3, 5, 2], vec![3, 5, 2], vec![5, 2]));
        assert_eq!((since(25), past.last()), (vec![2], 2));
    }
}

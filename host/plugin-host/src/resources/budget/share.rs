//! Decides whether one owner of memory may hold more of the budget that all share.
//!
//! A quarter of the budget is set aside for plugins in equal parts, with one part for a plugin that is still to come.
//! The compiler has a part while it runs. The rest belongs to the first that asks. So no plugin holds so much that
//! another cannot make one call, and none is stopped while others leave memory unused.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnerMemory {
    pub(super) taken_bytes: u64,
    /// Set aside for it, whether it holds as much or not.
    pub(super) reserve_bytes: u64,
}

impl OwnerMemory {
    /// Bytes that are set aside and not used yet.
    fn unfilled_bytes(self) -> u64 {
        self.reserve_bytes.saturating_sub(self.taken_bytes)
    }
}

/// Returns the part that is set aside for each of so many plugins.
pub(super) fn plugin_reserve_bytes(total_bytes: u64, plugins: usize) -> u64 {
    let parts = u64::try_from(plugins).unwrap_or(u64::MAX).saturating_add(1);
    total_bytes / 4 / parts
}

/// Returns the most that a call may wait for before it starts: all others cannot hold it back for ever.
pub(super) fn most_start_bytes(total_bytes: u64) -> u64 {
    total_bytes / 4
}

/// Returns the most that the compiler may have: in a pod of 1 GiB, 512 MiB. The largest components of the SDKs need
/// 460.
pub(super) fn most_compiler_bytes(total_bytes: u64) -> u64 {
    total_bytes / 3 * 2
}

/// Returns whether an owner may hold so many bytes more beside all others.
pub(super) fn fits(
    total_bytes: u64,
    own: OwnerMemory,
    others: impl IntoIterator<Item = OwnerMemory>,
    more_bytes: u64,
) -> bool {
    let (mut taken, mut unfilled) = (0_u64, 0_u64);
    for other in others {
        taken = taken.saturating_add(other.taken_bytes);
        unfilled = unfilled.saturating_add(other.unfilled_bytes());
    }
    let own_bytes = own.taken_bytes.saturating_add(more_bytes);
    let used = taken.saturating_add(own_bytes);
    let is_own_part = own_bytes <= own.reserve_bytes;
    used <= total_bytes && (is_own_part || used.saturating_add(unfilled) <= total_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn of(taken: u64, reserve: u64) -> OwnerMemory {
        OwnerMemory { taken_bytes: taken, reserve_bytes: reserve }
    }

    #[test]
    fn the_reserves_of_plugins_are_a_quarter_in_equal_parts_with_one_to_spare() {
        for (plugins, reserve) in [(0, 200), (1, 100), (3, 50), (7, 25)] {
            assert_eq!(plugin_reserve_bytes(800, plugins), reserve, "{plugins} plugins");
            let all = plugin_reserve_bytes(800, plugins) * (plugins as u64 + 1);
            assert!(all + most_compiler_bytes(800) <= 800, "{plugins} plugins");
            assert!(all + most_start_bytes(800) <= 800, "{plugins} plugins");
        }
        assert_eq!(plugin_reserve_bytes(u64::MAX, usize::MAX), 0);
    }

    #[test]
    fn an_owner_gets_what_is_free_and_nobody_elses_part() {
        // total, own, others, more, fits
        let table: [(u64, OwnerMemory, &[OwnerMemory], u64, bool); 11] = [
            (800, of(0, 100), &[], 800, true),
            (800, of(0, 100), &[], 801, false),
            // The part of one that holds nothing stays free.
            (800, of(0, 100), &[of(0, 100)], 700, true),
            (800, of(0, 100), &[of(0, 100)], 701, false),
            // One that holds its part leaves nothing to keep free.
            (800, of(0, 100), &[of(100, 100)], 700, true),
            (800, of(0, 100), &[of(60, 100)], 701, false),
            // A hostile one holds all that it may; the honest one makes its call.
            (800, of(0, 100), &[of(700, 100)], 100, true),
            (800, of(0, 100), &[of(700, 100)], 101, false),
            (800, of(700, 100), &[of(0, 100)], 1, false),
            // The compiler asks while plugins hold all: they keep what they hold, and get no more than their part.
            (800, of(700, 100), &[of(0, 400)], 0, false),
            (800, of(20, 50), &[of(700, 50), of(0, 400)], 30, true),
        ];
        for (total, own, others, more, expected) in table {
            let found = fits(total, own, others.iter().copied(), more);
            assert_eq!(found, expected, "{more} more for {own:?} of {total} beside {others:?}");
        }
        assert!(!fits(MIB, of(1, 0), [of(u64::MAX, u64::MAX)], u64::MAX), "sums do not wrap");
    }

    #[test]
    fn one_call_of_each_plugin_fits_whatever_one_of_them_takes() {
        let total = 640 * MIB;
        for plugins in 2..20_usize {
            let reserve = plugin_reserve_bytes(total, plugins);
            let mut taken = vec![of(0, reserve); plugins];
            while fits(total, taken[0], taken[1..].iter().copied(), MIB) {
                taken[0].taken_bytes += MIB;
            }
            for number in 1..plugins {
                let others = taken.iter().enumerate().filter(|(other, _)| *other != number);
                assert!(fits(total, taken[number], others.map(|(_, taken)| *taken), reserve));
                taken[number].taken_bytes = reserve;
            }
        }
    }
}

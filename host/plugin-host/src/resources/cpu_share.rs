//! The CPU share of each driver. The driver that uses most, beyond its share, runs at low priority.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use machinist_core::value::id::PluginName;

/// The share of one processor that a driver may always use. Some hundred Machines need this much, in a driver of any
/// language.
const SHARE: f64 = 0.1;
/// The time constant of the decay: older processor time hardly counts.
const MEMORY: Duration = Duration::from_secs(1);

/// The threads on which a call begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// The caller's thread, or a normal guest thread.
    Normal,
    /// A guest thread that yields to all others.
    Low,
}

/// The CPU use of the drivers that were called in the last second.
#[derive(Default)]
pub(crate) struct CpuShares(Mutex<HashMap<PluginName, Arc<CpuAccount>>>);

impl CpuShares {
    /// Records a call of this driver and returns its priority. It is low when the driver uses more than its share, and
    /// of the other drivers in use none uses more.
    pub(crate) fn enter(&self, driver: &PluginName, now: Instant) -> (Arc<CpuAccount>, Priority) {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |account: &Arc<CpuAccount>| account.used().was_active_within(MEMORY, now);
        // The use of a driver that was not called for so long has decayed. An open connection may still spend.
        accounts.retain(|_, account| Arc::strong_count(account) > 1 || is_recent(account));
        let account = Arc::clone(accounts.entry(driver.clone()).or_default());
        let own = account.record_call(now);
        let mut others = accounts.values().filter(|other| !Arc::ptr_eq(other, &account) && is_recent(other));
        let is_greediest = own > SHARE
            && others.next().is_some_and(|other| {
                std::iter::once(other).chain(others).all(|other| other.used().processors(now) <= own)
            });
        (account, if is_greediest { Priority::Low } else { Priority::Normal })
    }
}

/// The CPU use of one driver.
#[derive(Debug, Default)]
pub(crate) struct CpuAccount(Mutex<DecayingTime>);

impl CpuAccount {
    pub(crate) fn spend(&self, time: Duration, now: Instant) {
        let mut used = self.lock();
        *used = used.and(time, now);
    }

    /// Records a call. Returns how many processors the driver keeps busy.
    fn record_call(&self, now: Instant) -> f64 {
        let mut used = self.lock();
        used.called = Some(now);
        used.processors(now)
    }

    /// The processor time that has not decayed.
    #[cfg(test)]
    pub(crate) fn spent(&self, now: Instant) -> Duration {
        MEMORY.mul_f64(self.used().processors(now))
    }

    /// The rest of this processor time after `after`, if all of it was used at the beginning.
    #[cfg(test)]
    pub(crate) fn left_of(time: Duration, after: Duration) -> Duration {
        time.mul_f64((-after.div_duration_f64(MEMORY)).exp())
    }

    fn used(&self) -> DecayingTime {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, DecayingTime> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Processor time that decays: each `MEMORY` leaves a third of it.
#[derive(Clone, Copy, Debug, Default)]
struct DecayingTime {
    seconds: f64,
    counted: Option<Instant>,
    called: Option<Instant>,
}

impl DecayingTime {
    /// The number of processors that are busy.
    fn processors(self, now: Instant) -> f64 {
        let since = self.counted.map_or(Duration::ZERO, |counted| now.saturating_duration_since(counted));
        self.seconds * (-since.div_duration_f64(MEMORY)).exp() / MEMORY.as_secs_f64()
    }

    fn and(self, more: Duration, now: Instant) -> Self {
        let seconds = self.processors(now).mul_add(MEMORY.as_secs_f64(), more.as_secs_f64());
        Self { seconds, counted: Some(now), ..self }
    }

    fn was_active_within(self, time: Duration, now: Instant) -> bool {
        [self.called, self.counted].into_iter().flatten().any(|at| now.saturating_duration_since(at) < time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver that is called at this interval and computes for this time.
    struct Habit {
        name: &'static str,
        every_ms: u64,
        for_us: u64,
    }

    fn name(name: &str) -> PluginName {
        PluginName::new(name)
    }

    /// Runs these drivers for ten seconds. Returns for each the percentage of its calls in the last second that began
    /// at low priority.
    fn seconds_of(habits: &[Habit]) -> Vec<u64> {
        let (cpu_shares, start) = (CpuShares::default(), Instant::now());
        let mut behind = vec![0; habits.len()];
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            for (habit, behind) in habits.iter().zip(&mut behind) {
                if !ms.is_multiple_of(habit.every_ms) {
                    continue;
                }
                let (account, priority) = cpu_shares.enter(&name(habit.name), now);
                *behind += u64::from(priority == Priority::Low && ms >= 9_000);
                account.spend(Duration::from_micros(habit.for_us), now);
            }
        }
        habits.iter().zip(behind).map(|(habit, behind)| behind * 100 * habit.every_ms / 1_000).collect()
    }

    #[test]
    fn the_greediest_of_several_drivers_gets_low_priority() {
        let flood = || Habit { name: "flood", every_ms: 1, for_us: 900 };
        let busy = || Habit { name: "busy", every_ms: 2, for_us: 1_000 };
        let modest = || Habit { name: "modest", every_ms: 50, for_us: 5_000 };
        assert_eq!(seconds_of(&[flood()]), [0]);
        assert_eq!(seconds_of(&[flood(), modest()]), [100, 0]);
        assert_eq!(
            seconds_of(&[modest(), busy(), flood()]),
            [0, 0, 100],
            "busy is behind nobody but the flood"
        );
        assert_eq!(seconds_of(&[modest(), busy()]), [0, 100]);
        assert_eq!(
            seconds_of(&[modest(), Habit { name: "other", ..modest() }]),
            [0, 0],
            "both within their share"
        );
    }

    #[test]
    fn used_cpu_time_decays() {
        let (cpu_shares, start) = (CpuShares::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let (greedy, other) = (name("greedy"), name("other"));
        let is_low = |driver: &PluginName, ms| cpu_shares.enter(driver, at(ms)).1 == Priority::Low;
        let spend = |ms| cpu_shares.enter(&greedy, at(ms)).0.spend(Duration::from_millis(900), at(ms));
        spend(0);
        assert!(!is_low(&greedy, 1), "alone");
        assert!(!is_low(&other, 2));
        assert!(is_low(&greedy, 3));
        assert!(!is_low(&other, 1_000) && is_low(&greedy, 1_001));
        assert!(!is_low(&other, 2_500) && !is_low(&greedy, 2_501), "2.5 s later it is below its share");
        spend(2_502);
        assert!(is_low(&greedy, 2_503));
        assert!(!is_low(&greedy, 3_502), "the other is gone");
    }

    #[test]
    fn a_connection_spends_for_its_driver_after_its_last_call() {
        let (cpu_shares, start) = (CpuShares::default(), Instant::now());
        let at = |s: u64| start + Duration::from_secs(s);
        let connection = cpu_shares.enter(&name("greedy"), at(0)).0;
        let other = |s| drop(cpu_shares.enter(&name("other"), at(s)));
        other(60);
        connection.spend(Duration::from_millis(900), at(60));
        assert_eq!(cpu_shares.enter(&name("greedy"), at(60)).1, Priority::Low);
        drop(connection);
        other(120);
        assert_eq!(cpu_shares.0.lock().unwrap().len(), 1, "nothing is kept of who is gone");
    }
}

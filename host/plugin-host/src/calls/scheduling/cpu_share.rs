//! Who computes how much, so that the greediest of several drivers lets the others go first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use machinist_core::value::id::PluginName;

/// Of a processor. Whoever uses less is in nobody's way: it is what some hundred Machines need, in a driver of any language.
const SHARE: f64 = 0.1;
/// What is longer ago than this hardly counts.
const MEMORY: Duration = Duration::from_secs(1);

/// The drivers that were called lately.
#[derive(Default)]
pub(crate) struct Company(Mutex<HashMap<PluginName, Arc<Account>>>);

impl Company {
    /// This one is called. The second is true when it lets others go first: it uses more than its share, while another one is
    /// called that uses less, and none that uses more.
    pub(crate) fn enter(&self, who: &PluginName, now: Instant) -> (Arc<Account>, bool) {
        let mut accounts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_here = |account: &Arc<Account>| account.used().was_here_within(MEMORY, now);
        // Whoever has been away for so long has used as good as nothing since. A connection that is open may still spend.
        accounts.retain(|_, account| Arc::strong_count(account) > 1 || is_here(account));
        let account = Arc::clone(accounts.entry(who.clone()).or_default());
        let own = account.enter(now);
        let mut others = accounts.values().filter(|other| !Arc::ptr_eq(other, &account) && is_here(other));
        let gives_way = own > SHARE
            && others.next().is_some_and(|other| {
                std::iter::once(other).chain(others).all(|other| other.used().processors(now) <= own)
            });
        (account, gives_way)
    }
}

/// What one driver uses.
#[derive(Debug, Default)]
pub(crate) struct Account(Mutex<Used>);

impl Account {
    /// Adds to it.
    pub(crate) fn spend(&self, effort: Duration, now: Instant) {
        let mut used = self.lock();
        *used = used.and(effort, now);
    }

    /// Is called. Says how many processors it keeps busy.
    fn enter(&self, now: Instant) -> f64 {
        let mut used = self.lock();
        used.called = Some(now);
        used.processors(now)
    }

    /// What of it has not faded.
    #[cfg(test)]
    pub(crate) fn spent(&self, now: Instant) -> Duration {
        MEMORY.mul_f64(self.used().processors(now))
    }

    /// What has not faded of an effort made in this time, if all of it was made at its beginning.
    #[cfg(test)]
    pub(crate) fn left_of(effort: Duration, after: Duration) -> Duration {
        effort.mul_f64((-after.div_duration_f64(MEMORY)).exp())
    }

    fn used(&self) -> Used {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Used> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Processor time that fades: each memory's length leaves a third of it.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    seconds: f64,
    counted: Option<Instant>,
    called: Option<Instant>,
}

impl Used {
    /// How many processors it keeps busy.
    fn processors(self, now: Instant) -> f64 {
        let since = self.counted.map_or(Duration::ZERO, |counted| now.saturating_duration_since(counted));
        self.seconds * (-since.div_duration_f64(MEMORY)).exp() / MEMORY.as_secs_f64()
    }

    fn and(self, more: Duration, now: Instant) -> Self {
        let seconds = self.processors(now).mul_add(MEMORY.as_secs_f64(), more.as_secs_f64());
        Self { seconds, counted: Some(now), ..self }
    }

    fn was_here_within(self, time: Duration, now: Instant) -> bool {
        [self.called, self.counted].into_iter().flatten().any(|at| now.saturating_duration_since(at) < time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver that is called every so many milliseconds, and computes for so long.
    struct Habit {
        name: &'static str,
        every: u64,
        for_us: u64,
    }

    fn name(name: &str) -> PluginName {
        PluginName::new(name)
    }

    /// Ten seconds of these; says of each what share of its calls in the last second let others go first.
    fn seconds_of(habits: &[Habit]) -> Vec<u64> {
        let (company, start) = (Company::default(), Instant::now());
        let mut behind = vec![0; habits.len()];
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            for (habit, behind) in habits.iter().zip(&mut behind) {
                if !ms.is_multiple_of(habit.every) {
                    continue;
                }
                let (account, gives_way) = company.enter(&name(habit.name), now);
                *behind += u64::from(gives_way && ms >= 9_000);
                account.spend(Duration::from_micros(habit.for_us), now);
            }
        }
        habits.iter().zip(behind).map(|(habit, behind)| behind * 100 * habit.every / 1_000).collect()
    }

    #[test]
    fn the_greediest_lets_others_go_first_and_nobody_who_is_alone_does() {
        let flood = || Habit { name: "flood", every: 1, for_us: 900 };
        let busy = || Habit { name: "busy", every: 2, for_us: 1_000 };
        let modest = || Habit { name: "modest", every: 50, for_us: 5_000 };
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
    fn what_was_used_is_forgotten() {
        let (company, start) = (Company::default(), Instant::now());
        let at = |ms: u64| start + Duration::from_millis(ms);
        let (greedy, other) = (name("greedy"), name("other"));
        let gives_way = |who: &PluginName, ms| company.enter(who, at(ms)).1;
        let spend = |ms| company.enter(&greedy, at(ms)).0.spend(Duration::from_millis(900), at(ms));
        spend(0);
        assert!(!gives_way(&greedy, 1), "alone");
        assert!(!gives_way(&other, 2));
        assert!(gives_way(&greedy, 3));
        assert!(!gives_way(&other, 1_000) && gives_way(&greedy, 1_001));
        assert!(!gives_way(&other, 2_500) && !gives_way(&greedy, 2_501), "2.5 s later it is below its share");
        spend(2_502);
        assert!(gives_way(&greedy, 2_503));
        assert!(!gives_way(&greedy, 3_502), "the other is gone");
    }

    #[test]
    fn a_connection_spends_for_its_driver_however_long_that_is_not_called() {
        let (company, start) = (Company::default(), Instant::now());
        let at = |s: u64| start + Duration::from_secs(s);
        let connection = company.enter(&name("greedy"), at(0)).0;
        let other = |s| drop(company.enter(&name("other"), at(s)));
        other(60);
        connection.spend(Duration::from_millis(900), at(60));
        assert!(company.enter(&name("greedy"), at(60)).1);
        drop(connection);
        other(120);
        assert_eq!(company.0.lock().unwrap().len(), 1, "nothing is kept of who is gone");
    }
}

//! One token bucket for each cloud account, over all plugins of the host: who shares an account shares its pace.

mod bucket;
mod lesson;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machinist_core::id::PluginName;
use tokio::time::{Instant, sleep_until};

use crate::grants::{AuthScheme, Host, RequestTarget};

pub(super) use lesson::{HEAD_BYTES, clock_skew_seconds, codes, is_slower, retry_after};

use bucket::{Bucket, Entry, Ticket, Turn};

/// Accounts that are remembered. One takes a few hundred bytes; a host has a handful.
const MOST_ACCOUNTS: usize = 1024;

/// Whose requests the cloud counts together, as far as the host can know.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Account {
    who: Who,
    host: Host,
    port: u16,
}

/// Who asks.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Who {
    /// Who signs: an access key or a role.
    Signer(AuthScheme, String),
    /// Who sends these credentials; a digest over them.
    Holder([u8; 32]),
    /// Nobody in particular. Plugins do not slow down each other without sharing credentials.
    Plugin(PluginName),
}

impl Account {
    pub(super) fn new(who: Who, target: &RequestTarget) -> Self {
        Self { who, host: target.host().clone(), port: target.port() }
    }
}

/// The buckets.
#[derive(Default)]
pub(super) struct Throttle {
    buckets: Mutex<HashMap<Account, Bucket>>,
}

/// How a request came to its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    /// At once.
    Straight,
    /// After a wait.
    Waited(Duration),
}

/// A request that gets no turn in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) retry_after: Duration,
    pub(super) is_crowded: bool,
}

impl Throttle {
    /// Waits for a turn. Ends before `deadline`, at once when there is none before it. Dropping the future gives up the place.
    pub(super) async fn turn(&self, account: &Account, deadline: Instant) -> Result<Passage, Held> {
        let came = Instant::now();
        let entry = self.with(account, came, |bucket| bucket.enter(came, deadline));
        let (ticket, mut until) = match entry {
            None | Some(Entry::Go) => return Ok(Passage::Straight),
            Some(Entry::Late { retry_after }) => return Err(Held { retry_after, is_crowded: false }),
            Some(Entry::Crowded { retry_after }) => return Err(Held { retry_after, is_crowded: true }),
            Some(Entry::Wait { ticket, until }) => (ticket, until),
        };
        let _place = Place { throttle: self, account, ticket };
        loop {
            sleep_until(until).await;
            let now = Instant::now();
            match self.with(account, now, |bucket| bucket.poll(ticket, now, deadline)) {
                None | Some(Turn::Go) => return Ok(Passage::Waited(now.duration_since(came))),
                Some(Turn::Late { retry_after }) => return Err(Held { retry_after, is_crowded: false }),
                Some(Turn::Wait { until: later }) => until = later,
            }
        }
    }

    /// The account's cloud complained about a request that was sent at `sent_at`.
    pub(super) fn slow_down(&self, account: &Account, sent_at: Instant, retry_after: Option<Duration>) {
        let now = Instant::now();
        self.with(account, now, |bucket| bucket.slow_down(sent_at, now, retry_after));
    }

    /// Accounts whose requests have to wait for turns.
    pub(super) fn slow_accounts(&self) -> usize {
        let now = Instant::now();
        let mut buckets = self.buckets();
        buckets.values_mut().filter_map(|bucket| bucket.is_slow(now).then_some(())).count()
    }

    /// `None` when all places are taken by accounts that are in use: then the request goes unpaced.
    fn with<T>(&self, account: &Account, now: Instant, ask: impl FnOnce(&mut Bucket) -> T) -> Option<T> {
        let mut buckets = self.buckets();
        if !buckets.contains_key(account) {
            make_room(&mut buckets, now)?;
        }
        Some(ask(buckets.entry(account.clone()).or_insert_with(|| Bucket::new(now))))
    }

    /// A panic elsewhere leaves nothing half-done here.
    fn buckets(&self) -> MutexGuard<'_, HashMap<Account, Bucket>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets what is idle; else the account that was asked least recently and that nobody waits for.
fn make_room(buckets: &mut HashMap<Account, Bucket>, now: Instant) -> Option<()> {
    if buckets.len() < MOST_ACCOUNTS {
        return Some(());
    }
    buckets.retain(|_, bucket| !bucket.is_idle(now));
    if buckets.len() < MOST_ACCOUNTS {
        return Some(());
    }
    let unused = buckets.iter().filter(|(_, bucket)| bucket.waiting() == 0);
    let oldest = unused.min_by_key(|(_, bucket)| bucket.last_sent()).map(|(account, _)| account.clone())?;
    buckets.remove(&oldest);
    Some(())
}

/// Gives the place back when the request goes away.
struct Place<'a> {
    throttle: &'a Throttle,
    account: &'a Account,
    ticket: Ticket,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(bucket) = self.throttle.buckets().get_mut(self.account) {
            bucket.leave(self.ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn account(name: &str) -> Account {
        let target = RequestTarget::parse(&Method::GET, "https://ec2.example.com/").unwrap();
        Account::new(Who::Plugin(name.into()), &target)
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_wait_for_themselves_only_and_in_order() {
        let throttle = Throttle::default();
        let (slow, free) = (account("slow"), account("free"));
        let far = Instant::now() + Duration::from_secs(1000);
        assert_eq!(throttle.turn(&slow, far).await, Ok(Passage::Straight));
        throttle.slow_down(&slow, Instant::now(), Some(Duration::from_secs(5)));
        assert_eq!((throttle.slow_accounts(), throttle.turn(&free, far).await), (1, Ok(Passage::Straight)));
        let start = Instant::now();
        let (first, second) = tokio::join!(throttle.turn(&slow, far), throttle.turn(&slow, far));
        let (Ok(Passage::Waited(first)), Ok(Passage::Waited(second))) = (first, second) else {
            panic!("both wait");
        };
        assert!(first >= Duration::from_secs(5) && first < second, "{first:?} {second:?}");
        assert!(start.elapsed() < Duration::from_secs(9));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_goes_away_leaves_no_place_behind() {
        let throttle = Throttle::default();
        let slow = account("slow");
        let far = Instant::now() + Duration::from_secs(1000);
        throttle.slow_down(&slow, Instant::now(), Some(Duration::from_secs(5)));
        let given_up = tokio::time::timeout(Duration::from_secs(1), throttle.turn(&slow, far)).await;
        assert!(given_up.is_err());
        assert_eq!(throttle.buckets()[&slow].waiting(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_are_forgotten_when_nobody_needs_them() {
        let throttle = Throttle::default();
        let far = Instant::now() + Duration::from_secs(10_000);
        let slow = account("slow");
        throttle.slow_down(&slow, Instant::now(), Some(Duration::from_secs(600)));
        for n in 0..2 * MOST_ACCOUNTS {
            assert_eq!(throttle.turn(&account(&n.to_string()), far).await, Ok(Passage::Straight));
            assert!(throttle.buckets().len() <= MOST_ACCOUNTS);
        }
        tokio::time::advance(Duration::from_secs(20)).await;
        throttle.slow_down(&slow, Instant::now(), Some(Duration::from_secs(600)));
        assert_eq!(throttle.turn(&account("another"), far).await, Ok(Passage::Straight));
        assert_eq!(throttle.buckets().len(), 2, "idle ones went, the slow one stayed");
    }
}

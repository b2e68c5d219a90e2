//! One queue for each cloud account, over all plugins: plugins that share an account share its pace. An account has no
//! limit until its cloud complains more often than by chance.
//!
//! | module | what it does |
//! | --- | --- |
//! | `bucket` | the queue: which request is next, and when |
//! | `pace` | how fast requests are sent, by the account's answers |
//! | `lesson` | reads pace and stale credentials from an answer |

mod bucket;
mod lesson;
mod pace;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use machinist_core::value::id::PluginName;
use tokio::time::{Instant, sleep_until};

use crate::auth::Holder;
use crate::resources::priority_semaphore::{Permit, PrioritySemaphore, Rank};
use crate::resources::seat::Seat;
use crate::resources::urgency::Urgency;
use crate::target::{Host, RequestTarget};

pub(super) use lesson::{HEAD_BYTES, clock_skew_seconds, codes, is_slower, retry_after};
pub(super) use pace::RateSignal;

use bucket::{Bucket, Entry, Ticket, Turn};

/// Accounts that are remembered. One takes a few hundred bytes; a host has a handful.
const MOST_ACCOUNTS: usize = 1024;

/// The requests that a cloud counts together, as far as the host can know.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct CloudAccount {
    who: Who,
    host: Host,
    port: u16,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Who {
    Holder(Holder),
    /// Nobody in particular. Plugins do not slow down each other without sharing credentials.
    Plugin(PluginName),
}

impl CloudAccount {
    pub(super) fn new(who: Who, target: &RequestTarget) -> Self {
        Self { who, host: target.host().clone(), port: target.port() }
    }
}

/// Calls of one throttled account that have an instance and wait for their turn. The others wait at its door, without
/// an instance. The number is high enough that a call is ready for each turn.
const MOST_INSIDE: usize = 8;

/// Classes whose accounts are remembered, and accounts of each.
const MOST_CLASSES: usize = 4096;
const ACCOUNTS_PER_CLASS: usize = 4;

/// A class of a plugin. Its calls use its Secret, and hence the same accounts.
type ClassKey = (PluginName, String);

#[derive(Default)]
pub(super) struct Throttle {
    buckets: Mutex<HashMap<CloudAccount, AccountState>>,
    /// Which accounts the calls of a class have used.
    classes: Mutex<HashMap<ClassKey, Vec<CloudAccount>>>,
}

struct AccountState {
    bucket: Bucket,
    door: PrioritySemaphore,
}

/// How a request came to its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passage {
    Straight,
    Waited(Duration),
}

/// A request that gets no turn in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TurnTimeout {
    pub(super) retry_after: Duration,
    pub(super) is_crowded: bool,
}

impl AccountState {
    fn new(now: Instant) -> Self {
        Self { bucket: Bucket::new(now), door: PrioritySemaphore::new(MOST_INSIDE) }
    }
}

impl Throttle {
    /// Waits at the door of the slow account that calls of this class use; a free account has no door.
    pub(super) async fn door(&self, class: &ClassKey, urgency: Urgency) -> Option<Permit> {
        let accounts = self.classes().get(class).cloned()?;
        let now = Instant::now();
        let door = accounts.iter().find_map(|account| {
            let mut buckets = self.buckets();
            let line = buckets.get_mut(account)?;
            line.bucket.is_slow(now).then(|| line.door.clone())
        })?;
        Some(door.acquire(Rank::New(urgency)).await)
    }

    /// A call of this class uses this account.
    pub(super) fn learn(&self, class: &ClassKey, account: &CloudAccount) {
        let mut classes = self.classes();
        match classes.get_mut(class) {
            Some(accounts) if accounts.contains(account) => {}
            Some(accounts) => {
                accounts.insert(0, account.clone());
                accounts.truncate(ACCOUNTS_PER_CLASS);
            }
            None => {
                if classes.len() >= MOST_CLASSES {
                    // They are learned again with their next calls.
                    classes.clear();
                }
                classes.insert(class.clone(), vec![account.clone()]);
            }
        }
    }

    /// Waits for a turn. Ends before `deadline`, and at once if there is no turn before it. Dropping the future gives
    /// up the place.
    pub(super) async fn turn(
        &self,
        account: &CloudAccount,
        seat: Option<&Seat>,
        deadline: Instant,
    ) -> Result<Passage, TurnTimeout> {
        let urgency = seat.map_or(Urgency::Urgent, |seat| seat.urgency);
        let turn = self.wait(account, (urgency, seat), deadline);
        let mut turn = std::pin::pin!(turn);
        let turn = match futures::poll!(turn.as_mut()) {
            Poll::Ready(turn) => turn,
            Poll::Pending => match seat {
                Some(seat) => seat.away(turn).await,
                None => turn.await,
            },
        };
        if let Some(seat) = seat {
            seat.has_turn();
        }
        turn
    }

    async fn wait(
        &self,
        account: &CloudAccount,
        (urgency, seat): (Urgency, Option<&Seat>),
        deadline: Instant,
    ) -> Result<Passage, TurnTimeout> {
        let came = Instant::now();
        let entry = self.with(account, came, |line| {
            let entry = line.bucket.enter(urgency, came, deadline);
            if let (Entry::Wait { .. }, Some(seat)) = (&entry, seat) {
                seat.waits_behind(&line.door);
            }
            entry
        });
        let (ticket, mut until) = match entry {
            None | Some(Entry::Go) => return Ok(Passage::Straight),
            Some(Entry::Late { retry_after }) => return Err(TurnTimeout { retry_after, is_crowded: false }),
            Some(Entry::Crowded { retry_after }) => {
                return Err(TurnTimeout { retry_after, is_crowded: true });
            }
            Some(Entry::Wait { ticket, until }) => (ticket, until),
        };
        let _place = QueuePlace { throttle: self, account, ticket };
        loop {
            sleep_until(until).await;
            let now = Instant::now();
            match self.with(account, now, |line| line.bucket.poll(ticket, now, deadline)) {
                None | Some(Turn::Go) => return Ok(Passage::Waited(now.duration_since(came))),
                Some(Turn::Late { retry_after }) => {
                    return Err(TurnTimeout { retry_after, is_crowded: false });
                }
                Some(Turn::Wait { until: later }) => until = later,
            }
        }
    }

    /// The account's cloud has answered a request that was sent at `sent_at`.
    pub(super) fn answered(&self, account: &CloudAccount, sent_at: Instant, answer: RateSignal) {
        let now = Instant::now();
        self.with(account, now, |line| line.bucket.answered(sent_at, now, answer));
    }

    /// Returns the number of accounts whose requests have to wait.
    pub(super) fn slow_accounts(&self) -> usize {
        let now = Instant::now();
        let mut buckets = self.buckets();
        buckets.values_mut().filter_map(|line| line.bucket.is_slow(now).then_some(())).count()
    }

    /// `None` if accounts in use take all places: then the request is not paced.
    fn with<T>(
        &self,
        account: &CloudAccount,
        now: Instant,
        ask: impl FnOnce(&mut AccountState) -> T,
    ) -> Option<T> {
        let mut buckets = self.buckets();
        if !buckets.contains_key(account) {
            make_room(&mut buckets, now)?;
        }
        Some(ask(buckets.entry(account.clone()).or_insert_with(|| AccountState::new(now))))
    }

    /// A panic elsewhere leaves nothing half-done here.
    fn buckets(&self) -> MutexGuard<'_, HashMap<CloudAccount, AccountState>> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn classes(&self) -> MutexGuard<'_, HashMap<ClassKey, Vec<CloudAccount>>> {
        self.classes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets idle accounts; else the account without waiting requests that was used least recently.
fn make_room(buckets: &mut HashMap<CloudAccount, AccountState>, now: Instant) -> Option<()> {
    if buckets.len() < MOST_ACCOUNTS {
        return Some(());
    }
    buckets.retain(|_, line| !line.bucket.is_idle(now));
    if buckets.len() < MOST_ACCOUNTS {
        return Some(());
    }
    let unused = buckets.iter().filter(|(_, line)| line.bucket.waiting() == 0);
    let oldest =
        unused.min_by_key(|(_, line)| line.bucket.last_sent()).map(|(account, _)| account.clone())?;
    buckets.remove(&oldest);
    Some(())
}

/// Gives the place back when the request is dropped.
struct QueuePlace<'a> {
    throttle: &'a Throttle,
    account: &'a CloudAccount,
    ticket: Ticket,
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.throttle.buckets().get_mut(self.account) {
            line.bucket.leave(self.ticket);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    fn too_fast(seconds: u64) -> RateSignal {
        RateSignal::TooFast { retry_after: Some(Duration::from_secs(seconds)) }
    }

    fn account(name: &str) -> CloudAccount {
        let target = RequestTarget::parse(&Method::GET, "https://ec2.example.com/").unwrap();
        CloudAccount::new(Who::Plugin(name.into()), &target)
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_wait_for_themselves_only_and_in_order() {
        let throttle = Throttle::default();
        let (slow, free) = (account("slow"), account("free"));
        let far = Instant::now() + Duration::from_secs(1000);
        assert_eq!(throttle.turn(&slow, None, far).await, Ok(Passage::Straight));
        throttle.answered(&slow, Instant::now(), too_fast(5));
        assert_eq!(
            (throttle.slow_accounts(), throttle.turn(&free, None, far).await),
            (1, Ok(Passage::Straight))
        );
        let start = Instant::now();
        let (first, second) = tokio::join!(throttle.turn(&slow, None, far), throttle.turn(&slow, None, far));
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
        throttle.answered(&slow, Instant::now(), too_fast(5));
        let given_up = tokio::time::timeout(Duration::from_secs(1), throttle.turn(&slow, None, far)).await;
        assert!(given_up.is_err());
        assert_eq!(throttle.buckets()[&slow].bucket.waiting(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_are_forgotten_when_nobody_needs_them() {
        let throttle = Throttle::default();
        let far = Instant::now() + Duration::from_secs(10_000);
        let slow = account("slow");
        throttle.answered(&slow, Instant::now(), too_fast(600));
        for n in 0..2 * MOST_ACCOUNTS {
            assert_eq!(throttle.turn(&account(&n.to_string()), None, far).await, Ok(Passage::Straight));
            assert!(throttle.buckets().len() <= MOST_ACCOUNTS);
        }
        tokio::time::advance(Duration::from_secs(20)).await;
        throttle.answered(&slow, Instant::now(), too_fast(600));
        assert_eq!(throttle.turn(&account("another"), None, far).await, Ok(Passage::Straight));
        assert_eq!(throttle.buckets().len(), 2, "idle ones went, the slow one stayed");
    }
}

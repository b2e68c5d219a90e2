//! Keeps the credentials that token services gave, for the whole process. Of many calls that want the same credential
//! one asks, and the others share its answer, a failure too.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::time::{Instant, timeout_at};

use crate::auth::Lease;

/// Credentials that are kept. A host has a handful.
const MOST_KEPT: usize = 1024;

/// A cache of `V` by `K`. All calls that waited share the reason `E` why there is none.
pub(super) struct Cache<K, V, E> {
    slots: Mutex<HashMap<K, Arc<Slot<V, E>>>>,
}

struct Slot<V, E> {
    current: Mutex<Option<Arc<Lease<V>>>>,
    /// Locked by the call that asks.
    flight: tokio::sync::Mutex<Option<Landed<E>>>,
}

/// The failure of the last attempt, and its time.
struct Landed<E> {
    at: Instant,
    error: E,
}

/// Says of a failure whether other calls that waited share it.
pub(super) trait Shared {
    /// False if only the call that asked had too little time.
    fn is_shared(&self) -> bool;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Got {
    Kept,
    Fetched,
}

#[derive(Debug)]
pub(super) enum Missing<E> {
    /// The deadline came first.
    Deadline,
    Failed(E),
}

impl<K, V, E> Default for Cache<K, V, E> {
    fn default() -> Self {
        Self { slots: Mutex::default() }
    }
}

impl<K: Clone + Eq + Hash, V, E: Clone + Shared> Cache<K, V, E> {
    /// Returns the value of this key. Calls `fetch` at most once, and keeps its value; an error is not kept.
    pub(super) async fn get<F: Future<Output = Result<Lease<V>, E>>>(
        &self,
        key: &K,
        clock: impl Fn() -> Timestamp,
        deadline: Instant,
        fetch: impl FnOnce() -> F,
    ) -> Result<(Arc<Lease<V>>, Got), Missing<E>> {
        let came = Instant::now();
        let slot = self.slot(key, clock());
        let kept = slot.usable(clock());
        let mut flight = match &kept {
            Some(keys) if keys.is_fresh(clock()) => return Ok((Arc::clone(keys), Got::Kept)),
            // Another call renews it already, and this one is good for a while.
            Some(keys) => match slot.flight.try_lock() {
                Ok(flight) => flight,
                Err(_) => return Ok((Arc::clone(keys), Got::Kept)),
            },
            None => timeout_at(deadline, slot.flight.lock()).await.map_err(|_| Missing::Deadline)?,
        };
        if let Some(keys) = slot.usable(clock()).filter(|keys| keys.is_fresh(clock())) {
            return Ok((keys, Got::Kept));
        }
        // A call that came before that attempt ended shares its end.
        if let Some(landed) = flight.as_ref().filter(|landed| came < landed.at) {
            return Err(Missing::Failed(landed.error.clone()));
        }
        match fetch().await {
            Ok(keys) => {
                *flight = None;
                let keys = Arc::new(keys);
                *slot.current() = Some(Arc::clone(&keys));
                Ok((keys, Got::Fetched))
            }
            Err(error) => {
                *flight = error.is_shared().then(|| Landed { at: Instant::now(), error: error.clone() });
                // The next request tries a failed renewal again.
                kept.map(|keys| (keys, Got::Kept)).ok_or(Missing::Failed(error))
            }
        }
    }

    /// Drops a value that the cloud refuses. A newer one stays.
    pub(super) fn forget(&self, key: &K, refused: &Arc<Lease<V>>) {
        let slot = self.slots().get(key).cloned();
        if let Some(slot) = slot {
            slot.current().take_if(|kept| Arc::ptr_eq(kept, refused));
        }
    }

    fn slot(&self, key: &K, now: Timestamp) -> Arc<Slot<V, E>> {
        let mut slots = self.slots();
        if let Some(slot) = slots.get(key) {
            return Arc::clone(slot);
        }
        if slots.len() >= MOST_KEPT {
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.usable(now).is_some());
        }
        let slot = Arc::new(Slot { current: Mutex::default(), flight: tokio::sync::Mutex::default() });
        // With that many in use, a further one is not kept.
        if slots.len() < MOST_KEPT {
            slots.insert(key.clone(), Arc::clone(&slot));
        }
        slot
    }

    /// A panic elsewhere leaves nothing half-done here.
    fn slots(&self) -> MutexGuard<'_, HashMap<K, Arc<Slot<V, E>>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V, E> Slot<V, E> {
    fn current(&self) -> MutexGuard<'_, Option<Arc<Lease<V>>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn usable(&self, now: Timestamp) -> Option<Arc<Lease<V>>> {
        self.current().as_ref().filter(|keys| keys.is_usable(now)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    impl Shared for &str {
        fn is_shared(&self) -> bool {
            *self != "out of time"
        }
    }

    struct Service {
        cache: Cache<&'static str, String, &'static str>,
        now: Mutex<Timestamp>,
        fetches: AtomicUsize,
    }

    impl Service {
        fn new() -> Self {
            let now = Mutex::new("2026-03-01T12:00:00Z".parse().unwrap());
            Self { cache: Cache::default(), now, fetches: AtomicUsize::new(0) }
        }

        fn now(&self) -> Timestamp {
            *self.now.lock().unwrap()
        }

        fn pass(&self, time: Duration) {
            *self.now.lock().unwrap() += time;
        }

        /// The name of the keys that somebody gets who asks while the service answers so.
        async fn ask(&self, key: &'static str, answer: Result<(), &'static str>) -> Result<String, String> {
            let deadline = Instant::now() + 10 * HOUR;
            let fetch = || async {
                let count = self.fetches.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(1)).await;
                answer.map(|()| self.keys(count))
            };
            let keys = self.cache.get(&key, || self.now(), deadline, fetch).await;
            keys.map(|(keys, _)| keys.value.clone()).map_err(|error| format!("{error:?}"))
        }

        fn keys(&self, count: usize) -> Lease<String> {
            Lease::until(format!("A{count}"), self.now() + HOUR, self.now()).unwrap()
        }

        async fn lease(&self, key: &'static str) -> Arc<Lease<String>> {
            let far = Instant::now() + HOUR;
            self.cache.get(&key, || self.now(), far, || async { Ok(self.keys(7)) }).await.unwrap().0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_hundred_that_want_the_same_keys_ask_once() {
        let service = Service::new();
        let all = futures::future::join_all((0..100).map(|_| service.ask("a", Ok(())))).await;
        assert!(all.iter().all(|keys| keys.as_deref() == Ok("A0")), "{all:?}");
        assert_eq!(service.ask("b", Ok(())).await.as_deref(), Ok("A1"), "another question");
        assert_eq!(service.fetches.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_by_those_who_waited_and_not_kept() {
        let service = Service::new();
        let all = futures::future::join_all((0..100).map(|_| service.ask("a", Err("denied")))).await;
        assert!(all.iter().all(|keys| keys.as_ref().is_err_and(|error| error.contains("denied"))), "{all:?}");
        assert_eq!(service.fetches.load(Ordering::Relaxed), 1);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(service.ask("a", Ok(())).await.as_deref(), Ok("A1"), "a later call asks");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_with_more_time_than_the_one_that_asked_asks_itself() {
        let service = Service::new();
        let (first, second) = tokio::join!(service.ask("a", Err("out of time")), service.ask("a", Ok(())));
        assert!(first.is_err());
        assert_eq!(second.as_deref(), Ok("A1"));
    }

    #[tokio::test(start_paused = true)]
    async fn keys_are_renewed_by_one_while_others_use_the_old_ones() {
        let service = Service::new();
        service.ask("a", Ok(())).await.unwrap();
        service.pass(HOUR - Duration::from_secs(300));
        let (renewed, others) = tokio::join!(service.ask("a", Ok(())), async {
            futures::future::join_all((0..10).map(|_| service.ask("a", Ok(())))).await
        });
        assert_eq!(renewed.as_deref(), Ok("A1"));
        assert!(others.iter().all(|keys| keys.as_deref() == Ok("A0")), "{others:?}");
        assert_eq!(service.fetches.load(Ordering::Relaxed), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_that_fails_leaves_the_old_ones_until_they_end() {
        let service = Service::new();
        service.ask("a", Ok(())).await.unwrap();
        service.pass(HOUR - Duration::from_secs(200));
        assert_eq!(service.ask("a", Err("denied")).await.as_deref(), Ok("A0"));
        service.pass(Duration::from_secs(180));
        assert!(service.ask("a", Err("denied")).await.is_err(), "20 s are too short for a request");
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_the_cloud_refused_are_forgotten_and_no_others() {
        let service = Service::new();
        let refused = service.lease("a").await;
        let other = service.lease("b").await;
        service.cache.forget(&"a", &other);
        assert_eq!(service.ask("a", Ok(())).await.as_deref(), Ok("A7"));
        service.cache.forget(&"a", &refused);
        assert_eq!(service.ask("a", Ok(())).await.as_deref(), Ok("A0"));
        service.cache.forget(&"a", &refused);
        assert_eq!(service.ask("a", Ok(())).await.as_deref(), Ok("A0"), "the next one is another");
        service.cache.forget(&"unknown", &refused);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_goes_away_while_asking_leaves_it_to_the_next() {
        let service = Service::new();
        let (given_up, next) = tokio::join!(
            tokio::time::timeout(Duration::from_millis(500), service.ask("a", Ok(()))),
            service.ask("a", Ok(())),
        );
        assert!(given_up.is_err());
        assert_eq!(next.as_deref(), Ok("A1"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_ends_at_its_deadline() {
        let service = Service::new();
        let soon = Instant::now() + Duration::from_millis(500);
        let never = || async { std::future::pending().await };
        let (_, missed) = tokio::join!(
            tokio::time::timeout(Duration::from_secs(2), service.ask("a", Ok(()))),
            service.cache.get(&"a", || service.now(), soon, never),
        );
        assert!(matches!(missed, Err(Missing::Deadline)), "{missed:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_cache_has_a_limit() {
        let cache: Cache<usize, String, &str> = Cache::default();
        let service = Service::new();
        for key in 0..2 * MOST_KEPT {
            let far = Instant::now() + HOUR;
            let got = cache.get(&key, || service.now(), far, || async { Ok(service.keys(key)) }).await;
            assert!(got.is_ok());
        }
        assert_eq!(cache.slots().len(), MOST_KEPT);
        service.pass(HOUR);
        let far = Instant::now() + HOUR;
        assert!(cache.get(&9999, || service.now(), far, || async { Ok(service.keys(1)) }).await.is_ok());
        assert_eq!(cache.slots().len(), 1, "keys that ended make room");
    }
}

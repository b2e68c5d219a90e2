//! The highest counter with which each plugin has served, kept where writers of its ConfigMaps have no rights.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use machinist_artifacts::bundle;
use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::sources::PluginKey;

/// Keeps counters beyond the life of a host.
pub trait CounterStore: Send + Sync {
    /// The highest counter of this plugin, of the kind that its label says. `None`: it has never served with one.
    fn highest(&self, kind: &'static str, plugin: &str) -> BoxFuture<'_, Result<Option<u64>, String>>;

    /// Raises it. A higher one that is there stays.
    fn raise(&self, kind: &'static str, plugin: &str, counter: u64) -> BoxFuture<'_, Result<(), String>>;

    /// Where an operator finds it, for messages.
    fn place(&self, kind: &'static str, plugin: &str) -> String;
}

/// Counters in memory alone. For hosts without a store, such as those of tests.
#[derive(Debug, Default)]
struct InMemoryCounters(Mutex<BTreeMap<(&'static str, String), u64>>);

impl InMemoryCounters {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(&'static str, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CounterStore for InMemoryCounters {
    fn highest(&self, kind: &'static str, plugin: &str) -> BoxFuture<'_, Result<Option<u64>, String>> {
        let highest = self.all().get(&(kind, plugin.to_owned())).copied();
        Box::pin(std::future::ready(Ok(highest)))
    }

    fn raise(&self, kind: &'static str, plugin: &str, counter: u64) -> BoxFuture<'_, Result<(), String>> {
        let mut all = self.all();
        let known = all.entry((kind, plugin.to_owned())).or_insert(counter);
        *known = counter.max(*known);
        Box::pin(std::future::ready(Ok(())))
    }

    fn place(&self, _kind: &'static str, _plugin: &str) -> String {
        "the memory of the host, which a restart empties".to_owned()
    }
}

/// Why a version may not serve by its counter.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CounterError {
    #[error("failed to read the highest counter of the plugin: {detail}")]
    Store { detail: String },
    #[error("{}", refused(*counter, *highest, place))]
    Low { counter: Option<u64>, highest: u64, place: String },
}

/// The reason and both ways out.
fn refused(counter: Option<u64>, highest: u64, place: &str) -> String {
    let own = own(counter);
    format!(
        "{own}, and the plugin has served with {highest}: to go back to this version sign it with a counter of at least \
         {highest} (`machinist plugin sign --configmap NAME`, or `plugin bundle --counter {highest}` and cosign), or let \
         an administrator lower {place}"
    )
}

fn own(counter: Option<u64>) -> String {
    counter.map_or_else(
        || "it has no bundle, so no counter".to_owned(),
        |counter| format!("its bundle has counter {counter}"),
    )
}

/// Returns the reason of a version that is displaced by one with a higher counter.
pub(crate) fn displaced(counter: Option<u64>, highest: u64) -> String {
    let own = own(counter);
    format!(
        "{own}, and a version with {highest} is Ready: sign it with a counter of at least {highest} if it is to serve again \
         (`machinist plugin sign --configmap NAME`)"
    )
}

/// Between attempts to write: ever longer.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Reads and raises counters. A raised counter counts at once, and is written until that succeeds.
pub(crate) struct Counters {
    store: Arc<dyn CounterStore>,
    state: Mutex<CountersState>,
    wake: Notify,
}

#[derive(Default)]
struct CountersState {
    /// Highest counters that this process has seen to serve, so that each is noted once.
    noted: BTreeMap<PluginKey, u64>,
    /// Of these, what the store does not have yet.
    unwritten: BTreeMap<PluginKey, u64>,
}

impl Counters {
    pub(crate) fn new(store: Option<Arc<dyn CounterStore>>) -> Self {
        let store = store.unwrap_or_else(|| Arc::new(InMemoryCounters::default()));
        Self { store, state: Mutex::default(), wake: Notify::new() }
    }

    /// Whether a version with this counter may serve.
    pub(crate) async fn check(&self, plugin: &PluginKey, counter: Option<u64>) -> Result<(), CounterError> {
        let (kind, name) = (plugin.role.label(), plugin.name.as_str());
        let kept = self.store.highest(kind, name).await;
        let kept = kept.map_err(|detail| CounterError::Store { detail })?;
        let highest = kept.max(self.state().unwritten.get(plugin).copied());
        match highest {
            Some(highest) if !bundle::is_current(counter, Some(highest)) => {
                Err(CounterError::Low { counter, highest, place: self.store.place(kind, name) })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A version with this counter is Ready and whole.
    pub(crate) fn note(&self, plugin: &PluginKey, counter: u64) {
        let mut state = self.state();
        if state.noted.get(plugin).is_some_and(|noted| *noted >= counter) {
            return;
        }
        state.noted.insert(plugin.clone(), counter);
        state.unwritten.insert(plugin.clone(), counter);
        drop(state);
        self.wake.notify_one();
    }

    /// Writes what was noted, until it is dropped.
    pub(crate) async fn write(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let next = self.state().unwritten.first_key_value().map(|(plugin, at)| (plugin.clone(), *at));
            let Some((plugin, counter)) = next else {
                self.wake.notified().await;
                continue;
            };
            match self.store.raise(plugin.role.label(), plugin.name.as_str(), counter).await {
                Ok(()) => {
                    info!(%plugin, counter, "highest counter of a plugin kept");
                    let mut state = self.state();
                    if state.unwritten.get(&plugin) == Some(&counter) {
                        state.unwritten.remove(&plugin);
                    }
                    pause = FIRST_PAUSE;
                }
                Err(trouble) => {
                    warn!(%plugin, counter, trouble, "highest counter of a plugin not kept yet");
                    sleep(pause).await;
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, CountersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::sources::Contract;

    fn key() -> PluginKey {
        PluginKey { name: "aws".into(), role: Contract::Driver }
    }

    /// Fails for a while.
    #[derive(Default)]
    struct Flaky {
        memory: InMemoryCounters,
        failures: AtomicU32,
    }

    impl CounterStore for Flaky {
        fn highest(&self, kind: &'static str, plugin: &str) -> BoxFuture<'_, Result<Option<u64>, String>> {
            self.memory.highest(kind, plugin)
        }

        fn raise(&self, kind: &'static str, plugin: &str, to: u64) -> BoxFuture<'_, Result<(), String>> {
            if self.failures.fetch_add(1, Ordering::SeqCst) < 3 {
                return Box::pin(std::future::ready(Err("the server is away".to_owned())));
            }
            self.memory.raise(kind, plugin, to)
        }

        fn place(&self, kind: &'static str, plugin: &str) -> String {
            format!("Lease {kind}/{plugin}")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_counter_counts_before_it_is_written_and_is_written_in_the_end() {
        let store = Arc::new(Flaky::default());
        let counters = Arc::new(Counters::new(Some(store.clone())));
        assert!(counters.check(&key(), None).await.is_ok(), "it has never served with one");
        counters.note(&key(), 7);
        let low = counters.check(&key(), Some(6)).await.expect_err("it is low").to_string();
        assert!(low.contains("counter 6") && low.contains("served with 7"), "{low}");
        assert!(low.contains("lower Lease driver/aws"), "{low}");
        assert!(counters.check(&key(), Some(7)).await.is_ok());
        let bare = counters.check(&key(), None).await.expect_err("it has none").to_string();
        assert!(bare.contains("no bundle"), "{bare}");
        assert_eq!(store.highest("driver", "aws").await, Ok(None));
        let writer = tokio::spawn({
            let counters = Arc::clone(&counters);
            async move { counters.write().await }
        });
        sleep(Duration::from_secs(30)).await;
        assert_eq!(store.highest("driver", "aws").await, Ok(Some(7)));
        assert!(counters.state().unwritten.is_empty());
        // A lower one raises nothing, and an administrator may lower what is kept.
        counters.note(&key(), 5);
        assert!(counters.state().unwritten.is_empty());
        store.memory.all().clear();
        assert!(counters.check(&key(), Some(1)).await.is_ok());
        writer.abort();
    }
}

//! One budget of bytes for all that strangers can make the process hold: memories and tables of guests, bodies of
//! requests and answers, buffers of the scrubber, and the compiler.
//!
//! Bytes are taken before something grows, and given back when it is dropped.
//!
//! | module | what it does |
//! | --- | --- |
//! | `share` | decides whether one owner may hold more |
//! | `room` | finds the size of the budget: the limit of the cgroup, or the memory of the machine |

mod room;
mod share;
#[cfg(test)]
#[path = "tests.rs"]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use machinist_core::value::id::PluginName;
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::Notify;
use tokio::time::timeout_at;
use tracing::info;

use crate::metrics::Metrics;
use crate::resources::budget::share::OwnerMemory;

const MIB: u64 = 1 << 20;

/// The budget; a clone is the same one.
#[derive(Clone)]
pub(crate) struct Budget(Arc<BudgetState>);

struct BudgetState {
    total_bytes: u64,
    owners: Mutex<BTreeMap<MemoryOwner, OwnerEntry>>,
    /// Something was given back.
    freed: Notify,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MemoryOwner {
    Plugin(PluginName),
    Compiler,
}

struct OwnerEntry {
    taken_bytes: u64,
    /// Set aside for the compiler while it runs. The part of a plugin follows from how many there are.
    reserve_bytes: u64,
    accounts: usize,
    shown: Gauge,
}

/// The budget has no room for what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "all plugins share {} MiB, of which this one holds {} MiB: raise the memory limit of the pod or --plugin-memory, or \
     lower limits.calls_in_flight in the grants of the plugin that holds most", total_bytes / MIB, taken_bytes / MIB
)]
pub(crate) struct Full {
    pub(crate) total_bytes: u64,
    /// By the owner that asked.
    pub(crate) taken_bytes: u64,
}

impl Budget {
    /// Makes a budget of this size, or of the process's room without the part of the controllers.
    pub(crate) fn new(total_bytes: Option<u64>, metrics: &Metrics) -> Self {
        let total_bytes = total_bytes.unwrap_or_else(|| {
            let room = room::room();
            let budget_bytes = room::budget_bytes(room.bytes);
            info!(%room, budget_mib = budget_bytes / MIB, "memory that plugins and the compiler share");
            budget_bytes
        });
        metrics.show_budget(total_bytes);
        Self(Arc::new(BudgetState { total_bytes, owners: Mutex::default(), freed: Notify::new() }))
    }

    /// Makes a budget that holds any amount.
    pub(crate) fn endless() -> Self {
        Self(Arc::new(BudgetState { total_bytes: u64::MAX, owners: Mutex::default(), freed: Notify::new() }))
    }

    /// Opens the account of a plugin. While one is open, a part of the budget is set aside for the plugin.
    pub(crate) fn of_plugin(&self, plugin: &PluginName, shown: Gauge) -> MemoryAccount {
        self.open(MemoryOwner::Plugin(plugin.clone()), shown)
    }

    pub(crate) fn of_compiler(&self, shown: Gauge) -> MemoryAccount {
        self.open(MemoryOwner::Compiler, shown)
    }

    fn open(&self, owner: MemoryOwner, shown: Gauge) -> MemoryAccount {
        let mut owners = self.owners();
        let entry = owners.entry(owner.clone()).or_insert(OwnerEntry {
            taken_bytes: 0,
            reserve_bytes: 0,
            accounts: 0,
            shown,
        });
        entry.accounts += 1;
        MemoryAccount(Arc::new(Open { budget: self.clone(), owner }))
    }

    fn owners(&self) -> MutexGuard<'_, BTreeMap<MemoryOwner, OwnerEntry>> {
        self.0.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open account of an owner; a clone is the same account.
#[derive(Clone)]
pub(crate) struct MemoryAccount(Arc<Open>);

struct Open {
    budget: Budget,
    owner: MemoryOwner,
}

impl MemoryAccount {
    /// Opens an account of a budget that holds any amount.
    pub(crate) fn endless(plugin: &PluginName) -> Self {
        Budget::endless().of_plugin(plugin, Gauge::default())
    }

    pub(crate) fn nothing(&self) -> Taken {
        Taken { account: self.clone(), bytes: 0 }
    }

    /// Takes this much, or nothing.
    pub(crate) fn take(&self, bytes: u64) -> Result<Taken, Full> {
        let mut taken = self.nothing();
        taken.grow_to(bytes)?;
        Ok(taken)
    }

    /// Takes this much as soon as there is room for it. Calls that are larger than their part wait for no more than
    /// what others cannot keep from them for ever.
    pub(crate) async fn take_until(&self, bytes: u64, until: Instant) -> Result<Taken, Full> {
        let bytes = bytes.min(share::most_start_bytes(self.0.budget.0.total_bytes));
        self.wait(bytes, Some(until)).await
    }

    /// Takes this much for the compiler, however long that takes, at most its part. It is set aside from now on:
    /// calls that run go on to their end, and others do not get it.
    pub(crate) async fn set_aside(&self, bytes: u64) -> Result<SetAside, Full> {
        let bytes = self.most_of_compiler(bytes);
        let mut aside = SetAside { taken: self.nothing() };
        self.reserve(bytes);
        aside.taken = self.wait(bytes, None).await?;
        Ok(aside)
    }

    /// Returns how much of it the compiler gets.
    pub(crate) fn most_of_compiler(&self, bytes: u64) -> u64 {
        bytes.min(share::most_compiler_bytes(self.0.budget.0.total_bytes))
    }

    async fn wait(&self, bytes: u64, until: Option<Instant>) -> Result<Taken, Full> {
        let budget = &self.0.budget.0;
        loop {
            let mut freed = std::pin::pin!(budget.freed.notified());
            // Before the look, so that nothing that is given back meanwhile is missed.
            freed.as_mut().enable();
            match self.take(bytes) {
                Ok(taken) => return Ok(taken),
                Err(full) => match until {
                    None => freed.await,
                    Some(until) => timeout_at(until.into(), freed).await.map_err(|_| full)?,
                },
            }
        }
    }

    fn reserve(&self, bytes: u64) {
        if let Some(entry) = self.0.budget.owners().get_mut(&self.0.owner) {
            entry.reserve_bytes = bytes;
        }
        self.0.budget.0.freed.notify_waiters();
    }

    fn try_more(&self, more_bytes: u64) -> Result<(), Full> {
        let Open { budget, owner } = &*self.0;
        let total_bytes = budget.0.total_bytes;
        let mut owners = budget.owners();
        let plugins = owners.keys().filter(|owner| matches!(owner, MemoryOwner::Plugin(_))).count();
        let plugin_reserve = share::plugin_reserve_bytes(total_bytes, plugins);
        let owner_memory = |(owner, entry): (&MemoryOwner, &OwnerEntry)| OwnerMemory {
            taken_bytes: entry.taken_bytes,
            reserve_bytes: match owner {
                MemoryOwner::Plugin(_) => plugin_reserve,
                MemoryOwner::Compiler => entry.reserve_bytes,
            },
        };
        let own = owners.get_key_value(owner).map(owner_memory).unwrap_or_default();
        let others = owners.iter().filter(|(other, _)| *other != owner).map(owner_memory);
        if !share::fits(total_bytes, own, others, more_bytes) {
            return Err(Full { total_bytes, taken_bytes: own.taken_bytes });
        }
        if let Some(entry) = owners.get_mut(owner) {
            entry.change(own.taken_bytes.saturating_add(more_bytes));
        }
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if let Some(entry) = self.0.budget.owners().get_mut(&self.0.owner) {
            entry.change(entry.taken_bytes.saturating_sub(bytes));
        }
        self.0.budget.0.freed.notify_waiters();
    }
}

impl OwnerEntry {
    fn change(&mut self, taken_bytes: u64) {
        self.taken_bytes = taken_bytes;
        self.shown.set(i64::try_from(taken_bytes).unwrap_or(i64::MAX));
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut owners = self.budget.owners();
        if let Some(entry) = owners.get_mut(&self.owner) {
            entry.accounts = entry.accounts.saturating_sub(1);
            // Each guard keeps its account open, so no bytes are taken when the last account is closed.
            if entry.accounts == 0 {
                owners.remove(&self.owner);
            }
        }
        drop(owners);
        self.budget.0.freed.notify_waiters();
    }
}

/// Bytes of the budget, given back when they are dropped.
pub(crate) struct Taken {
    account: MemoryAccount,
    bytes: u64,
}

impl Taken {
    /// Takes the bytes that are missing to this amount. If there is no room, the earlier bytes stay taken.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<(), Full> {
        if let Some(more) = bytes.checked_sub(self.bytes).filter(|more| *more > 0) {
            self.account.try_more(more)?;
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Gives back what is beyond this much.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        if let Some(less) = self.bytes.checked_sub(bytes) {
            self.account.give_back(less);
            self.bytes = bytes;
        }
    }

    /// Returns how much it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ties it to a buffer: given back with its last clone.
    pub(crate) fn tied_to(self, bytes: Bytes) -> Bytes {
        Bytes::from_owner(Tied { bytes, _taken: self })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.account.give_back(self.bytes);
    }
}

struct Tied {
    bytes: Bytes,
    _taken: Taken,
}

impl AsRef<[u8]> for Tied {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Bytes that are set aside for the compiler until it has ended.
pub(crate) struct SetAside {
    taken: Taken,
}

impl SetAside {
    /// Returns how much it is.
    pub(crate) fn bytes(&self) -> u64 {
        self.taken.bytes()
    }
}

impl Drop for SetAside {
    fn drop(&mut self) {
        self.taken.account.reserve(0);
    }
}

/// The first call of a version starts with this much: components of Rust and Go need less.
const FIRST_BYTES: u64 = 4 << 20;

/// Remembers what calls used, so that a call starts only when it is likely to come to its end.
pub(crate) struct Purse {
    account: MemoryAccount,
    usual_bytes: AtomicU64,
}

impl Purse {
    pub(crate) fn new(account: MemoryAccount) -> Self {
        Self { account, usual_bytes: AtomicU64::new(FIRST_BYTES) }
    }

    /// Returns the account that pays for the requests of a call, too.
    pub(crate) fn account(&self) -> &MemoryAccount {
        &self.account
    }

    /// Takes what calls usually use, waiting for others to give it back. Half of the time is left for the call.
    pub(crate) async fn start(&self, now: Instant, deadline: Instant) -> Result<Taken, Full> {
        let until = now + deadline.saturating_duration_since(now) / 2;
        self.account.take_until(self.usual_bytes.load(Ordering::Relaxed), until).await
    }

    /// Learns from a call that has ended.
    pub(crate) fn note(&self, used_bytes: u64) {
        self.usual_bytes
            .store(usual(self.usual_bytes.load(Ordering::Relaxed), used_bytes), Ordering::Relaxed);
    }
}

/// Follows large calls at once and small ones slowly: a listing among many small calls counts.
fn usual(before: u64, used: u64) -> u64 {
    used.max(before - before / 8)
}

#[cfg(test)]
mod purse_tests {
    use super::*;

    #[test]
    fn large_calls_count_at_once_and_are_forgotten_slowly() {
        assert_eq!(usual(800, 1_000), 1_000);
        assert_eq!(usual(800, 10), 700);
        let after = (0..40).fold(800_000, |before, _| usual(before, 10));
        assert!(after < 5_000, "{after}");
    }
}

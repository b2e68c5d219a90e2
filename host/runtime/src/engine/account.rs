//! What the passes of one cloud account say about each other's retries.

use jiff::{SignedDuration, Timestamp};
use machinist_core::id::{ObjectKey, ProviderName};
use machinist_core::queue::Priority;
use machinist_core::retry::{Failed, RetryPolicy};

use crate::world::secret_keys;

use super::{Engine, Key};

/// Whom a cloud knows as one: the driver, and the Secrets that its credentials come from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    provider: ProviderName,
    secrets: Vec<ObjectKey>,
}

impl Engine {
    fn account(&self, key: &Key) -> Option<Account> {
        let Key::Machine(machine) = key else { return None };
        let class = self.world.class_of(&*self.world.machines.get(machine)?)?;
        let provider = ProviderName::folded(class.provider.as_deref().unwrap_or_default());
        Some(Account { provider, secrets: secret_keys(&class) })
    }

    /// Some of those that wait for this account may be tried.
    pub(super) fn account_answers(&mut self, key: &Key, now: Timestamp) {
        let Some(account) = self.account(key) else { return };
        for (waiting, at) in self.accounts.answered(account, now) {
            // Its own pass, or whatever else has pushed it, may come first.
            self.queue.push(waiting, at, Priority::Resync);
        }
    }

    /// How long a Machine waits that has failed at its account.
    pub(super) fn account_fails(
        &mut self,
        key: &Key,
        (policy, hint): (RetryPolicy, Option<SignedDuration>),
        (delay, jitter): (SignedDuration, f64),
        now: Timestamp,
    ) -> SignedDuration {
        let Some(account) = self.account(key) else { return delay };
        let attempt = Failed { policy, delay, hint, jitter };
        self.accounts.failed(account, key.clone(), attempt, now)
    }
}

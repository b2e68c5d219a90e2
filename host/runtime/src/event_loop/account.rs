//! What the passes of one cloud account say about each other's retries.

use jiff::{SignedDuration, Timestamp};
use machinist_core::scheduling::queue::Priority;
use machinist_core::scheduling::retry::{Failed, RetryPolicy};

use crate::driver_calls::cloud_account::CloudAccount;

use super::{Engine, Key};

impl Engine {
    fn account(&self, key: &Key) -> Option<CloudAccount> {
        let Key::Machine(machine) = key else { return None };
        let class = self.tenant.class_of(&*self.tenant.machines.get(machine)?)?;
        Some(CloudAccount::of(&class))
    }

    /// True when the account of this Machine has answered a moment ago, and this one does not fail by itself.
    pub(super) fn has_answering_account(&self, key: &Key, now: Timestamp) -> bool {
        self.account(key).is_some_and(|account| self.accounts.eases(&account, key, now))
    }

    /// A Machine waits until its failed create may be repeated. An answer to another Machine shortens that.
    pub(super) fn account_is_awaited(&mut self, key: &Key, now: Timestamp) {
        if let Some(account) = self.account(key) {
            self.accounts.waits(account, key.clone(), now);
        }
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

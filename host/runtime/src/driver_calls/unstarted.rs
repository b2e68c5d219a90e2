//! Machines that this process has made and has not asked a VM for: their first pass need not look for one.
//!
//! A watch often shows a Machine before the API server has answered the request that makes it. The Machine's pass waits
//! for that answer, since a moment of waiting is cheaper than a request to the cloud.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use machinist_core::value::id::{ObjectKey, Uid};
use tokio::sync::watch;

/// How long a pass waits for the answer. After this the cloud is asked, and what is answered later is not believed.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// The process keeps them in memory only: the next one looks for the VM of each Machine.
#[derive(Debug, Default)]
pub(crate) struct Newborns(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    made: BTreeSet<Uid>,
    /// Machines whose request has no answer yet. The answer closes the channel.
    unanswered: BTreeMap<ObjectKey, watch::Receiver<()>>,
}

impl Newborns {
    /// A request that makes a Machine of this name, with our finalizer on it, is about to be sent.
    pub(crate) fn expect(&self, machine: ObjectKey) -> Expected<'_> {
        let (unanswered, answer) = watch::channel(());
        self.lock().unanswered.insert(machine.clone(), answer);
        Expected { newborns: self, machine, unanswered }
    }

    /// Waits while a Machine of this name is being made, but not for long.
    pub(crate) async fn answered(&self, machine: &ObjectKey) {
        let Some(mut answer) = self.lock().unanswered.get(machine).cloned() else { return };
        if tokio::time::timeout(ANSWER_WITHIN, answer.changed()).await.is_err() {
            self.lock().unanswered.remove(machine);
        }
    }

    /// A VM may have been asked for it from here on, or it is gone.
    pub(crate) fn asked(&self, machine: &Uid) {
        self.lock().made.remove(machine);
    }

    /// Nobody has asked for its VM.
    pub(crate) fn contains(&self, machine: &Uid) -> bool {
        self.lock().made.contains(machine)
    }

    /// Each change is one operation on a set or a map, so that a panic elsewhere leaves them whole.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A Machine that is being made. Dropping this wakes the pass that waits for the answer.
pub(crate) struct Expected<'a> {
    newborns: &'a Newborns,
    machine: ObjectKey,
    unanswered: watch::Sender<()>,
}

impl Expected<'_> {
    /// It was made. Nothing is remembered if a pass has not waited for this, since that may have asked for a VM.
    pub(crate) fn made(self, uid: Uid) {
        let mut known = self.newborns.lock();
        if self.is_awaited(&known) {
            known.made.insert(uid);
        }
    }

    fn is_awaited(&self, known: &Known) -> bool {
        let own = self.unanswered.subscribe();
        known.unanswered.get(&self.machine).is_some_and(|answer| answer.same_channel(&own))
    }
}

impl Drop for Expected<'_> {
    fn drop(&mut self) {
        let mut known = self.newborns.lock();
        if self.is_awaited(&known) {
            known.unanswered.remove(&self.machine);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use machinist_core::value::id::{ObjectKey, Uid};

    use super::Newborns;

    fn key() -> ObjectKey {
        ObjectKey::new("shoot", "a")
    }

    fn uid() -> Uid {
        Uid::new("1")
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_waits_for_the_answer_and_finds_a_newborn() {
        let newborns = Newborns::default();
        let expected = newborns.expect(key());
        assert_eq!(newborns.answered(&ObjectKey::new("shoot", "b")).now_or_never(), Some(()), "another one");
        assert_eq!(newborns.answered(&key()).now_or_never(), None);
        expected.made(uid());
        assert_eq!(newborns.answered(&key()).now_or_never(), Some(()));
        assert!(newborns.contains(&uid()));
        newborns.asked(&uid());
        assert!(!newborns.contains(&uid()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pass_that_did_not_wait_for_the_answer_makes_it_worth_nothing() {
        let newborns = Newborns::default();
        let expected = newborns.expect(key());
        let begun = tokio::time::Instant::now();
        newborns.answered(&key()).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
        expected.made(uid());
        assert!(!newborns.contains(&uid()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_fails_holds_up_nobody_and_makes_no_newborn() {
        let newborns = Newborns::default();
        let expected = newborns.expect(key());
        let (begun, machine) = (tokio::time::Instant::now(), key());
        let ((), ()) = tokio::join!(newborns.answered(&machine), async { drop(expected) });
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(!newborns.contains(&uid()));
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_requests_for_one_name_only_the_last_makes_a_newborn() {
        let newborns = Newborns::default();
        let (first, last) = (newborns.expect(key()), newborns.expect(key()));
        first.made(Uid::new("0"));
        assert_eq!(newborns.answered(&key()).now_or_never(), None, "the last is not answered");
        last.made(uid());
        assert!(!newborns.contains(&Uid::new("0")) && newborns.contains(&uid()));
    }
}

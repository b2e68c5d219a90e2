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
const ANSWER_DEADLINE: Duration = Duration::from_secs(1);

/// The process keeps them in memory only: the next one looks for the VM of each Machine.
#[derive(Debug, Default)]
pub(crate) struct UnstartedMachines(Mutex<UnstartedState>);

#[derive(Debug, Default)]
struct UnstartedState {
    created: BTreeSet<Uid>,
    /// Machines whose request has no answer yet. The answer closes the channel.
    unanswered: BTreeMap<ObjectKey, watch::Receiver<()>>,
}

impl UnstartedMachines {
    /// A request that makes a Machine of this name, with our finalizer on it, is about to be sent.
    pub(crate) fn expect(&self, machine: ObjectKey) -> PendingCreate<'_> {
        let (unanswered, answer) = watch::channel(());
        self.lock().unanswered.insert(machine.clone(), answer);
        PendingCreate { unstarted: self, machine, unanswered }
    }

    /// Waits while a Machine of this name is being made, but not for long.
    pub(crate) async fn answered(&self, machine: &ObjectKey) {
        let Some(mut answer) = self.lock().unanswered.get(machine).cloned() else { return };
        if tokio::time::timeout(ANSWER_DEADLINE, answer.changed()).await.is_err() {
            self.lock().unanswered.remove(machine);
        }
    }

    /// A VM may have been asked for it from here on, or it is gone.
    pub(crate) fn asked(&self, machine: &Uid) {
        self.lock().created.remove(machine);
    }

    /// Nobody has asked for its VM.
    pub(crate) fn contains(&self, machine: &Uid) -> bool {
        self.lock().created.contains(machine)
    }

    /// Each change is one operation on a set or a map, so that a panic elsewhere leaves them whole.
    fn lock(&self) -> MutexGuard<'_, UnstartedState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A Machine that is being made. Dropping this wakes the pass that waits for the answer.
pub(crate) struct PendingCreate<'a> {
    unstarted: &'a UnstartedMachines,
    machine: ObjectKey,
    unanswered: watch::Sender<()>,
}

impl PendingCreate<'_> {
    /// It was made. Nothing is remembered if a pass has not waited for this, since that may have asked for a VM.
    pub(crate) fn created(self, uid: Uid) {
        let mut state = self.unstarted.lock();
        if self.is_awaited(&state) {
            state.created.insert(uid);
        }
    }

    fn is_awaited(&self, state: &UnstartedState) -> bool {
        let own = self.unanswered.subscribe();
        state.unanswered.get(&self.machine).is_some_and(|answer| answer.same_channel(&own))
    }
}

impl Drop for PendingCreate<'_> {
    fn drop(&mut self) {
        let mut state = self.unstarted.lock();
        if self.is_awaited(&state) {
            state.unanswered.remove(&self.machine);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use machinist_core::value::id::{ObjectKey, Uid};

    use super::UnstartedMachines;

    fn key() -> ObjectKey {
        ObjectKey::new("shoot", "a")
    }

    fn uid() -> Uid {
        Uid::new("1")
    }

    #[tokio::test(start_paused = true)]
    async fn a_reconcile_waits_for_the_answer_and_finds_an_unstarted_machine() {
        let unstarted = UnstartedMachines::default();
        let expected = unstarted.expect(key());
        assert_eq!(unstarted.answered(&ObjectKey::new("shoot", "b")).now_or_never(), Some(()), "another one");
        assert_eq!(unstarted.answered(&key()).now_or_never(), None);
        expected.created(uid());
        assert_eq!(unstarted.answered(&key()).now_or_never(), Some(()));
        assert!(unstarted.contains(&uid()));
        unstarted.asked(&uid());
        assert!(!unstarted.contains(&uid()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reconcile_that_did_not_wait_for_the_answer_makes_it_worthless() {
        let unstarted = UnstartedMachines::default();
        let expected = unstarted.expect(key());
        let begun = tokio::time::Instant::now();
        unstarted.answered(&key()).await;
        assert_eq!(begun.elapsed(), Duration::from_secs(1));
        expected.created(uid());
        assert!(!unstarted.contains(&uid()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_fails_blocks_nobody_and_leaves_no_unstarted_machine() {
        let unstarted = UnstartedMachines::default();
        let expected = unstarted.expect(key());
        let (begun, machine) = (tokio::time::Instant::now(), key());
        let ((), ()) = tokio::join!(unstarted.answered(&machine), async { drop(expected) });
        assert_eq!(begun.elapsed(), Duration::ZERO);
        assert!(!unstarted.contains(&uid()));
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_requests_for_one_name_only_the_last_makes_an_unstarted_machine() {
        let unstarted = UnstartedMachines::default();
        let (first, last) = (unstarted.expect(key()), unstarted.expect(key()));
        first.created(Uid::new("0"));
        assert_eq!(unstarted.answered(&key()).now_or_never(), None, "the last is not answered");
        last.created(uid());
        assert!(!unstarted.contains(&Uid::new("0")) && unstarted.contains(&uid()));
    }
}

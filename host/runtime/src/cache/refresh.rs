//! Listing everything anew after an outage.
//!
//! A watch that was interrupted comes back by itself and says nothing of it: whether a silent one is current or still cut off
//! cannot be told. A listing can: it is as new as the question.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::context::key::Kind;

/// Listings that were asked for, and how far the feeds are with them.
///
/// Feeds are called one by one in the order of their kinds: a channel to all of them would call them in an order of its own, and no
/// run could be repeated.
#[derive(Clone, Default)]
pub(crate) struct Refresh {
    state: Arc<RefreshState>,
}

#[derive(Default)]
struct RefreshState {
    feeds: Mutex<BTreeMap<Kind, Feed>>,
    /// Called when a feed has listed everything.
    listed: Notify,
}

#[derive(Default)]
struct Feed {
    /// The listing that is wanted, and the one that was completed last.
    asked: u64,
    listed: u64,
    again: Arc<Notify>,
}

impl RefreshState {
    fn feeds(&self) -> MutexGuard<'_, BTreeMap<Kind, Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refresh {
    /// Has all feeds list anew.
    pub(crate) fn ask(&self) {
        for feed in self.state.feeds().values_mut() {
            feed.asked += 1;
            feed.again.notify_one();
        }
    }

    /// Whether all feeds have listed everything since [`Self::ask`].
    pub(crate) fn is_done(&self) -> bool {
        self.state.feeds().values().all(|feed| feed.listed >= feed.asked)
    }

    /// Waits until [`Self::is_done`]. Only one may wait.
    pub(crate) async fn done(&self) {
        while !self.is_done() {
            self.state.listed.notified().await;
        }
    }

    /// For the feed of `kind`, which counts from now on.
    pub(crate) fn rounds(&self, kind: Kind) -> Rounds {
        let again = self.state.feeds().entry(kind).or_default().again.clone();
        Rounds { kind, begun: 0, again, state: self.state.clone() }
    }
}

/// The listings of one feed.
pub(crate) struct Rounds {
    kind: Kind,
    begun: u64,
    again: Arc<Notify>,
    state: Arc<RefreshState>,
}

impl Rounds {
    /// A listing begins: what is asked for later is another.
    pub(crate) fn begin(&mut self) -> RunningListing {
        self.begun = self.asked();
        RunningListing { kind: self.kind, round: self.begun, state: self.state.clone() }
    }

    /// Waits until the feed has to begin anew.
    pub(crate) async fn next(&mut self) {
        while self.asked() <= self.begun {
            self.again.notified().await;
        }
    }

    fn asked(&self) -> u64 {
        self.state.feeds().get(&self.kind).map_or(0, |feed| feed.asked)
    }
}

/// A listing on its way.
pub(crate) struct RunningListing {
    kind: Kind,
    round: u64,
    state: Arc<RefreshState>,
}

impl RunningListing {
    /// Everything has been told.
    pub(crate) fn complete(&self) {
        if let Some(feed) = self.state.feeds().get_mut(&self.kind) {
            feed.listed = self.round;
        }
        self.state.listed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn it_is_done_when_each_feed_has_listed_again() {
        let refresh = Refresh::default();
        let (mut machines, mut nodes) = (refresh.rounds(Kind::Machine), refresh.rounds(Kind::Node));
        let first = (machines.begin(), nodes.begin());
        assert!(refresh.is_done(), "nothing was asked for");
        assert!(machines.next().now_or_never().is_none());

        refresh.ask();
        assert!(!refresh.is_done());
        first.0.complete();
        first.1.complete();
        assert!(!refresh.is_done(), "those listings were begun before");
        assert!(machines.next().now_or_never().is_some() && nodes.next().now_or_never().is_some());

        let second = (machines.begin(), nodes.begin());
        second.0.complete();
        assert!(!refresh.is_done() && refresh.done().now_or_never().is_none());
        second.1.complete();
        assert!(refresh.is_done() && refresh.done().now_or_never().is_some());
    }

    #[test]
    fn a_listing_that_begins_after_the_request_need_not_begin_again() {
        let refresh = Refresh::default();
        let mut machines = refresh.rounds(Kind::Machine);
        refresh.ask();
        let listing = machines.begin();
        assert!(machines.next().now_or_never().is_none());
        listing.complete();
        assert!(refresh.is_done());
    }
}

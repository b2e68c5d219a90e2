//! Counts the requests and connections that the HTTP server refuses.

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::access::NotAllowed;
use super::listen::Full;

/// A refused request or connection: each is a value of the label `reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Why {
    /// A connection beyond those that there may be.
    Connections,
    /// A connection beyond those that one address may have.
    ConnectionsOfPeer,
    /// A connection that did not send a request, or take an answer, in time.
    Slow,
    /// A request for metrics beyond those at the same time.
    MetricsBusy,
    /// A request below /debug beyond those at the same time.
    DebugBusy,
    /// A request below /debug that is not from loopback.
    NotLoopback,
    /// A request below /debug under a name that does not mean this host.
    ForeignName,
    /// A request below /debug without a token that counts.
    Unauthenticated,
    /// A request below /debug whose account has no right.
    Forbidden,
    /// A request below /debug whose token cannot be reviewed at the moment.
    NotReviewed,
}

impl Why {
    const ALL: [Self; 10] = [
        Self::Connections,
        Self::ConnectionsOfPeer,
        Self::Slow,
        Self::MetricsBusy,
        Self::DebugBusy,
        Self::NotLoopback,
        Self::ForeignName,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotReviewed,
    ];
}

impl From<Full> for Why {
    fn from(full: Full) -> Self {
        match full {
            Full::All => Self::Connections,
            Full::Peer => Self::ConnectionsOfPeer,
        }
    }
}

impl From<&NotAllowed> for Why {
    fn from(refused: &NotAllowed) -> Self {
        match refused {
            NotAllowed::NotLoopback => Self::NotLoopback,
            NotAllowed::ForeignName => Self::ForeignName,
            NotAllowed::NoToken | NotAllowed::BadToken => Self::Unauthenticated,
            NotAllowed::NoRight { .. } => Self::Forbidden,
            NotAllowed::HostLacks(_) | NotAllowed::Busy | NotAllowed::NoAnswer => Self::NotReviewed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    reason: Why,
}

/// Counts by reason, each from 0 on.
#[derive(Clone, Debug)]
pub(crate) struct Refusals(Family<Labels, Counter>);

impl Default for Refusals {
    fn default() -> Self {
        let family = Family::<Labels, Counter>::default();
        for reason in Why::ALL {
            drop(family.get_or_create(&Labels { reason }));
        }
        Self(family)
    }
}

impl Refusals {
    /// Puts the counts into a registry.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "machinist_http_refused",
            "Connections and requests that the HTTP server of the host turned away",
            self.0.clone(),
        );
    }

    pub(super) fn count(&self, why: impl Into<Why>) {
        self.0.get_or_create(&Labels { reason: why.into() }).inc();
    }

    #[cfg(test)]
    pub(super) fn of(&self, reason: Why) -> u64 {
        self.0.get_or_create(&Labels { reason }).get()
    }
}

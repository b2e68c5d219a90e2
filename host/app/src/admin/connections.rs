//! How many connections there may be, in all and from one address.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In all: each takes a file descriptor and some ten kilobytes.
const IN_ALL: usize = 256;

/// From one address. The kubelet's probes and a scraper need two or three each, so a pod that opens thousands takes no
/// place from them.
const FROM_ONE: usize = 32;

/// Counts the connections that are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Connections(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    in_all: usize,
    by_peer: BTreeMap<IpAddr, usize>,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// There are too many.
    All,
    /// There are too many from this address.
    Peer,
}

/// An open connection. Dropping it makes room for another.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Connections,
    peer: IpAddr,
}

impl Connections {
    /// Takes a slot for a connection from this address. The total limit does not hold for loopback, so a port-forward
    /// connects although others take all slots.
    pub(super) fn enter(&self, peer: IpAddr) -> Result<ConnectionSlot, Full> {
        let mut open = self.lock();
        let from_peer = open.by_peer.get(&peer).copied().unwrap_or_default();
        if from_peer >= FROM_ONE {
            return Err(Full::Peer);
        }
        if open.in_all >= IN_ALL && !peer.is_loopback() {
            return Err(Full::All);
        }
        open.in_all += 1;
        open.by_peer.insert(peer, from_peer + 1);
        Ok(ConnectionSlot { connections: self.clone(), peer })
    }

    /// A panic while the lock is held leaves a count behind, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = self.connections.lock();
        open.in_all = open.in_all.saturating_sub(1);
        if let Some(count) = open.by_peer.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                open.by_peer.remove(&self.peer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(number: usize) -> IpAddr {
        IpAddr::from([10, 0, 0, u8::try_from(number).unwrap()])
    }

    #[test]
    fn attack_one_pod_opens_thousands_of_connections_and_takes_no_place_from_others() {
        let connections = Connections::default();
        let opened: Vec<_> = (0..5_000).map(|_| connections.enter(pod(1))).collect();
        assert_eq!(opened.iter().filter(|slot| slot.is_ok()).count(), FROM_ONE);
        assert!(connections.enter(pod(2)).is_ok(), "the kubelet of the node");
        drop(opened);
        assert!(connections.enter(pod(1)).is_ok());
    }

    #[test]
    fn attack_many_pods_fill_all_places_and_loopback_gets_in_all_the_same() {
        let connections = Connections::default();
        let opened: Vec<_> =
            (0..100).flat_map(|pod_number| (0..FROM_ONE).map(move |_| pod(pod_number))).collect();
        let opened: Vec<_> = opened.into_iter().map(|peer| connections.enter(peer)).collect();
        assert_eq!(opened.iter().filter(|slot| slot.is_ok()).count(), IN_ALL);
        assert_eq!(connections.enter(pod(200)).unwrap_err(), Full::All);
        assert!(connections.enter(IpAddr::from([127, 0, 0, 1])).is_ok());
        drop(opened);
        assert!(connections.lock().by_peer.is_empty(), "nothing is kept of those who left");
        assert_eq!(connections.lock().in_all, 0);
    }
}

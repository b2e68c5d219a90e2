//! The proxy: one address for all services, at the path of each.
//!
//! | module | what it does |
//! | --- | --- |
//! | `handle` | forwards one request, and applies faults and lag |
//! | `faults` | injected faults: rules, and the choice of one for a request |
//! | `journal` | the requests so far |
//! | `ledger` | the servers that were created through the proxy |

pub(crate) mod faults;
pub(crate) mod handle;
pub(crate) mod journal;
pub(crate) mod ledger;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use faulty_http::{ServerThread, StartError, Upstream, serve};

use faults::Faults;
use journal::Journal;
use ledger::Ledger;

const THREADS: usize = 2;
const REQUEST_LIMIT_BYTES: usize = 4 << 20;

/// A running proxy, on threads of its own.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) shared: Arc<Shared>,
    thread: ServerThread,
}

/// The state that all connections share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// The services, by the first segment of the path. Set once they run.
    pub(crate) upstreams: OnceLock<BTreeMap<String, Upstream>>,
    /// The address that the catalog names.
    pub(crate) public: OnceLock<String>,
    /// The port of clients that use TLS.
    pub(crate) tls_port: OnceLock<u16>,
    pub(crate) faults: Faults,
    pub(crate) journal: Journal,
    pub(crate) lag: Mutex<Lag>,
    ledger: Mutex<Ledger>,
}

/// How long reads do not show a server after its create.
#[derive(Debug, Default)]
pub(crate) struct Lag {
    pub(crate) creation: Duration,
    pub(crate) created: BTreeMap<String, Instant>,
}

impl Lag {
    /// Returns whether a read shows the server.
    pub(crate) fn shows(&self, id: &str) -> bool {
        self.created.get(id).is_none_or(|created| created.elapsed() >= self.creation)
    }
}

impl Proxy {
    /// Starts it; it answers 503 until the services are known.
    pub(crate) fn start() -> Result<Self, StartError> {
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        let answer = move |head, body| handle::answer(Arc::clone(&serving), head, body);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let thread = ServerThread::start("openstack-proxy", THREADS, address, |listener| {
            serve(listener, REQUEST_LIMIT_BYTES, answer)
        })?;
        Ok(Self { shared, thread })
    }

    pub(crate) fn url(&self) -> String {
        self.thread.url()
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.thread.address()
    }
}

impl Shared {
    pub(crate) fn lag(&self) -> MutexGuard<'_, Lag> {
        self.lag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The proxy: what every request goes through before moto sees it, and every answer before the caller does.
//!
//! | module | what it does |
//! | --- | --- |
//! | `connection` | requests in, answers out, as their delivery says |
//! | `handle` | the way of one request |
//! | `gate` | decides whether a request may pass, from the request, the accounts and the time |
//! | `launch` | `RunInstances`: one instance for a ClientToken, and the refusals that moto lacks |
//! | `describe` | reads of instances: moto's answers, shown late where reads lag |
//! | `prefixes` | `AssignIpv6Addresses` with prefixes, which moto ignores |
//! | `ledger` | the proxy's own knowledge of instances: tokens, and changes not shown yet |
//! | `faults` | injected faults: rules, and the choice of one for a request |
//! | `effects` | the effects of faults on a request and its answer |
//! | `journal` | the requests so far, and their counts |

mod connection;
mod describe;
mod effects;
pub(crate) mod faults;
pub(crate) mod gate;
mod handle;
pub(crate) mod journal;
mod launch;
pub(crate) mod ledger;
mod prefixes;

use std::collections::{BTreeSet, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use faulty_http::{ServerThread, StartError, serve};
use jiff::{SignedDuration, Timestamp};

use crate::moto::Client;
use crate::moto::accounts::Accounts;
use crate::proxy::faults::Faults;
use crate::proxy::journal::Journal;
use crate::proxy::ledger::Ledger;
use launch::Launch;

const THREADS: usize = 2;

/// A running proxy, on threads of its own: it works beside paused tokio time, and while a test blocks.
#[derive(Debug)]
pub(crate) struct Proxy {
    url: String,
    pub(crate) shared: Arc<Shared>,
    _thread: ServerThread,
}

/// The instances launched under one token, if any.
pub(crate) type Slot = Arc<tokio::sync::Mutex<Option<Launch>>>;

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) moto: Client,
    pub(crate) regions: Vec<String>,
    pub(crate) tolerance: SignedDuration,
    pub(crate) faults: Faults,
    pub(crate) books: Mutex<Books>,
    /// By account, region and ClientToken. The lock of one is held while its instance is made.
    pub(crate) launches: Mutex<HashMap<[String; 3], Slot>>,
    /// Images that moto was asked about and has, with their region.
    pub(crate) images: Mutex<BTreeSet<(String, String)>>,
}

/// The state that changes with requests.
#[derive(Debug, Default)]
pub(crate) struct Books {
    pub(crate) accounts: Accounts,
    pub(crate) ledger: Ledger,
    pub(crate) journal: Journal,
    /// How far the proxy's clock is off.
    pub(crate) clock_offset: SignedDuration,
    requests: u64,
}

impl Shared {
    pub(crate) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now().checked_add(self.clock_offset).unwrap_or(Timestamp::MAX)
    }

    fn next_request_id(&mut self) -> String {
        self.requests += 1;
        format!("00000000-0000-4000-8000-{:012x}", self.requests)
    }
}

impl Proxy {
    /// Starts it; it answers when this returns.
    pub(crate) fn start(shared: Shared) -> Result<Self, StartError> {
        let shared = Arc::new(shared);
        let serving = Arc::clone(&shared);
        let answer = move |head, body| connection::answer(Arc::clone(&serving), head, body);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let thread = ServerThread::start("ec2-proxy", THREADS, address, |listener| {
            serve(listener, connection::REQUEST_LIMIT_BYTES, answer)
        })?;
        Ok(Self { url: thread.url(), shared, _thread: thread })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

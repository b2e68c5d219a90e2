//! The proxy: what every request goes through before moto sees it, and every answer before the caller does.

mod body;
mod connection;
mod describe;
mod effects;
pub(crate) mod faults;
pub(crate) mod form;
pub(crate) mod gate;
mod handle;
pub(crate) mod journal;
mod launch;
pub(crate) mod ledger;
mod prefixes;

use std::collections::{BTreeSet, HashMap};
use std::net::TcpListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::oneshot;

use crate::moto::Client;
use crate::moto::accounts::Accounts;
use crate::proxy::faults::Faults;
use crate::proxy::journal::Journal;
use crate::proxy::ledger::Ledger;
use launch::Launch;

/// How long connections may take to end when the proxy stops.
const GRACE: Duration = Duration::from_millis(200);
const THREADS: usize = 2;

/// A running proxy, on threads of its own: it works beside paused tokio time, and while a test blocks.
#[derive(Debug)]
pub(crate) struct Proxy {
    url: String,
    pub(crate) shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
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
    pub(crate) fn start(shared: Shared) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("failed to listen on loopback")?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("ec2-proxy")
            .enable_all()
            .build()
            .context("failed to start the proxy's threads")?;
        let shared = Arc::new(shared);
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("ec2-proxy".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        result = connection::serve(listener, serving) => {
                            if let Err(error) = result {
                                tracing::error!(%error, "the proxy before moto stopped listening");
                            }
                        }
                        _ = stopped => {}
                    }
                });
                runtime.shutdown_timeout(GRACE);
            })
            .context("failed to start the proxy's thread")?;
        Ok(Self { url, shared, stop: Some(stop), thread: Some(thread) })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

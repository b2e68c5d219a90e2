//! The model behind HTTP, on threads of its own.
//!
//! | module | what it does |
//! | --- | --- |
//! | `connection` | requests in, the model's answers out, as the model says they arrive |
//! | `stream` | `GET /admin/vms/stream`: the cloud's deltas, one JSON object a line |

mod connection;
mod stream;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use faulty_http::StartError;
use faulty_http::{ServerThread, serve};
use jiff::Timestamp;
use tokio::sync::{Notify, watch};

use crate::cloud::Cloud;
use crate::cloud::faults::Faults;
use crate::config::{AccountConfig, Config};
use crate::request::Request;
use crate::stats::Stats;
use crate::wire::VmView;
use crate::wire::answer::Answer;
use crate::wire::error::ApiError;

/// A running simulated cloud. It stops when it is dropped.
///
/// It has threads and a clock of its own, so it can be used beside paused tokio time.
#[derive(Debug)]
pub struct Server {
    thread: ServerThread,
    admin_token: String,
    token: String,
    shared: Arc<Shared>,
}

impl Server {
    /// Starts a cloud; it answers when this returns.
    pub fn start(config: Config) -> Result<Self, StartError> {
        let (address, threads) = (config.listen, config.threads);
        let admin_token = config.admin_token.clone();
        let token =
            config.accounts.iter().flat_map(|account| &account.tokens).map(|token| token.token.clone());
        let token = token.into_iter().next().unwrap_or_default();
        let shared = Arc::new(Shared::new(config));
        let (serving, ticking) = (Arc::clone(&shared), Arc::clone(&shared));
        let thread = ServerThread::start("simcloud", threads, address, move |listener| async move {
            let answer = move |head, body| connection::answer(Arc::clone(&serving), head, body);
            tokio::select! {
                () = serve(listener, connection::REQUEST_LIMIT_BYTES, answer) => {}
                () = ticking.keep_time() => {}
            }
        })?;
        Ok(Self { thread, admin_token, token, shared })
    }

    pub fn addr(&self) -> SocketAddr {
        self.thread.address()
    }

    /// The base URL, without a slash at the end.
    pub fn url(&self) -> String {
        self.thread.url()
    }

    pub fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The first token of the first account.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Counts of calls and VMs.
    pub fn stats(&self) -> Stats {
        self.with(|cloud, _| cloud.stats())
    }

    /// Sets the counts of what happened to zero.
    pub fn reset_stats(&self) {
        self.with(|cloud, _| cloud.reset_stats());
    }

    pub fn set_faults(&self, faults: Faults) -> Result<(), ApiError> {
        self.with(|cloud, _| cloud.set_faults(faults))
    }

    /// Takes all faults back.
    pub fn clear_faults(&self) {
        self.with(|cloud, _| cloud.set_faults(Faults::default())).ok();
    }

    /// Adds an account or replaces its tokens and quota.
    pub fn put_account(&self, name: &str, account: &AccountConfig) {
        self.with(|cloud, _| cloud.put_account(name, account));
    }

    /// The VMs of all accounts that are pending or running, as they are, oldest first.
    pub fn live_vms(&self) -> Vec<VmView> {
        self.with(|cloud, _| cloud.vms().filter(|vm| vm.state.is_live()).cloned().collect())
    }

    /// The VMs of all accounts that can still be read, as they are, oldest first.
    pub fn vms(&self) -> Vec<VmView> {
        self.with(|cloud, _| cloud.vms().cloned().collect())
    }

    /// The VM dies without a request.
    pub fn kill_vm(&self, id: &str) -> Result<(), ApiError> {
        self.with(|cloud, now| cloud.kill_vm(id, now))
    }

    /// Asks or changes the model itself, at the present time. No call is served meanwhile.
    pub fn with<T>(&self, ask: impl FnOnce(&mut Cloud, Timestamp) -> T) -> T {
        self.shared.with(ask)
    }
}

/// The model with its clock, shared by all connections.
#[derive(Debug)]
struct Shared {
    cloud: Mutex<Cloud>,
    clock: Clock,
    /// The number of the last event.
    head: watch::Sender<u64>,
    /// Something is due earlier than it was.
    rearm: Notify,
    admin_token: String,
}

impl Shared {
    fn new(config: Config) -> Self {
        let clock = Clock { started: Timestamp::now(), since: Instant::now() };
        let admin_token = config.admin_token.clone();
        let cloud = Mutex::new(Cloud::new(config, clock.now()));
        Self { cloud, clock, head: watch::Sender::new(0), rearm: Notify::new(), admin_token }
    }

    fn handle(&self, request: &Request) -> Answer {
        self.with(|cloud, now| cloud.handle(request, now))
    }

    fn with<T>(&self, ask: impl FnOnce(&mut Cloud, Timestamp) -> T) -> T {
        let mut cloud = self.lock();
        // Read under the lock, so that times reach the model in order.
        let now = self.clock.now();
        cloud.advance(now);
        let due = cloud.next_wake();
        let reply = ask(&mut cloud, now);
        let (next, head) = (cloud.next_wake(), cloud.last_event());
        drop(cloud);
        if next.is_some_and(|next| due.is_none_or(|due| next < due)) {
            self.rearm.notify_one();
        }
        self.head.send_if_modified(|seen| std::mem::replace(seen, head.max(*seen)) < head);
        reply
    }

    fn lock(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets VMs boot and terminate when no call comes.
    async fn keep_time(&self) {
        loop {
            let (next, now) = self.with(|cloud, now| (cloud.next_wake(), now));
            // Timers of the runtime tick in milliseconds: waking a little late beats waking twice.
            let wait = next.map(|next| Duration::try_from(next.duration_since(now)).unwrap_or_default());
            tokio::select! {
                () = tokio::time::sleep(wait.unwrap_or(Duration::MAX)) => {}
                () = self.rearm.notified() => {}
            }
        }
    }
}

/// Wall-clock time that never goes back.
#[derive(Debug)]
struct Clock {
    started: Timestamp,
    since: Instant,
}

impl Clock {
    fn now(&self) -> Timestamp {
        self.started.checked_add(self.since.elapsed()).unwrap_or(Timestamp::MAX)
    }
}

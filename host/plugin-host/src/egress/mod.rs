//! The only way out of the sandbox. A request is checked, collected, filled with secrets, and sent to a checked
//! address; its answer is limited and scrubbed before the component sees it.
//!
//! | step | module |
//! | --- | --- |
//! | one request from start to end | `session` |
//! | normalise the target, match the grants | [`crate::grants`] |
//! | drop headers that belong to the connection, collect the body | `message::outgoing` |
//! | replace placeholders in granted places | `message::substitute` |
//! | find the credential of a marked request: in the Secret, in the cache, or at a token service | `credentials` |
//! | wait for the turn of its cloud account | `throttle` |
//! | sign exactly the bytes that are sent, or set a header | [`crate::auth`] |
//! | resolve, check every address, connect, TLS | `connection::connect` |
//! | timeouts, retry of a stale connection | `connection::deliver` |
//! | learn pace and stale keys from the answer | `listen` |
//! | limit and scrub the answer | `message::response` |
//! | answers that the host gives itself | `message::synthetic` |
//! | failures, and their names | `failure` |
//! | metrics | `metrics` |
//! | the pure parts, for `tests/fuzz` | `fuzz` |
//!
//! Only a request of an idempotent method is sent a second time, once, when a pooled connection turns out to be dead.
//! An answer of the host itself has a header of `machinist-*`, which the host removes from answers of servers.
//!
//! Deliberately absent: a proxy from the environment, followed redirects, decompression, cookies.

pub(crate) mod connection;
mod credentials;
mod failure;
mod fuzz;
mod listen;
pub(crate) mod message;
mod metrics;
mod session;
mod throttle;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use machinist_core::value::id::PluginName;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use crate::grants::Grants;
use crate::resources::budget::MemoryAccount;
use crate::resources::priority_semaphore::Permit;
use crate::resources::seat::Seat;
use crate::resources::urgency::Urgency;
use crate::vault::{Vault, WallClock};

pub(crate) use connection::resolve::SystemResolver;
pub use connection::resolve::{DeniedNetworks, Resolve};
pub(crate) use failure::Failure;
pub use failure::Reason;
pub use session::Session;

pub(crate) use fuzz::{cloud_says, sent};

use connection::pool::Pool;
use credentials::CredentialCache;
pub(crate) use metrics::EgressMetrics;
use throttle::Throttle;

/// A request that was not sent, for Events. Carries no query, no body and no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalNotice {
    pub plugin: PluginName,
    pub reason: Reason,
    /// Method and URL without query.
    pub target: String,
}

/// Receives each refused request. Must not block.
pub(crate) type RefusalListener = Arc<dyn Fn(&RefusalNotice) + Send + Sync>;

/// How the host speaks to clouds, the same for all plugins.
#[derive(Clone)]
pub struct EgressSettings {
    /// Finds the addresses of names.
    pub resolver: Arc<dyn Resolve>,
    /// Never dialled, whatever grants say.
    pub denied_networks: DeniedNetworks,
    /// Name, connection and TLS handshake together. A component may ask for less.
    pub connect_timeout: Duration,
    /// Between two pieces of a body. A component may ask for less.
    pub between_bytes_timeout: Duration,
    /// How long an unused connection stays. Below the 60 s after which many load balancers close theirs.
    pub idle_timeout: Duration,
    /// Unused connections to one host of one plugin.
    pub idle_connections_per_host: usize,
    /// Receives each refused request.
    pub on_refusal: Option<RefusalListener>,
    pub clock: WallClock,
    /// The address of a server that gets every connection instead, without TLS, if the grants allow the host and its
    /// addresses. For tests and the conformance kit: that server sees the requests that clouds see.
    pub detour: Option<SocketAddr>,
}

impl Default for EgressSettings {
    fn default() -> Self {
        Self {
            resolver: Arc::new(SystemResolver),
            denied_networks: DeniedNetworks::default(),
            connect_timeout: Duration::from_secs(10),
            between_bytes_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(50),
            idle_connections_per_host: 64,
            on_refusal: None,
            clock: Arc::new(Timestamp::now),
            detour: None,
        }
    }
}

/// One for each host process. A clone is the same egress.
#[derive(Clone)]
pub struct Egress(Arc<EgressState>);

struct EgressState {
    settings: EgressSettings,
    pool: Pool,
    credentials: CredentialCache,
    throttle: Throttle,
    metrics: EgressMetrics,
}

impl Egress {
    /// Reads the system's certificate authorities; takes a few milliseconds.
    pub fn new(settings: EgressSettings) -> Self {
        let metrics = EgressMetrics::default();
        let pool = Pool::new(&settings, &metrics);
        let (credentials, throttle) = (CredentialCache::default(), Throttle::default());
        Self(Arc::new(EgressState { settings, pool, credentials, throttle, metrics }))
    }

    /// The hooks of one call: no answer comes later than `deadline`.
    pub fn session(
        &self,
        plugin: &PluginName,
        grants: Arc<Grants>,
        vault: Vault,
        deadline: impl Into<Instant>,
    ) -> Session {
        self.seated(plugin, grants, vault, deadline.into(), (None, MemoryAccount::endless(plugin)))
    }

    /// The same for a call with a place, which it gives up while it waits for its cloud account, and with an account
    /// for the memory of bodies.
    pub(crate) fn seated(
        &self,
        plugin: &PluginName,
        grants: Arc<Grants>,
        vault: Vault,
        deadline: Instant,
        (seat, memory): (Option<Arc<Seat>>, MemoryAccount),
    ) -> Session {
        Session::new(self.0.clone(), plugin.clone(), grants, vault, deadline, (seat, memory))
    }

    /// Waits until a call of this class may begin: while its account is slow, a few calls of it wait for turns with an
    /// instance, and the others here without one.
    pub(crate) async fn door(&self, plugin: &PluginName, class: &str, urgency: Urgency) -> Option<Permit> {
        self.0.throttle.door(&(plugin.clone(), class.to_owned()), urgency).await
    }

    /// Returns the host's clock.
    pub(crate) fn clock(&self) -> WallClock {
        Arc::clone(&self.0.settings.clock)
    }

    /// Adds the metrics of all sessions to a registry.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.0.metrics.register(registry);
    }

    pub fn open_connections(&self, plugin: &PluginName) -> i64 {
        self.0.metrics.open_connections(plugin)
    }

    /// Returns the number of throttled cloud accounts, whose requests have to wait.
    pub fn slow_accounts(&self) -> usize {
        self.0.throttle.slow_accounts()
    }

    /// Requests of a plugin that were refused for this reason.
    pub fn refused(&self, plugin: &PluginName, reason: Reason) -> u64 {
        self.0.metrics.refused(plugin, reason)
    }
}

//! The real plugin host with the driver under test, behind a proxy.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use faulty_http::Upstream;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::testing::{EgressSettings, StartError};
use machinist_plugin_host::{
    CacheKey, Encoding, HostSettings, PluginHost, PluginState, RawConfigMap, Resolve,
};
use serde_json::{Value, json};

use crate::cloud::Cloud;
use crate::profile::Profile;
use crate::proxy::{Proxy, Wiring};

/// A component that needs longer to be loaded is not going to be.
const LOADING: Duration = Duration::from_secs(300);
/// The deadline of calls of [`StageKind::ShortDeadline`]: enough for a slow language on a busy machine, and short
/// enough to wait for.
const HASTE_MS: u64 = 2_000;
/// Instances at a time; each holds a place of the pool.
const CALLS: usize = 8;

/// How the host is set up for a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageKind {
    /// As checks leave it for the next one.
    Shared,
    /// For this check alone: it leaves the host slower than it was.
    Own,
    /// Calls have little time.
    ShortDeadline,
    /// Nobody listens where the cloud should be.
    Unreachable,
}

/// Why there is no host with the driver.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("failed to start the plugin host")]
    Host(#[source] StartError),
    #[error("failed to start the proxy")]
    Proxy(#[source] io::Error),
    /// The host does not load the driver.
    #[error("the plugin host does not load the driver: {0}")]
    Rejected(String),
    /// It takes too long.
    #[error("the driver was not loaded within {} s", LOADING.as_secs())]
    Slow,
}

/// The compiler of components, and the folder of compiled code.
#[derive(Clone, Debug)]
pub struct CompileSettings {
    /// The executable that compiles.
    pub compiler: PathBuf,
    pub compiler_args: Vec<OsString>,
    /// The folder of compiled code.
    pub cache_dir: PathBuf,
    /// The key that authenticates compiled code.
    pub cache_key: [u8; 32],
}

/// The driver's log lines and refused requests.
#[derive(Default)]
pub(crate) struct Observed {
    pub(crate) lines: Vec<String>,
    pub(crate) refusals: Vec<String>,
}

/// A host, its driver, its proxy.
pub(crate) struct Stage {
    pub(crate) host: PluginHost,
    pub(crate) proxy: Proxy,
    observed: Arc<Mutex<Observed>>,
    clock: Arc<AtomicI64>,
    refused_at_load: Vec<String>,
}

impl Stage {
    pub(crate) async fn start(
        kind: StageKind,
        profile: &Profile,
        component: &Bytes,
        cloud: Option<&Cloud>,
        client: &reqwest::Client,
        compiling: &CompileSettings,
    ) -> Result<Self, Error> {
        let wiring = Wiring {
            upstream: cloud.map(|cloud| Upstream::new(cloud.url(), client.clone())),
            requests: profile.requests.clone(),
            invisible: profile.invisible.clone(),
        };
        let proxy = Proxy::start(wiring).await.map_err(Error::Proxy)?;
        let detour = match kind {
            StageKind::Unreachable => closed_port().map_err(Error::Proxy)?,
            StageKind::Shared | StageKind::Own | StageKind::ShortDeadline => proxy.address(),
        };
        let (observed, clock) = (Arc::new(Mutex::<Observed>::default()), Arc::new(AtomicI64::new(0)));
        let settings = settings(profile, compiling, detour, &observed, &clock);
        let host = PluginHost::start(settings).map_err(Error::Host)?;
        load(&host, kind, profile, component).await?;
        let refused_at_load = std::mem::take(&mut lock(&observed).refusals);
        Ok(Self { host, proxy, observed, clock, refused_at_load })
    }

    /// As if nothing had been done here.
    pub(crate) fn reset(&self) {
        self.proxy.reset();
        *self.observed() = Observed::default();
        self.set_clock_ahead(SignedDuration::ZERO);
    }

    pub(crate) fn observed(&self) -> MutexGuard<'_, Observed> {
        lock(&self.observed)
    }

    /// Requests that were refused while the driver was loaded and described itself.
    pub(crate) fn refused_at_load(&self) -> &[String] {
        &self.refused_at_load
    }

    /// Sets the clock of host and driver off.
    pub(crate) fn set_clock_ahead(&self, by: SignedDuration) {
        self.clock.store(by.as_secs(), Ordering::Relaxed);
    }
}

fn settings(
    profile: &Profile,
    compiling: &CompileSettings,
    detour: SocketAddr,
    observed: &Arc<Mutex<Observed>>,
    clock: &Arc<AtomicI64>,
) -> HostSettings {
    let mut settings = HostSettings::new(
        &compiling.cache_dir,
        CacheKey::Bytes(compiling.cache_key),
        &compiling.compiler,
        compiling.compiler_args.clone(),
    );
    let (lines, refusals, clock) = (Arc::clone(observed), Arc::clone(observed), Arc::clone(clock));
    settings.log_listener =
        Some(Arc::new(move |line| lock(&lines).lines.push(format!("{} {}", line.message, line.fields))));
    settings.max_calls_in_flight = CALLS;
    settings.egress = EgressSettings {
        resolver: Arc::new(Nowhere(profile.resolves_to)),
        on_refusal: Some(Arc::new(move |notice| {
            lock(&refusals).refusals.push(format!("{} ({})", notice.target, notice.reason.name()));
        })),
        clock: Arc::new(move || {
            let ahead = SignedDuration::from_secs(clock.load(Ordering::Relaxed));
            let now = Timestamp::now();
            now.checked_add(ahead).unwrap_or(now)
        }),
        detour: Some(detour),
        ..EgressSettings::default()
    };
    settings
}

async fn load(host: &PluginHost, kind: StageKind, profile: &Profile, component: &Bytes) -> Result<(), Error> {
    let map = RawConfigMap {
        namespace: "conformance".to_owned(),
        name: "driver".to_owned(),
        uid: "driver".to_owned(),
        labels: BTreeMap::from([(PluginKeys::KIND_LABEL.to_owned(), "driver".to_owned())]),
        data: BTreeMap::from([
            (PluginKeys::SETTINGS.to_owned(), Value::Object(profile.settings.clone()).to_string()),
            (PluginKeys::GRANTS_JSON.to_owned(), grants(kind, profile)),
        ]),
        binary_data: BTreeMap::from([(Encoding::None.key().to_owned(), component.clone())]),
        ..RawConfigMap::default()
    };
    let mut changes = std::pin::pin!(host.changes());
    host.declare(map).await;
    let loaded = async {
        loop {
            let report = host.plugins().into_iter().next();
            match report.map(|report| (report.state, report.reason)) {
                Some((PluginState::Ready | PluginState::Trial, _)) => return Ok(()),
                Some((
                    PluginState::Rejected | PluginState::Withdrawn | PluginState::Quarantined { .. },
                    reason,
                )) => {
                    return Err(Error::Rejected(reason.unwrap_or_else(|| "it does not say why".to_owned())));
                }
                Some((PluginState::Declared | PluginState::Fetched | PluginState::Verified, _)) | None => {}
            }
            if changes.next().await.is_none() {
                return Err(Error::Slow);
            }
        }
    };
    tokio::time::timeout(LOADING, loaded).await.unwrap_or(Err(Error::Slow))
}

fn grants(kind: StageKind, profile: &Profile) -> String {
    let mut grants = profile.grants.clone();
    if kind == StageKind::ShortDeadline {
        let limits = grants.entry("limits").or_insert_with(|| json!({}));
        if let Some(limits) = limits.as_object_mut() {
            limits.insert("deadline_ms".to_owned(), HASTE_MS.into());
        }
    }
    Value::Object(grants).to_string()
}

/// All names lead to one address, and nobody goes there.
struct Nowhere(IpAddr);

impl Resolve for Nowhere {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        let address = self.0;
        Box::pin(async move { Ok(vec![address]) })
    }
}

/// A port at which nobody listens.
fn closed_port() -> io::Result<SocketAddr> {
    std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

fn lock(observed: &Mutex<Observed>) -> MutexGuard<'_, Observed> {
    observed.lock().unwrap_or_else(PoisonError::into_inner)
}

//! A plugin host in a folder of its own, and words for what tests do with it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Once;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use jiff::Timestamp;
use machinist_artifacts::{Bundle, SigningKey};
use machinist_core::driver::{
    ClassSpec, Creation, DriverResult, MachineIdentity, MachineRequest, SecretValues,
};
use machinist_core::value::id::{Name, Uid};
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{
    CacheKey, Digest, HostSettings, LoopbackRegistries, PluginHost, PluginReport, PluginState, RawConfigMap,
    SourceId,
};
use prometheus_client::registry::Registry;

/// Longer than any step takes on a busy machine: only a defect waits this long.
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) const KEY: [u8; 32] = [7; 32];

pub(crate) struct Fixture {
    pub(crate) host: PluginHost,
    metrics: Registry,
    /// Goes with the world.
    _folder: Option<tempfile::TempDir>,
}

/// The executable that compiles.
pub(crate) fn compiler() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_plugin-compile"))
}

/// Settings with a cache that all tests share: what one has compiled, the others load.
pub(crate) fn settings() -> HostSettings {
    settings_in(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("code"))
}

pub(crate) fn settings_in(cache: &Path) -> HostSettings {
    // As the binary does at its start; whichever test is first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = HostSettings::new(cache, CacheKey::Bytes(KEY), compiler(), Vec::<OsString>::new());
    HostSettings { loopback_registries: LoopbackRegistries::Allowed, ..settings }
}

/// Sends the log to the test's output with `--nocapture`.
fn log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let filter = tracing_subscriber::EnvFilter::from_default_env();
        tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().init();
    });
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(settings())
    }

    pub(crate) fn with(settings: HostSettings) -> Self {
        log();
        let host = PluginHost::start(settings).expect("starts");
        let mut metrics = Registry::default();
        host.register_metrics(&mut metrics);
        Self { host, metrics, _folder: None }
    }

    /// With a cache of its own.
    pub(crate) fn cold(change: impl FnOnce(&mut HostSettings)) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut settings = settings_in(folder.path());
        change(&mut settings);
        Self { _folder: Some(folder), ..Self::with(settings) }
    }

    /// Declares and waits until it is decided.
    pub(crate) async fn declare(&self, map: Map) -> PluginReport {
        let raw = map.0;
        let id = raw.source();
        let changes = self.host.changes();
        self.host.declare(raw).await;
        self.completed(&id, changes).await
    }

    async fn completed(&self, id: &SourceId, changes: impl Stream<Item = PluginReport>) -> PluginReport {
        let mut changes = pin!(changes);
        let completed = async {
            loop {
                let report = self.report(id);
                match report.state {
                    PluginState::Ready
                    | PluginState::Trial
                    | PluginState::Withdrawn
                    | PluginState::Rejected
                    | PluginState::Quarantined { .. } => {
                        return report;
                    }
                    PluginState::Declared | PluginState::Fetched | PluginState::Verified => {}
                }
                changes.next().await.expect("the host lives");
            }
        };
        tokio::time::timeout(TIMEOUT, completed).await.expect("loading comes to an end")
    }

    pub(crate) fn report(&self, id: &SourceId) -> PluginReport {
        self.host.plugins().into_iter().find(|report| report.source == *id).expect("is declared")
    }

    /// Declares what must become Ready.
    pub(crate) async fn ready(&self, map: Map) -> PluginReport {
        let report = self.declare(map).await;
        assert_eq!(report.state, PluginState::Ready, "{report:?}");
        report
    }

    /// Declares what must be rejected; its reason.
    pub(crate) async fn rejected(&self, map: Map) -> String {
        let report = self.declare(map).await;
        assert_eq!(report.state, PluginState::Rejected, "{report:?}");
        report.reason.expect("a rejection has a reason")
    }

    pub(crate) async fn create(&self, provider: &str, spec: &str) -> DriverResult<Creation> {
        self.host.create(request(provider, spec)).await
    }

    /// The version of the plain driver that answers.
    pub(crate) async fn version(&self, provider: &str) -> String {
        version(&self.create(provider, "{}").await)
    }

    /// The value of a metric's line, by the line's beginning.
    pub(crate) fn metric(&self, beginning: &str) -> u64 {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.metrics).expect("encodes");
        let line = text.lines().find(|line| line.starts_with(beginning));
        line.and_then(|line| line.rsplit(' ').next()).map_or(0, |value| value.parse().expect("a number"))
    }
}

/// Returns the version of the plain driver that created this machine.
pub(crate) fn version(answer: &DriverResult<Creation>) -> String {
    match answer {
        Ok(Creation::Created(vm)) => {
            vm.provider_id.as_str().split('/').nth(3).expect("plain:///version/uid").to_owned()
        }
        other => panic!("no machine: {other:?}"),
    }
}

pub(crate) fn class(provider: &str, spec: &str) -> ClassSpec {
    ClassSpec {
        name: "small".into(),
        provider: provider.into(),
        spec: spec.to_owned(),
        node_template: None,
        zones: Vec::new(),
        driver_digest: None,
    }
}

pub(crate) fn request(provider: &str, spec: &str) -> MachineRequest {
    MachineRequest {
        machine: MachineIdentity {
            namespace: "shoot".into(),
            name: Name::new("machine-1"),
            uid: Uid::new("uid-1"),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            provider_id: None,
            node_template: None,
            last_known_state: None,
        },
        class: class(provider, spec),
        idempotency_key: "key-1".to_owned(),
        cluster: "cluster-1".to_owned(),
        secrets: SecretValues::default(),
    }
}

/// The plain driver's component.
pub(crate) fn plain() -> Vec<u8> {
    guests::bytes("plain-driver").expect("the driver builds")
}

/// The same component with another digest: a custom section changes nothing else.
pub(crate) fn marked(component: &[u8], mark: &str) -> Vec<u8> {
    let name = b"mark";
    let length = u8::try_from(1 + name.len() + mark.len()).expect("a short mark");
    assert!(length < 128, "one byte of LEB128");
    let section = [&[0, length, 4][..], name, mark.as_bytes()].concat();
    [component, &section].concat()
}

/// Returns the component with a name replaced wherever it occurs.
pub(crate) fn renamed(component: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut renamed = component.to_vec();
    let places: Vec<usize> = component
        .windows(from.len())
        .enumerate()
        .filter(|(_, window)| *window == from.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty(), "{from} is in the component");
    for place in places {
        renamed[place..place + to.len()].copy_from_slice(to.as_bytes());
    }
    renamed
}

/// The ConfigMap with a bundle of what is in it, signed by this key. A component in a registry is the plain driver's.
pub(crate) fn signed(mut map: Map, key: &SigningKey, providers: &[&str], counter: u64) -> Map {
    let here = map.0.binary_data.get("plugin.wasm").cloned();
    let component = here.unwrap_or_else(|| plain().into());
    signed_with(&mut map, &component, key, providers, counter);
    map
}

fn signed_with(map: &mut Map, component: &[u8], key: &SigningKey, providers: &[&str], counter: u64) {
    let parts = map.0.declared().expect("a plugin").parts(Digest::of(component));
    let providers = providers.iter().map(|&name| name.to_owned()).collect();
    let text = Bundle { parts, providers, counter }.to_text();
    let signature = key.sign_blob(text.as_bytes()).expect("signed");
    map.0.data.extend([("bundle.json".to_owned(), text), ("bundle.sig".to_owned(), signature)]);
}

/// A ConfigMap with a driver.
pub(crate) struct Map(pub(crate) RawConfigMap);

impl Map {
    pub(crate) fn new(name: &str, component: Vec<u8>) -> Self {
        Self(RawConfigMap {
            namespace: "machinist".to_owned(),
            name: name.to_owned(),
            uid: format!("uid-of-{name}"),
            created: Timestamp::from_second(1_800_000_000).ok(),
            labels: BTreeMap::from([(PluginKeys::KIND_LABEL.to_owned(), "driver".to_owned())]),
            binary_data: BTreeMap::from([("plugin.wasm".to_owned(), Bytes::from(component))]),
            ..RawConfigMap::default()
        })
    }

    /// The plain driver as this version for these providers.
    pub(crate) fn plain(name: &str, version: &str, providers: &[&str]) -> Self {
        let settings = serde_json::json!({ "version": version, "providers": providers });
        Self::new(name, plain()).data("settings.json", &settings.to_string())
    }

    pub(crate) fn data(mut self, key: &str, value: &str) -> Self {
        self.0.data.insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn binary(mut self, key: &str, value: Vec<u8>) -> Self {
        self.0.binary_data.insert(key.to_owned(), Bytes::from(value));
        self
    }

    pub(crate) fn without(mut self, key: &str) -> Self {
        self.0.binary_data.remove(key);
        self
    }

    pub(crate) fn annotation(mut self, key: &str, value: &str) -> Self {
        self.0.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn plugin(mut self, name: &str) -> Self {
        self.0.labels.insert(PluginKeys::NAME_LABEL.to_owned(), name.to_owned());
        self
    }

    pub(crate) fn created(mut self, second: i64) -> Self {
        self.0.created = Timestamp::from_second(second).ok();
        self
    }

    pub(crate) fn id(&self) -> SourceId {
        self.0.source()
    }
}

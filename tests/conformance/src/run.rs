//! Which checks run, and how.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt as _;
use machinist_core::value::id::ProviderName;
use machinist_plugin_host::PluginKeys;
use machinist_plugin_host::{About, CacheKey, Encoding, HostSettings, Packed, PluginHost, RawConfigMap};
use serde_json::Value;

use crate::case::{Bench, Case, Stop, chain};
use crate::checks::{self, Check};
use crate::cloud::{self, Cloud};
use crate::profile::Profile;
use crate::report::{Report, Result as Checked};
use crate::stage::{self, CompileSettings, Stage, StageKind};

/// Checks at a time: most of them wait for the cloud, and each has a host.
const AT_ONCE: usize = 6;
/// A check that takes longer hangs. The longest one makes the VMs of several pages, which takes minutes in a real
/// cloud.
const LONGEST: Duration = Duration::from_secs(300);

/// The input of a run.
pub struct Options {
    pub component: Bytes,
    /// The profile of the driver.
    pub profile: Profile,
    /// The cloud's URL, instead of what the profile says.
    pub cloud: Option<String>,
    /// Where `{admin}` of the profile leads to; absent: to the cloud.
    pub admin: Option<String>,
    pub selection: Selection,
    /// The settings of the compiler.
    pub compiling: CompileSettings,
    /// A text of letters and digits that no other run against the same cloud has: clusters are named by it.
    pub nonce: String,
}

/// Some of the checks; empty: all.
#[derive(Clone, Debug, Default)]
pub struct Selection(Vec<String>);

/// A check as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub id: String,
    /// A sentence that is true of every driver that passes.
    pub promise: &'static str,
}

/// Why nothing was checked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A name that no group and no check has.
    #[error("there is no check {0:?}: --list shows all of them")]
    NoSuchCheck(String),
    #[error("failed to prepare the cloud")]
    Cloud(#[source] cloud::Error),
    #[error("failed to start a plugin host")]
    Host(#[source] machinist_plugin_host::testing::StartError),
    /// It would not be loaded.
    #[error("the plugin host does not load the driver: {0}")]
    Rejected(String),
    /// A client cannot be made.
    #[error("failed to set up requests")]
    Client(#[source] reqwest::Error),
    /// The profile names a provider that the driver does not serve.
    #[error("provider of the profile is {wanted:?}, and the driver serves {served}")]
    Provider {
        wanted: String,
        /// All that it serves.
        served: String,
    },
    /// It is a health policy, or something else.
    #[error("this component is no driver")]
    NoDriver,
}

impl Selection {
    /// `GROUP` or `GROUP/CHECK` each. Fails for a name that nothing has.
    pub fn of(names: &[String]) -> Result<Self, Error> {
        let all = checks::all();
        for name in names {
            if !all.iter().any(|check| is_named(check, name)) {
                return Err(Error::NoSuchCheck(name.clone()));
            }
        }
        Ok(Self(names.to_vec()))
    }

    fn has(&self, check: &Check) -> bool {
        self.0.is_empty() || self.0.iter().any(|name| is_named(check, name))
    }
}

fn is_named(check: &Check, name: &str) -> bool {
    check.group() == name || check.id == name
}

/// All checks, in the order of reports.
pub fn list() -> Vec<Listing> {
    checks::all().iter().map(|check| Listing { id: check.id.to_owned(), promise: check.promise }).collect()
}

/// Runs the checks. `progress` gets each finished check and the number of all.
pub async fn run(options: Options, progress: impl Fn(&Checked, usize) + Sync) -> Result<Report, Error> {
    let Options { component, profile, cloud, admin, selection, compiling, nonce } = options;
    let started = Instant::now();
    let about = describe(&component, &profile, &compiling).await?;
    let cloud = Cloud::start(&profile, cloud.as_deref(), admin.as_deref()).map_err(Error::Cloud)?;
    let provider = provider_of(&profile, &about)?;
    let client = cloud::client().map_err(Error::Client)?;
    let bench = Arc::new(Bench { profile, about: about.clone(), cloud, provider: provider.clone() });
    let stages = Stages { bench: Arc::clone(&bench), component, client, compiling, idle: Mutex::default() };
    let chosen: Vec<Check> = checks::all().into_iter().filter(|check| selection.has(check)).collect();
    let count = chosen.len();
    let mut order: Vec<(usize, Check)> = chosen.into_iter().enumerate().collect();
    // Checks that wait start first, so that the others run meanwhile.
    order.sort_by_key(|(index, check)| (check.kind == StageKind::Shared, *index));
    let mut results: Vec<(usize, Checked)> = futures::stream::iter(order)
        .map(|(index, check)| {
            let (stages, progress, cluster) =
                (&stages, &progress, format!("conf-{nonce}-{}-{}", check.group(), check.name()));
            async move {
                let checked = stages.check(&check, cluster).await;
                progress(&checked, count);
                (index, checked)
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    results.sort_by_key(|(index, _)| *index);
    let results = results.into_iter().map(|(_, checked)| checked).collect();
    Ok(Report {
        driver: about.name,
        version: about.version.to_string(),
        provider: provider.to_string(),
        results,
        took: started.elapsed(),
    })
}

/// The provider of all classes: the profile's, else the first that the driver serves.
fn provider_of(profile: &Profile, about: &About) -> Result<ProviderName, Error> {
    let Some(wanted) = &profile.provider else {
        return Ok(about.providers.first().cloned().unwrap_or_else(|| ProviderName::from("none")));
    };
    let name = ProviderName::folded(wanted);
    if about.providers.contains(&name) {
        return Ok(name);
    }
    let served: Vec<&str> = about.providers.iter().map(ProviderName::as_str).collect();
    Err(Error::Provider { wanted: wanted.clone(), served: served.join(", ") })
}

/// Loads the driver alone, as `machinist plugin inspect` does.
async fn describe(component: &Bytes, profile: &Profile, compiling: &CompileSettings) -> Result<About, Error> {
    let key = CacheKey::Bytes(compiling.cache_key);
    let args = compiling.compiler_args.clone();
    let settings = HostSettings::new(&compiling.cache_dir, key, &compiling.compiler, args);
    let host = PluginHost::start(settings).map_err(Error::Host)?;
    let map = RawConfigMap {
        name: "driver".to_owned(),
        labels: [(PluginKeys::KIND_LABEL.to_owned(), "driver".to_owned())].into(),
        data: [
            (PluginKeys::SETTINGS.to_owned(), Value::Object(profile.settings.clone()).to_string()),
            (PluginKeys::GRANTS_JSON.to_owned(), Value::Object(profile.grants.clone()).to_string()),
        ]
        .into(),
        binary_data: [(Encoding::None.key().to_owned(), Bytes::new())].into(),
        ..RawConfigMap::default()
    };
    let packed = Packed::whole(Encoding::None, component.to_vec());
    let declared = map.declared().map_err(|error| Error::Rejected(chain(&error)))?.with(packed);
    let inspected = host.inspect(declared).await;
    match (inspected.refusal, inspected.about) {
        (Some(refusal), _) => Err(Error::Rejected(refusal)),
        (None, Some(about)) => Ok(about),
        (None, None) => Err(Error::NoDriver),
    }
}

/// Hosts, of which checks that leave no trace share some.
struct Stages {
    bench: Arc<Bench>,
    component: Bytes,
    client: reqwest::Client,
    compiling: CompileSettings,
    idle: Mutex<Vec<Arc<Stage>>>,
}

impl Stages {
    async fn check(&self, check: &Check, cluster: String) -> Checked {
        let started = Instant::now();
        let verdict = if check.needs_cloud && self.bench.cloud.is_none() {
            Err(Stop::Skipped("the profile names no cloud, and none was given".to_owned()))
        } else {
            self.perform(check, cluster).await
        };
        Checked {
            group: check.group(),
            name: check.name(),
            promise: check.promise,
            verdict,
            took: started.elapsed(),
        }
    }

    async fn perform(&self, check: &Check, cluster: String) -> Result<(), Stop> {
        let broken = |error: stage::Error| Stop::Broken(chain(&error));
        let idle = if check.kind == StageKind::Shared { self.idle().pop() } else { None };
        let stage = match idle {
            Some(stage) => stage,
            None => Arc::new(self.stage(check.kind).await.map_err(broken)?),
        };
        stage.reset();
        let case = Case { bench: Arc::clone(&self.bench), stage: Arc::clone(&stage), cluster };
        match tokio::time::timeout(LONGEST, (check.run)(case)).await {
            Ok(verdict) => {
                if check.kind == StageKind::Shared {
                    self.idle().push(stage);
                }
                verdict
            }
            Err(_) => Err(Stop::Failed(format!("the check was not over after {} s", LONGEST.as_secs()))),
        }
    }

    async fn stage(&self, kind: StageKind) -> Result<Stage, stage::Error> {
        let Self { bench, component, client, compiling, .. } = self;
        Stage::start(kind, &bench.profile, component, bench.cloud.as_ref(), client, compiling).await
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Stage>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The hosts: each start is a process of its own, which lives until it crashes, loses leadership, or the run ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use kube::Client;
use machinist_runtime::context::clock::Clock;
use machinist_runtime::context::settings::{ClusterApi, Settings};
use machinist_runtime::metrics::Metrics;
use machinist_runtime::ports::Ports;
use machinist_runtime::tenant::election::{Candidate, LeaseNames, take_part};
use machinist_runtime::tenant::{ShutdownResult, Tenant};
use memory_api::ApiServer;
use memory_api::wire::Wire;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::check::Watchman;
use crate::cloud::SimCloud;
use crate::cluster::driver;
use crate::cluster::policies::Policies;
use crate::names::{CLUSTER, LEASE_TIMES, NAMESPACE, Site, to_target};
use crate::plan::Planted;
use crate::planted::{self, Bent};
use crate::rng::Rng;

/// Between the end of a process and the start of the next one.
const RESTART: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));

/// Everything that a host needs.
#[derive(Clone)]
pub(crate) struct Hosts {
    pub(crate) api: ApiServer,
    pub(crate) cloud: SimCloud,
    pub(crate) wire: Wire,
    pub(crate) clock: Clock,
    pub(crate) watchman: Watchman,
    pub(crate) planted: Option<Planted>,
    policies: Policies,
    seed: u64,
    site: Site,
    serves_cluster_api: bool,
    running: Arc<Mutex<BTreeMap<String, Handles>>>,
    mark: Arc<Mutex<&'static str>>,
}

/// Disturbances of a process from outside.
#[derive(Clone)]
struct Handles {
    kill: Arc<Notify>,
    shift_ms: Arc<AtomicI64>,
}

impl Hosts {
    pub(crate) fn new(
        seed: u64,
        api: ApiServer,
        cloud: SimCloud,
        wire: Wire,
        clock: Clock,
        watchman: Watchman,
    ) -> Self {
        let policies = Policies::new(seed, &[]);
        Self {
            api,
            cloud,
            wire,
            clock,
            watchman,
            planted: None,
            policies,
            seed,
            site: Site::Home,
            serves_cluster_api: false,
            running: Arc::default(),
            mark: Arc::new(Mutex::new(CLUSTER)),
        }
    }

    /// Processes with this bug.
    pub(crate) fn with(self, planted: Option<Planted>) -> Self {
        Self { planted, ..self }
    }

    /// Processes that hear these policies.
    pub(crate) fn judged_by(self, policies: &Policies) -> Self {
        Self { policies: policies.clone(), ..self }
    }

    /// Processes that serve Cluster API's kinds, or not.
    pub(crate) fn serving(self, serves_cluster_api: bool) -> Self {
        Self { serves_cluster_api, ..self }
    }

    /// The processes of another management cluster, which has no Machines of MCM's kinds and no cluster of Nodes.
    pub(crate) fn away(&self, api: ApiServer) -> Self {
        Self { api, site: Site::Away, running: Arc::default(), ..self.clone() }
    }

    pub(crate) fn site(&self) -> Site {
        self.site
    }

    /// Names of the processes that run.
    pub(crate) fn names(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    /// Ends a process without a word.
    pub(crate) fn kill(&self, name: &str) {
        if let Some(handles) = self.lock().get(name) {
            handles.kill.notify_one();
        }
    }

    /// All processes end, and start with this mark from here on.
    pub(crate) fn start_with_mark(&self, mark: &'static str) {
        let mut current = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *current, mark) == mark {
            return;
        }
        drop(current);
        self.watchman.note(("hosts start with mark", mark));
        for name in self.names() {
            self.kill(&name);
        }
    }

    /// Ends processes whose last call has killed them, also those of another management cluster.
    pub(crate) async fn bury(self, away: Option<Self>) {
        loop {
            let name = self.wire.crashed_actor().await;
            self.kill(&name);
            if let Some(away) = &away {
                away.kill(&name);
            }
        }
    }

    /// Sets the clock of a process forth or back.
    pub(crate) fn shift_clock(&self, name: &str, by_ms: i64) {
        if let Some(handles) = self.lock().get(name) {
            let ahead_ms = handles.shift_ms.fetch_add(by_ms, Ordering::Relaxed) + by_ms;
            let mut facts = self.watchman.facts();
            let most = facts.ahead.entry(name.to_owned()).or_default();
            *most = (*most).max(SignedDuration::from_millis(ahead_ms));
            facts.behind = facts.behind.max(SignedDuration::from_millis(-ahead_ms));
        }
    }

    /// All clocks are right again.
    pub(crate) fn repair_clocks(&self) {
        for handles in self.lock().values() {
            handles.shift_ms.store(0, Ordering::Relaxed);
        }
    }

    /// One replica: process after process.
    pub(crate) async fn replica(self, replica: usize) {
        let stream = match self.site {
            Site::Home => format!("replica {replica}"),
            Site::Away => format!("replica {replica} away"),
        };
        let mut rng = Rng::new(self.seed, &stream);
        for start in 0_u32.. {
            let name = format!("{}{replica}-{start}", self.site.hosts());
            self.watchman.note(("host starts", &name));
            let handles = Handles { kill: Arc::default(), shift_ms: Arc::default() };
            self.lock().insert(name.clone(), handles.clone());
            self.watchman.facts().running.insert(name.clone());
            let process = self.start(&name, rng.bytes(), &handles);
            process.end(&handles.kill).await;
            self.watchman.facts().running.remove(&name);
            // Requests that were sent and have not arrived never do.
            for way in [name.clone(), to_target(&name)] {
                self.wire.cut(&way);
                self.api.drop_watches(&way, None);
            }
            self.lock().remove(&name);
            self.watchman.note(("host ends", &name));
            tokio::time::sleep(rng.between(RESTART.0, RESTART.1)).await;
        }
    }

    fn start(&self, name: &str, seed: [u8; 32], handles: &Handles) -> Process {
        let clock = Clock::Shifted { clock: Box::new(self.clock.clone()), by_ms: handles.shift_ms.clone() };
        let client = |actor: &str| {
            let (way, detour) = (self.api.service(actor), self.api.service(name));
            Client::new(Bent::new(way, detour, self.planted), "default")
        };
        let (leads, is_leading) = watch::channel(false);
        let metrics = Arc::new(Metrics::default());
        let candidate = Candidate {
            client: client(name),
            namespace: NAMESPACE.to_owned(),
            leases: LeaseNames::Both("machine-controller-manager", "machine-controller"),
            identity: name.to_owned(),
            times: LEASE_TIMES,
            clock: clock.clone(),
        };
        let election =
            tokio::spawn(take_part(candidate, leads.clone(), metrics.clone(), CancellationToken::new()));
        let (always, is_always_leading) = watch::channel(true);
        let is_leading =
            if self.planted == Some(Planted::LeadsAlways) { is_always_leading } else { is_leading };
        let drivers = driver::drivers(&self.cloud, name, &self.watchman);
        let tenant = Tenant {
            control: client(name),
            namespace: NAMESPACE.to_owned(),
            plugin_namespace: "plugins".to_owned(),
            target: (self.site == Site::Home).then(|| client(&to_target(name))),
            settings: self.settings(),
            ports: Ports {
                drivers: planted::drivers(drivers, self.planted),
                policies: planted::policies(Arc::new(self.policies.clone()), self.planted),
                plugins: Arc::new(world::Nothing),
            },
            clock,
            seed,
            identity: name.to_owned(),
            metrics,
            node_groups: None,
        };
        let (synced, _) = watch::channel(false);
        let run = tokio::spawn(tenant.run(is_leading, synced, CancellationToken::new()));
        Process { run, election, _always: always }
    }

    fn settings(&self) -> Settings {
        let mark = match self.site {
            Site::Home => *self.mark.lock().unwrap_or_else(PoisonError::into_inner),
            Site::Away => "away",
        };
        let cluster_api = if self.serves_cluster_api { ClusterApi::EveryNamespace } else { ClusterApi::Off };
        Settings { cluster_api, ..settings(self.planted, mark) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Handles>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn settings(planted: Option<Planted>, mark: &str) -> Settings {
    let settings = Settings::for_cluster(mark);
    match planted {
        Some(Planted::FailsAtOnce) => {
            let health_timeout = SignedDuration::from_secs(5);
            let api_check_period = SignedDuration::from_hours(24 * 365);
            let max_unhealthy_replacements = "100%".into();
            Settings { health_timeout, api_check_period, max_unhealthy_replacements, ..settings }
        }
        Some(Planted::GateStaysOpen) => {
            Settings { api_check_period: SignedDuration::from_hours(24 * 365), ..settings }
        }
        // Only a reconcile finds that something never comes to rest.
        Some(Planted::DropsConditions) => Settings { resync: SignedDuration::from_mins(10), ..settings },
        Some(Planted::DeletesOrphansAtOnce) => Settings {
            orphan_vms_period: SignedDuration::from_mins(1),
            orphan_vm_minimum_age: SignedDuration::ZERO,
            orphan_vm_sightings: 1,
            ..settings
        },
        Some(Planted::ReplacesAllAtOnce) => {
            let health_timeout = SignedDuration::from_secs(90);
            Settings { health_timeout, max_unhealthy_replacements: "100%".into(), ..settings }
        }
        // An outage of a zone is often shorter than the default.
        Some(Planted::GivesUpZones) => Settings { health_timeout: SignedDuration::from_mins(2), ..settings },
        Some(Planted::IgnoresHooks) => Settings { deletion_hook_timeout: SignedDuration::ZERO, ..settings },
        Some(Planted::LeavesVolumes) => Settings { volume_detach_timeout: SignedDuration::ZERO, ..settings },
        Some(_) | None => settings,
    }
}

/// A host that runs. Dropped, it dies.
struct Process {
    run: JoinHandle<ShutdownResult>,
    election: JoinHandle<()>,
    /// A host that believes that it leads does so for as long as this is there.
    _always: watch::Sender<bool>,
}

impl Process {
    /// Until it is killed, or has lost leadership: then a process ends itself.
    async fn end(mut self, kill: &Notify) {
        tokio::select! {
            biased;
            () = kill.notified() => {}
            _ = &mut self.election => {}
            _ = &mut self.run => {}
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.run.abort();
        self.election.abort();
    }
}

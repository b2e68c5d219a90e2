//! The parts of a run, drawn from its seed.
//!
//! Each seed has its own mixture: some faults are absent, some frequent, so that a rare one is not always hidden behind
//! a frequent one.
//!
//! | module | what it does |
//! | --- | --- |
//! | `actions` | the actions of users that a run may have |
//! | `owners` | the owners of the Machines of a run |
//! | `cluster_api` | the part of a run that belongs to Cluster API |
//! | `bugs` | the bugs that can be planted |

mod actions;
mod bugs;
mod cluster_api;
mod owners;

use std::time::Duration;

use machinist_core::health_policy::Mode;

use crate::rng::Rng;
pub(crate) use actions::{ACTIONS, Action, POOL_ACTIONS, PoolAction};
pub use bugs::Planted;
pub(crate) use cluster_api::{ClusterApiPlan, INFRA_ACTIONS, InfraAction};
pub(crate) use owners::Owners;

/// From so many Machines on a cluster is large.
const LARGE: usize = 1_000;

/// The actions of users in an hour, however few Machines there are.
const FEW_ACTIONS: f64 = 40.0;

/// The actions in an hour for bugs that only one kind of action shows.
const MANY_ACTIONS: f64 = 120.0;

/// How the cloud of a run is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CloudHabits {
    /// The cloud keeps idempotency keys.
    pub(crate) keeps_keys: bool,
    /// How late its reads are.
    pub(crate) reads_lag: Duration,
    /// A class lists the VMs of its zone; otherwise those of all zones.
    pub(crate) lists_by_zone: bool,
    /// Its driver can remove one VM of two.
    pub(crate) deletes_by_id: bool,
    /// Creation has a second step.
    pub(crate) initializes: bool,
    /// From a create to a VM that runs.
    pub(crate) boots_for: Duration,
    /// From the order to remove a VM until it is gone.
    pub(crate) stops_for: Duration,
    /// Of all VMs, those that die before they boot.
    pub(crate) stillborn: f64,
}

/// A policy of a run.
#[derive(Clone, Debug)]
pub(crate) struct PolicyPlan {
    pub(crate) name: String,
    pub(crate) mode: Mode,
    /// It calls every Machine sick, always.
    pub(crate) is_grim: bool,
}

/// How often a call fares badly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallFaults {
    pub(crate) conflict: f64,
    pub(crate) throttled: f64,
    pub(crate) broken: f64,
    /// Lost on the way.
    pub(crate) lost: f64,
    /// Carried out, and the answer lost.
    pub(crate) answer_lost: f64,
    /// Carried out after seconds.
    pub(crate) slow: f64,
    pub(crate) hangs: f64,
    /// A listing from a moment ago.
    pub(crate) stale: f64,
    /// A call of a driver that fails, done or not.
    pub(crate) cloud: f64,
}

/// The events that happen so often an hour.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hourly {
    pub(crate) actions: f64,
    /// Of what they would do to classes and Secrets, the share that they do.
    pub(crate) shared: f64,
    /// All watches of a host break.
    pub(crate) watch_drops: f64,
    /// The API server forgets its past.
    pub(crate) compactions: f64,
    /// A host dies, before or after some call is carried out.
    pub(crate) crashes: f64,
    /// A host is cut off from the API server for a while.
    pub(crate) partitions: f64,
    /// The API server is gone for everyone for a while.
    pub(crate) outages: f64,
    /// Somebody takes a Lease away.
    pub(crate) lease_thefts: f64,
    /// A host's clock is set.
    pub(crate) clock_jumps: f64,
    /// The cloud fails or throttles everything for a while.
    pub(crate) cloud_outages: f64,
    /// All Nodes of a zone are silent for a while.
    pub(crate) zone_outages: f64,
    /// The cloud's listings are not true for a while.
    pub(crate) lies: f64,
    /// A policy is reloaded, or is absent for a while.
    pub(crate) policy_swaps: f64,
    /// The control plane is moved, and its hosts start with another mark until somebody notices.
    pub(crate) moves: f64,
    /// Nobody may delete bootstrap tokens for a while.
    pub(crate) kept_tokens: f64,
    /// Users and the autoscaler do something to sets and deployments.
    pub(crate) pools: f64,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) seed: u64,
    pub(crate) machines: usize,
    pub(crate) chaos: Duration,
    /// Replicas that stand for election.
    pub(crate) replicas: usize,
    pub(crate) cloud: CloudHabits,
    pub(crate) calls: CallFaults,
    pub(crate) hourly: Hourly,
    /// Applications whose pods run on the Nodes.
    pub(crate) apps: usize,
    /// How late watches are.
    pub(crate) watch_lag: Duration,
    /// Where Machines are: in so many zones.
    pub(crate) zones: usize,
    pub(crate) policies: Vec<PolicyPlan>,
    /// The action that users take half of the time.
    pub(crate) favourite: Option<Action>,
    /// The kind of owner of the Machines.
    pub(crate) owners: Owners,
    /// Classes carry the cluster's mark from the beginning. Otherwise hosts store it once a listing has shown a VM.
    pub(crate) marks_classes: bool,
    /// An operator has said that VMs go of which nothing shows that they were ever this cluster's, however many they
    /// are.
    pub(crate) releases_strangers: bool,
    /// The action on sets and deployments half of the time.
    pub(crate) favourite_of_pools: Option<PoolAction>,
    /// The disruption budget of each deployment from its beginning; without one, some have one and other wishes.
    pub(crate) budget: Option<&'static str>,
    /// Workload clusters of Cluster API beside all that.
    pub(crate) cluster_api: Option<ClusterApiPlan>,
    pub(crate) planted: Option<Planted>,
}

impl Plan {
    /// The run of a seed: `machines` Machines, `chaos` of simulated time with faults. Then comes the calm.
    pub fn new(seed: u64, machines: usize, chaos: Duration) -> Self {
        let mut rng = Rng::new(seed, "plan");
        // Of many small clusters each lacks some kinds of faults; a large one is mostly run alone, and has them all.
        let is_large = machines >= LARGE;
        let mut some = |most: f64| {
            if rng.happens(0.4) && !is_large {
                return 0.0;
            }
            let share = rng.below(100) as f64 / 100.0;
            most * if is_large { 0.25 + 0.75 * share } else { share }
        };
        // Events that concern every Machine at once are rarer where there are many, as the time that a run may take is
        // limited.
        let rare = (200.0 / machines.max(1) as f64).clamp(0.02, 1.0);
        let calls = CallFaults {
            conflict: some(0.03),
            throttled: some(0.03),
            broken: some(0.03),
            lost: some(0.03),
            answer_lost: some(0.03),
            slow: some(0.03),
            hangs: some(0.005),
            stale: some(0.2),
            cloud: some(0.15),
        };
        let actions = FEW_ACTIONS + machines as f64 / 50.0;
        let hourly = Hourly {
            actions,
            // A class is that of thousands where there are many: if it were broken the more often, all would always be
            // broken.
            shared: if is_large { FEW_ACTIONS / actions } else { 1.0 },
            watch_drops: some(30.0) * rare,
            compactions: some(10.0) * rare,
            crashes: some(20.0) * rare,
            partitions: some(4.0) * rare,
            outages: some(2.0) * rare,
            lease_thefts: some(3.0) * rare,
            clock_jumps: some(3.0) * rare,
            cloud_outages: some(3.0) * rare,
            zone_outages: some(3.0) * rare,
            lies: some(2.0) * rare,
            policy_swaps: some(12.0) * rare,
            moves: {
                let mut rng = Rng::new(seed, "moves");
                if rng.happens(0.3) { rng.below(100) as f64 / 100.0 * rare } else { 0.0 }
            },
            kept_tokens: {
                let mut rng = Rng::new(seed, "kept tokens");
                if rng.happens(0.5) { 2.0 * rng.below(100) as f64 / 100.0 * rare } else { 0.0 }
            },
            pools: 10.0 + 50.0 * Rng::new(seed, "pool rate").below(100) as f64 / 100.0,
        };
        let keeps_keys = rng.happens(0.7);
        let lags: &[u64] = if keeps_keys { &[0, 0, 2_000, 8_000, 30_000] } else { &[0, 2_000, 8_000] };
        let cloud = CloudHabits {
            keeps_keys,
            // Where there are many, they are listed all the time, and three times as many would be most of the work.
            lists_by_zone: is_large || Rng::new(seed, "listing").happens(0.5),
            deletes_by_id: is_large || Rng::new(seed, "delete by id").happens(0.5),
            reads_lag: Duration::from_millis(rng.pick(lags).copied().unwrap_or_default()),
            initializes: rng.happens(0.3),
            boots_for: rng.between(Duration::from_secs(1), Duration::from_secs(90)),
            stops_for: rng.between(Duration::from_millis(200), Duration::from_secs(60)),
            stillborn: if rng.happens(0.3) { 0.1 } else { 0.0 },
        };
        Self {
            seed,
            machines,
            chaos,
            replicas: if rng.happens(0.5) { 2 } else { 1 },
            cloud,
            calls,
            hourly,
            apps: machines.div_ceil(3),
            watch_lag: Duration::from_millis(rng.pick(&[0, 0, 50, 500, 3_000]).copied().unwrap_or_default()),
            zones: 1 + Rng::new(seed, "zones").below(3),
            policies: policies(seed, machines),
            favourite: None,
            // A week of many Machines is compared with earlier ones.
            owners: if is_large { Owners::Nobody } else { Owners::drawn(seed) },
            marks_classes: is_large || Rng::new(seed, "class marks").happens(0.5),
            releases_strangers: is_large || Rng::new(seed, "strangers").happens(0.5),
            favourite_of_pools: None,
            budget: None,
            // So that a week of many Machines stays what it was.
            cluster_api: if is_large { None } else { ClusterApiPlan::drawn(seed) },
            planted: None,
        }
    }

    /// Whether a policy may decide anything.
    pub(crate) fn has_judges(&self) -> bool {
        self.policies.iter().any(|policy| policy.mode == Mode::Enforce)
    }

    /// The same run with Cluster API's kinds beside MCM's.
    #[must_use]
    pub fn with_cluster_api(mut self) -> Self {
        self.cluster_api = self.cluster_api.or_else(|| Some(ClusterApiPlan::of(self.seed)));
        self
    }

    /// The same run with a bug in it.
    #[must_use]
    pub fn with(mut self, planted: Planted) -> Self {
        self.planted = Some(planted);
        self.owners = planted.needs();
        self.cluster_api = planted.breaks().is_of_cluster_api().then(|| ClusterApiPlan::of(self.seed));
        // Bugs that show only when a way is cut off, need that to happen.
        match planted {
            Planted::FailsAtOnce => self.hourly.outages = 6.0,
            Planted::GateStaysOpen => {
                self.hourly.partitions = 12.0;
                self.hourly.actions = MANY_ACTIONS;
            }
            Planted::ReplacesAllAtOnce => {
                self.zones = 3;
                self.users_do(Action::KillKubelet);
            }
            Planted::GivesUpZones => {
                self.zones = 1;
                self.hourly.zone_outages = 12.0;
            }
            Planted::IgnoresHooks | Planted::HurriesHooks => self.users_do(Action::HoldDeletion),
            Planted::HidesPods => self.users_do(Action::DeleteMachine),
            Planted::LeavesVolumes => {
                self.favourite = Some(Action::DeleteMachine);
                // Volumes are attached for a while before their Machines go, and some detach late.
                self.hourly.actions = 60.0;
                self.apps *= 4;
                self.cloud.boots_for = Duration::from_secs(5);
                self.calls = CallFaults::default();
            }
            Planted::KeepsAttachments => self.users_do(Action::ForceDelete),
            Planted::DeletesPreserved => self.users_do(Action::Preserve),
            Planted::HandsOverUndrained => self.users_do(Action::UpdateInPlace),
            Planted::AppliesObservers => {
                let mode = Mode::Observe;
                self.policies = vec![PolicyPlan { name: "observer".to_owned(), mode, is_grim: true }];
            }
            Planted::BelievesListings => {
                self.hourly.lies = 30.0;
                self.favourite = Some(Action::DeleteMachine);
            }
            Planted::DeniesDoubt | Planted::ClaimsDoubt | Planted::KeepsDoubt => {
                self.cloud.keeps_keys = false;
                self.cloud.reads_lag = Duration::from_secs(8);
                self.calls.cloud = 0.5;
                // Many creates, of which few are in doubt.
                self.users_do(Action::DeleteMachine);
            }
            Planted::TakesTheFirst | Planted::LeavesTheSecond => {
                self.cloud.deletes_by_id = true;
                self.favourite = Some(Action::MakeSecondVm);
            }
            Planted::WritesOthersNodes | Planted::GivesUpForNames => self.users_do(Action::TakeName),
            Planted::NeverRetries => self.calls.cloud = 0.5,
            Planted::MakesAgain | Planted::AsksOverAndOver | Planted::ForgetsOrdinals => {
                self.pools_do(PoolAction::Scale);
            }
            Planted::RaisesTooFar | Planted::EmptiesSets => self.pools_do(PoolAction::Roll),
            Planted::OverlooksBudgets => {
                self.budget = Some("1/10m");
                self.pools_do(PoolAction::Roll);
                // Where the number changes often, nobody can tell what a Machine went for.
                self.hourly.pools = 20.0;
            }
            Planted::ChoosesOthers => self.pools_do(PoolAction::ScaleDown),
            Planted::HandsDownTexts => self.pools_do(PoolAction::Mistype),
            Planted::ReleasesSets => self.pools_do(PoolAction::Delete),
            Planted::OverlooksFreeze | Planted::StaysFrozen => self.pools_do(PoolAction::EditSet),
            Planted::OverlooksPauses => self.infra_users_do(InfraAction::PauseCluster),
            Planted::ForgetsInfraVms => self.infra_users_do(InfraAction::DeleteMachine),
            Planted::CreatesTwiceForKeys
            | Planted::LeaksInfraVms
            | Planted::RewritesProviderIds
            | Planted::CallsTheRunningStopped
            | Planted::TakesProvisionedBack
            | Planted::CreatesTwice
            | Planted::OrdersOverAndOver
            | Planted::DeletesUnasked
            | Planted::DeletesOrphansAtOnce
            | Planted::ForgetsVms
            | Planted::LeaksVms
            | Planted::LeadsAlways
            | Planted::DropsConditions
            | Planted::NeverDeletes
            | Planted::DeletesPods
            | Planted::Panics => {}
        }
        self
    }

    /// Users mostly do this, and often.
    fn users_do(&mut self, action: Action) {
        self.favourite = Some(action);
        self.hourly.actions = MANY_ACTIONS;
    }

    fn infra_users_do(&mut self, action: InfraAction) {
        if let Some(plan) = &mut self.cluster_api {
            plan.favourite = Some(action);
            plan.actions = MANY_ACTIONS;
        }
    }

    fn pools_do(&mut self, action: PoolAction) {
        self.favourite_of_pools = Some(action);
        self.hourly.pools = 90.0;
    }
}

/// Half of the runs have some, and few of those one that decides.
fn policies(seed: u64, machines: usize) -> Vec<PolicyPlan> {
    let mut rng = Rng::new(seed, "policies");
    // A pass looks at all of them, and a week of many Machines has many passes.
    if machines >= 1_000 || rng.happens(0.5) {
        return Vec::new();
    }
    let count = 1 + rng.below(3);
    let decides = rng.happens(0.3);
    let plan = |number: usize| PolicyPlan {
        name: format!("policy-{number}"),
        mode: if decides && number == 0 { Mode::Enforce } else { Mode::Observe },
        is_grim: rng.happens(0.3),
    };
    (0..count).map(plan).collect()
}

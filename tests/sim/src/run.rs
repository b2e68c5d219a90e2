//! One run: chaos, then calm, then silence.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Once;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use machinist_runtime::context::clock::Clock;
use memory_api::ApiServer;
use memory_api::wire::Wire;

use crate::actors::{Actors, ClusterApi};
use crate::check::{MachineFact, Watchman};
use crate::cloud::SimCloud;
use crate::cluster::Cluster;
use crate::cluster::fleet::Fleet;
use crate::cluster::hosts::Hosts;
use crate::cluster::policies::Policies;
use crate::cluster::pools::Pools;
use crate::faults::Faults;
use crate::names::{CLUSTER, STRANGER, Site, UID_TAG, is_of_cluster_api, provider_id};
use crate::plan::{Owners, Plan};
use crate::progress::Progress;
use crate::rule::{Rule, Violation};
use crate::story::Story;

/// When every run begins.
const BEGIN: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// Without faults, everything must be as it is wished after so long: a machine that nobody can reach takes ten minutes
/// to fail, twenty to be given up when it never joins, and a drain that a budget holds up two hours.
const CONVERGES_WITHIN: Duration = Duration::from_hours(6);

/// From the end of the faults until a Machine has its VM: a host leads again, its requests and the Machine's class are
/// well again.
const COMES_UP_WITHIN: SignedDuration = SignedDuration::from_mins(3);

/// And from the end of the pause after the last call that has failed.
const MAKES_WITHIN: SignedDuration = SignedDuration::from_mins(1);

/// And so much longer for each Machine that is rolled after the others have been drained.
const ROLLS_WITHIN: Duration = Duration::from_hours(3);

/// From then on, until all that is due soon has been done.
const CALM_WITHIN: Duration = Duration::from_mins(20);

/// Then nothing is written for so long.
const QUIET: Duration = Duration::from_mins(40);

/// How long the last Node took to join is noted by then, and the hourly look at each VM has noted how it is.
const NOTED: Duration = Duration::from_mins(130);

const LOOKS_FOR_PANICS_EVERY: Duration = Duration::from_secs(1);

/// How far it is, of simulated time.
const SHOWS_EVERY: Duration = Duration::from_mins(1);

/// Requests that are kept for whoever has to understand a failure.
const RECORDS: usize = 400;

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    pub seed: u64,
    /// A hash of all requests, calls and events, with their times.
    pub hash: u64,
    /// The first rule that was broken.
    pub violation: Option<Violation>,
    /// How often what went wrong.
    pub faults: BTreeMap<&'static str, u64>,
    /// Requests and calls of hosts.
    pub calls: usize,
    /// VMs that were made.
    pub vms: u64,
    pub simulated: Duration,
    /// Machines that were wished for.
    pub machines: usize,
    /// The last events. Only of a run that failed.
    pub story: String,
}

impl Report {
    pub fn machine_hours(&self) -> f64 {
        self.simulated.as_secs_f64() / 3600.0 * self.machines as f64
    }

    pub fn faults_injected(&self) -> u64 {
        self.faults.values().sum()
    }
}

thread_local! {
    /// The message of a panic on this thread.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Does a run on this thread, in its own time.
pub fn run(plan: &Plan) -> anyhow::Result<Report> {
    run_watched(plan, &Progress::default())
}

/// As `run`, and others can see how far it is.
pub fn run_watched(plan: &Plan, progress: &Progress) -> anyhow::Result<Report> {
    note_panics();
    PANIC.take();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(story(plan, progress)))
}

fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANIC.set(Some(info.to_string()));
            before(info);
        }));
    });
}

async fn story(plan: &Plan, progress: &Progress) -> Report {
    let clock = Clock::virtual_from(BEGIN);
    let wire = Wire::new();
    wire.keep_last(RECORDS);
    let time = clock.clone();
    let api = ApiServer::new(wire.clone(), move || time.now());
    api.remember(20_000);
    api.delay_watches(plan.watch_lag);
    let cloud = SimCloud::new(plan.seed, plan.cloud, clock.clone(), wire.clone());
    let story = Story::default();
    let watchman = Watchman::new(cloud.clone(), clock.clone(), wire.clone(), story.clone());
    let cluster =
        Cluster::new(plan.seed, plan.apps, api.clone(), cloud.clone(), clock.clone(), watchman.clone())
            .taken_back_by(plan.owners);
    let pools = Pools::new(plan, api.clone());
    let fleet = Fleet::new(plan, api.clone(), pools);
    let (watching, reacting, counting) = (watchman.clone(), cluster.clone(), fleet.clone());
    api.observe(move |change| {
        watching.changed(Site::Home, change);
        reacting.changed(change);
        counting.changed(change);
    });
    let faults = Faults::rule(plan.seed, plan.calls, &wire, &watchman);
    let policies = Policies::new(plan.seed, &plan.policies);
    watchman.facts().has_judges = plan.has_judges();
    let hosts =
        Hosts::new(plan.seed, api.clone(), cloud.clone(), wire.clone(), clock.clone(), watchman.clone())
            .with(plan.planted)
            .judged_by(&policies)
            .serving(plan.cluster_api.is_some());
    let cluster_api = plan.cluster_api.as_ref().map(|cluster_api| {
        let (time, watching) = (clock.clone(), watchman.clone());
        let away = ApiServer::new(wire.clone(), move || time.now()).with_uids(1);
        away.remember(20_000);
        away.delay_watches(plan.watch_lag);
        away.observe(move |change| watching.changed(Site::Away, change));
        ClusterApi::new(plan.seed, cluster_api, &hosts, away)
    });
    let actors = Actors {
        plan: plan.clone(),
        api,
        cloud: cloud.clone(),
        cluster: cluster.clone(),
        hosts,
        cluster_api,
        faults: faults.clone(),
        fleet,
        policies,
        watchman: watchman.clone(),
        clock,
    };
    tokio::select! {
        biased;
        () = watchman.alarm() => {}
        () = panics(&watchman) => {}
        () = show(progress, &wire, &faults) => {}
        () = acts(plan, &actors, &wire) => {}
    }
    // These two hold the world that holds them, and would keep its memory.
    actors.api.observe(|_| {});
    if let Some(cluster_api) = &actors.cluster_api {
        cluster_api.away.api.observe(|_| {});
    }
    wire.heal();
    let violation = watchman.found().into_iter().next();
    let failure_story = if violation.is_some() { failure_story(&story, &wire) } else { String::new() };
    Report {
        seed: plan.seed,
        hash: wire.hash(),
        violation,
        faults: faults.counts(),
        calls: wire.len(),
        vms: cloud.created(),
        simulated: wire.elapsed(),
        machines: plan.machines,
        story: failure_story,
    }
}

fn failure_story(story: &Story, wire: &Wire) -> String {
    format!("{}\n\nthe last requests:\n{}", story.lines().join("\n"), wire.trace())
}

/// The acts of the play, one after the other.
async fn acts(plan: &Plan, actors: &Actors, wire: &Wire) {
    tokio::spawn(actors.cluster.clone().live());
    let away = actors.cluster_api.as_ref().map(|cluster_api| cluster_api.away.clone());
    tokio::spawn(actors.hosts.clone().bury(away.clone()));
    for replica in 0..plan.replicas {
        tokio::spawn(actors.hosts.clone().replica(replica));
        if let Some(away) = &away {
            tokio::spawn(away.clone().replica(replica));
        }
    }
    if let Some(cluster_api) = &actors.cluster_api {
        tokio::spawn(cluster_api.clone().reconcile());
    }
    let fleet = tokio::spawn(actors.fleet.clone().keep_up());
    tokio::spawn(actors.clone().collect_garbage());
    actors.cloud.disturb();
    // Dropped at its end: whatever is still under way then ends with it.
    let _ = tokio::time::timeout(plan.chaos, actors.clone().act()).await;
    calm(actors);
    converge(plan, actors, wire).await;
    if let Some(cluster_api) = &actors.cluster_api {
        cluster_api.move_all().await;
        converge(plan, actors, wire).await;
    }
    fleet.abort();
    tokio::time::sleep(CALM_WITHIN).await;
    silence(actors).await;
    leaks(actors);
}

/// Waits until everything is as it is wished.
async fn converge(plan: &Plan, actors: &Actors, wire: &Wire) {
    let watchman = &actors.watchman;
    let begin = wire.elapsed();
    let rolled = if plan.owners == Owners::Deployments { plan.machines } else { 0 };
    let limit = CONVERGES_WITHIN + ROLLS_WITHIN * u32::try_from(rolled * 2).unwrap_or(u32::MAX);
    let (without, calm) = (without_vm(actors), actors.clock.now());
    while let Some(missing) = unfinished(actors) {
        let still = without_vm(actors);
        if let Some((_, name)) = without.intersection(&still).find(|(uid, _)| is_late(actors, uid, calm)) {
            let after = actors.clock.now().duration_since(calm);
            let detail = format!("Machine {name} has no VM {after:#} after the faults have ended");
            return watchman.break_rule(Rule::ComesUp, detail);
        }
        if wire.elapsed() - begin > limit {
            let is_second = seconds(actors).is_some_and(|second| second == missing);
            let is_of_cluster_api = short_of_cluster_api(actors).is_some_and(|short| short == missing);
            let rule = match (is_second, is_of_cluster_api) {
                (true, _) => Rule::SecondVms,
                (false, true) => Rule::NoneLeft,
                (false, false) => Rule::Converges,
            };
            return watchman.break_rule(rule, missing);
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
}

/// A host catches the panics of its passes, and goes on. Core's own rules are assertions of each pass.
async fn panics(watchman: &Watchman) {
    loop {
        tokio::time::sleep(LOOKS_FOR_PANICS_EVERY).await;
        if let Some(panic) = PANIC.take() {
            return watchman.break_rule(Rule::NoPanic, panic);
        }
        watchman.tick();
    }
}

async fn show(progress: &Progress, wire: &Wire, faults: &Faults) {
    loop {
        tokio::time::sleep(SHOWS_EVERY).await;
        progress.set(wire.elapsed(), wire.len(), faults.total());
    }
}

/// No faults from here on, and everything that was broken is repaired.
fn calm(actors: &Actors) {
    actors.watchman.note(("calm", ""));
    actors.faults.calm();
    actors.watchman.facts().calm(actors.clock.now());
    actors.cloud.calm();
    actors.policies.calm();
    actors.hosts.repair_clocks();
    actors.hosts.start_with_mark(CLUSTER);
    actors.api.delay_watches(Duration::ZERO);
    if let Some(cluster_api) = &actors.cluster_api {
        cluster_api.away.repair_clocks();
        cluster_api.away.api.delay_watches(Duration::ZERO);
        cluster_api.calm();
    }
    actors.fleet.repair();
    actors.fleet.pools().calm();
    actors.cluster.repair_all();
    actors.remove_left_nodes();
    actors.correct_all();
}

/// Returns the difference from the wish.
fn unfinished(actors: &Actors) -> Option<String> {
    let short = actors.fleet.is_short_of().or_else(|| left_over(actors)).or_else(|| seconds(actors));
    short.or_else(|| actors.cluster.unfinished_update()).or_else(|| short_of_cluster_api(actors))
}

fn short_of_cluster_api(actors: &Actors) -> Option<String> {
    actors.cluster_api.as_ref()?.is_short_of()
}

/// A Machine without a VM should have got one by now.
fn is_late(actors: &Actors, uid: &str, calm: Timestamp) -> bool {
    let by = (calm + COMES_UP_WITHIN).max(actors.watchman.back_by(uid).unwrap_or(calm));
    actors.clock.now() > by + MAKES_WITHIN
}

/// Uids and names of the Machines that are to have a VM and have none.
fn without_vm(actors: &Actors) -> BTreeSet<(String, String)> {
    let facts = actors.watchman.facts();
    let is_without = |(_, machine): &(&String, &MachineFact)| {
        machine.provider_id.is_empty() && machine.deleting_since.is_none() && machine.phase != "Failed"
    };
    let without = facts.machines.iter().filter(is_without);
    without.map(|(uid, machine)| (uid.clone(), machine.name.clone())).collect()
}

/// More VMs of no Machine than so many, if they are one of so many of all, stay where nothing shows that they were ever
/// this cluster's: the share rule of hosts.
const FEW_ORPHANS: usize = 3;
const LARGE_SHARE: usize = 5;

/// VMs of no Machine, which hosts remove in their time. Those that no host can know of are leaks.
fn left_over(actors: &Actors) -> Option<String> {
    let (orphans, _) = orphans(actors);
    (!orphans.is_empty()).then(|| format!("VMs without a Machine are there: {}", orphans.join(", ")))
}

/// VMs beside those of Machines, where the driver can remove them.
fn seconds(actors: &Actors) -> Option<String> {
    let seconds = second_vms(actors);
    (actors.cloud.deletes_by_id() && !seconds.is_empty())
        .then(|| format!("second VMs of Machines are there: {}", seconds.join(", ")))
}

/// Ids of VMs beside those of Machines that are there.
fn second_vms(actors: &Actors) -> Vec<String> {
    let facts = actors.watchman.facts();
    let is_second = |vm: &simcloud::VmView| {
        let has_machine = vm.tags.get(UID_TAG).is_some_and(|uid| facts.machines.contains_key(uid));
        vm.state != simcloud::VmState::Terminated && has_machine && actors.cloud.is_second(&vm.id)
    };
    actors.cloud.look(|vm| is_second(vm).then(|| vm.id.clone()))
}

/// VMs of no Machine that are to go, and those that may stay.
fn orphans(actors: &Actors) -> (Vec<String>, Vec<String>) {
    let uids = actors.watchman.facts().machines.keys().cloned().collect();
    let orphans = actors.cloud.orphans(&uids);
    let all = actors.cloud.orphans(&BTreeSet::new()).len();
    let is_mass = orphans.len() > FEW_ORPHANS && orphans.len() * LARGE_SHARE >= all;
    let has_owners = actors.plan.owners != Owners::Nobody;
    // The Machines of sets and deployments are named after these. Of others a host knows that has seen them itself.
    let is_stranger = |name: &str| name.starts_with(STRANGER) || !has_owners;
    let stays = |name: &str| is_mass && !actors.plan.releases_strangers && is_stranger(name);
    let (stay, go): (Vec<_>, Vec<_>) = orphans.into_iter().partition(|(_, name)| stays(name));
    let ids = |vms: Vec<(String, String)>| vms.into_iter().map(|(id, _)| id).collect();
    (ids(go), ids(stay))
}

async fn silence(actors: &Actors) {
    tokio::time::sleep(NOTED).await;
    let before = actors.watchman.facts().writes.0;
    tokio::time::sleep(QUIET).await;
    let (after, last) = actors.watchman.facts().writes.clone();
    if after > before {
        let detail =
            format!("{} writes within {QUIET:?} although nothing happens, the last: {last}", after - before);
        actors.watchman.break_rule(Rule::Quiet, detail);
    }
}

fn leaks(actors: &Actors) {
    let facts = actors.watchman.facts();
    let known: Vec<String> = facts.machines.values().map(|machine| machine.provider_id.clone()).collect();
    drop(facts);
    let (_, mut strangers) = orphans(actors);
    if !actors.cloud.deletes_by_id() {
        strangers.extend(second_vms(actors));
    }
    let lost = actors.cloud.look(|vm| {
        let id = provider_id(&vm.zone, &vm.id);
        let is_known = known.contains(&id) || strangers.contains(&vm.id);
        let is_others = vm.tags.get("cluster").is_some_and(|mark| is_of_cluster_api(mark));
        (vm.state != simcloud::VmState::Terminated && !is_known && !is_others).then_some(id)
    });
    if !lost.is_empty() {
        actors.watchman.break_rule(Rule::NoLeak, format!("VMs of no Machine: {}", lost.join(", ")));
    }
    let left = actors.cluster_api.as_ref().and_then(ClusterApi::left_over);
    if let Some(left) = left {
        actors.watchman.break_rule(Rule::NoneLeft, left);
    }
}

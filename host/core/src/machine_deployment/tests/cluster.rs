//! A small world for deployments to live in: an API server's objects, caches of them that are behind, sets that make
//! and delete Machines by what their caches show, and Machines that take their time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use crate::disruption::requests::{self, Permits};
use crate::machine_deployment::sets::group::in_deletion_order;
use crate::machine_deployment::{
    DeploymentFact, DeploymentSettings, DeploymentView, OwnedMachineFact, OwnedSetFact, RolloutNodeFact,
    SetOwner, UpdateResult, UpdateStage,
};
use crate::scheduling::gate::Gate;
use crate::value::phase::Phase;

use super::dice::Dice;
use super::facts::{self, NAMES};

/// The kinds that watches deliver separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Deployment,
    Set,
    Machine,
}

pub(super) const KINDS: [Kind; 3] = [Kind::Deployment, Kind::Set, Kind::Machine];

/// A Machine and whose it is.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub set: String,
    pub fact: OwnedMachineFact,
    /// It goes because it had failed, and not because its set had too many.
    pub is_replaced: bool,
}

/// Objects as one moment shows them. A set's `machines` are empty: they stand apart.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub deployment: Option<DeploymentFact>,
    pub sets: BTreeMap<String, OwnedSetFact>,
    pub machines: BTreeMap<String, Owned>,
    /// Versions of objects, by kind and name.
    pub versions: BTreeMap<(Kind, String), u64>,
}

/// The faults of the model.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Faults {
    /// Machines fail, also after they have run.
    pub machines_fail: bool,
    /// Updates in place fail.
    pub updates_fail: bool,
    /// Writes fail, some after they were done, and the process dies between writes.
    pub writes_fail: bool,
    pub is_stale: bool,
}

pub(super) struct Cluster {
    pub now: Timestamp,
    pub truth: Objects,
    cache: Objects,
    cached_at: BTreeMap<Kind, u64>,
    clock: u64,
    /// The last write of each owner, by kind: its next reconcile waits until the caches show it.
    awaited: BTreeMap<(String, Kind), u64>,
    pub trouble: Faults,
    pub gate: Gate,
    made: u32,
    /// The invariants that were broken, as text.
    pub complaints: BTreeSet<String>,
    /// Bounds that the user has asked for at any time: the most Machines, and the fewest available.
    pub most: u32,
    pub fewest: u32,
    /// The user has changed the number: who wants more does not wait until other Machines are drained.
    pub is_scaled: bool,
    pub writes: usize,
    /// The Machines whose deletion was permitted, and when.
    pub permit_deletions: Vec<(String, Timestamp)>,
    /// How many went that had Nodes.
    pub gone: usize,
}

impl Cluster {
    pub(super) fn new(deployment: DeploymentFact, trouble: Faults) -> Self {
        let truth = Objects { deployment: Some(deployment), ..Objects::default() };
        let mut world = Self {
            now: facts::seconds(1_000),
            cache: truth.clone(),
            truth,
            cached_at: BTreeMap::new(),
            clock: 0,
            awaited: BTreeMap::new(),
            trouble,
            gate: Gate::Open,
            made: 0,
            complaints: BTreeSet::new(),
            most: 0,
            fewest: 0,
            is_scaled: false,
            writes: 0,
            permit_deletions: Vec::new(),
            gone: 0,
        };
        world.catch_up();
        world
    }

    /// The caches show the truth.
    pub(super) fn catch_up(&mut self) {
        KINDS.into_iter().for_each(|kind| self.refresh(kind));
    }

    pub(super) fn refresh(&mut self, kind: Kind) {
        match kind {
            Kind::Deployment => self.cache.deployment.clone_from(&self.truth.deployment),
            Kind::Set => self.cache.sets.clone_from(&self.truth.sets),
            Kind::Machine => self.cache.machines.clone_from(&self.truth.machines),
        }
        self.cache.versions.retain(|(of, _), _| *of != kind);
        let versions = self.truth.versions.iter().filter(|((of, _), _)| *of == kind);
        self.cache.versions.extend(versions.map(|(key, version)| (key.clone(), *version)));
        self.cached_at.insert(kind, self.clock);
    }

    /// The process starts again: it lists everything, and has forgotten what it wrote.
    pub(super) fn restart(&mut self) {
        self.catch_up();
        self.awaited.clear();
    }

    /// The caches show what this owner wrote.
    pub(super) fn is_free(&self, owner: &str) -> bool {
        KINDS.into_iter().all(|kind| {
            let written = self.awaited.get(&(owner.to_owned(), kind)).copied().unwrap_or(0);
            written <= self.cached_at.get(&kind).copied().unwrap_or(0)
        })
    }

    /// The object is as the cache shows it.
    pub(super) fn is_current(&self, kind: Kind, name: &str) -> bool {
        let key = (kind, name.to_owned());
        self.truth.versions.get(&key) == self.cache.versions.get(&key)
    }

    /// Somebody has written an object.
    pub(super) fn wrote(&mut self, owner: &str, kind: Kind, name: &str) {
        self.clock += 1;
        self.writes += 1;
        self.truth.versions.insert((kind, name.to_owned()), self.clock);
        if !owner.is_empty() {
            self.awaited.insert((owner.to_owned(), kind), self.clock);
        }
        if !self.trouble.is_stale {
            self.catch_up();
        }
    }

    pub(super) fn view(&self) -> Option<DeploymentView> {
        let deployment = self.cache.deployment.clone()?;
        let sets = self
            .cache
            .sets
            .values()
            .map(|set| OwnedSetFact { machines: self.cached_machines(set.name.as_str()), ..set.clone() });
        Some(DeploymentView {
            deployment,
            sets: sets.collect(),
            unreadable_sets: Vec::new(),
            overlapping: Vec::new(),
            gate: self.gate,
            settings: DeploymentSettings { holds_autoscaler: true, has_target: true },
            names: &NAMES,
        })
    }

    fn cached_machines(&self, set: &str) -> Vec<OwnedMachineFact> {
        let machines = self.cache.machines.values().filter(|machine| machine.set == set);
        machines.map(|machine| machine.fact.clone()).collect()
    }

    /// Returns the Machines that really are available.
    pub(super) fn available(&self) -> u32 {
        let is_available = |machine: &&Owned| {
            let is_out = machine.fact.node.as_ref().is_some_and(RolloutNodeFact::is_out_of_service);
            machine.fact.phase == Phase::Running && !machine.fact.is_deleting && !is_out
        };
        u32::try_from(self.truth.machines.values().filter(is_available).count()).unwrap()
    }

    fn total(&self) -> u32 {
        let is_let = |machine: &Owned| machine.is_replaced || self.is_scaled;
        let counted = |machine: &&Owned| !(machine.fact.is_deleting && is_let(machine));
        u32::try_from(self.truth.machines.values().filter(counted).count()).unwrap()
    }

    pub(super) fn machine_mut(&mut self, name: &str) -> Option<&mut OwnedMachineFact> {
        self.truth.machines.get_mut(name).map(|owned| &mut owned.fact)
    }

    /// One reconcile over a set, as sets are promised to behave.
    pub(super) fn set_pass(&mut self, name: &str) {
        if !self.is_free(name) || !self.is_current(Kind::Set, name) {
            return;
        }
        let Some(set) = self.cache.sets.get(name).cloned() else { return };
        let machines = self.cached_machines(name);
        if set.is_deleting {
            machines
                .iter()
                .filter(|machine| !machine.is_deleting)
                .for_each(|machine| self.remove(name, machine, true));
            if machines.is_empty() && self.truth.machines.values().all(|machine| machine.set != name) {
                self.truth.sets.remove(name);
                self.wrote(name, Kind::Set, name);
            }
            return;
        }
        let live = machines.iter().filter(|machine| !machine.is_deleting).count();
        let wanted = usize::try_from(set.wanted).unwrap();
        let in_order = in_deletion_order(&machines, self.now);
        if live < wanted && !set.is_scale_up_disabled {
            (live..wanted).for_each(|_| self.create(&set));
        }
        let mut deleting: Vec<(OwnedMachineFact, bool)> = in_order
            .iter()
            .take(in_order.len().saturating_sub(wanted))
            .map(|machine| ((*machine).clone(), false))
            .collect();
        let of_deployment = self.cache.deployment.as_ref().map(|deployment| &deployment.annotations);
        let permits = of_deployment.map_or(Permits::All, |all| Permits::read(all, &requests::NAMES));
        let lowered = set.annotations.get(NAMES.replica_change_time).and_then(|text| text.parse().ok());
        for machine in in_order {
            let is_targeted = machine.priority <= 1
                && machine
                    .marked_at
                    .zip(lowered)
                    .is_some_and(|(marked, lowered): (_, Timestamp)| marked <= lowered);
            let is_deletion_permitted = machine.node.is_none() || permits.permits(&machine.name);
            if (is_targeted || (machine.phase == Phase::Failed && is_deletion_permitted))
                && deleting.iter().all(|(other, _)| other.name != machine.name)
            {
                deleting.push((machine.clone(), true));
            }
        }
        deleting.iter().for_each(|(machine, is_replaced)| self.remove(name, machine, *is_replaced));
        self.report(&set, &machines);
    }

    fn report(&mut self, observed: &OwnedSetFact, machines: &[OwnedMachineFact]) {
        let mut seen = OwnedSetFact { machines: machines.to_vec(), ..observed.clone() };
        facts::report(&mut seen);
        let Some(set) = self.truth.sets.get_mut(observed.name.as_str()) else { return };
        if set.status != seen.status || set.observed_generation != seen.observed_generation {
            set.status = seen.status;
            set.observed_generation = seen.observed_generation;
            let name = observed.name.to_string();
            self.wrote(&name, Kind::Set, &name);
        }
    }

    fn create(&mut self, set: &OwnedSetFact) {
        self.made += 1;
        let name = format!("{}-{}", set.name, self.made);
        let mut fact = facts::machine(&name, Phase::New);
        (fact.summary.created, fact.hash) = (self.now, set.selected_hash.clone());
        self.truth
            .machines
            .insert(name.clone(), Owned { set: set.name.to_string(), fact, is_replaced: false });
        let total = self.total();
        if total > self.most {
            self.complaints.insert(format!("{total} Machines, and {} are allowed", self.most));
        }
        self.wrote(set.name.as_str(), Kind::Machine, &name);
    }

    fn remove(&mut self, set: &str, machine: &OwnedMachineFact, is_replaced: bool) {
        let Some(owned) = self.truth.machines.get_mut(machine.name.as_str()) else { return };
        if owned.fact.is_deleting || owned.fact.uid != machine.uid || owned.set != set {
            return;
        }
        let was_of_use = owned.fact.phase == Phase::Running
            && owned.fact.node.as_ref().is_none_or(|node| !node.is_out_of_service());
        owned.fact.is_deleting = true;
        owned.is_replaced = is_replaced;
        self.gone += usize::from(owned.fact.node.is_some());
        let available = self.available();
        if was_of_use && !is_replaced && !self.trouble.machines_fail && available < self.fewest {
            self.complaints.insert(format!("{available} available, and {} must be", self.fewest));
        }
        self.wrote(set, Kind::Machine, machine.name.as_str());
    }

    /// A Machine goes on in its life.
    pub(super) fn live(&mut self, name: &str, dice: &mut Dice) {
        let Faults { machines_fail, updates_fail, .. } = self.trouble;
        let Some(owned) = self.truth.machines.get_mut(name) else { return };
        let machine = &mut owned.fact;
        if machine.is_deleting {
            self.truth.machines.remove(name);
            return self.wrote("", Kind::Machine, name);
        }
        let before = machine.clone();
        match machine.phase {
            Phase::New => machine.phase = Phase::Pending,
            Phase::Pending if machines_fail && dice.one_in(6) => machine.phase = Phase::Failed,
            Phase::Pending | Phase::Unknown if dice.one_in(2) => {
                machine.phase = Phase::Running;
                machine.node.get_or_insert_with(|| facts::node(name));
            }
            Phase::Running if machines_fail && dice.one_in(15) => machine.phase = Phase::Unknown,
            Phase::Unknown => machine.phase = Phase::Failed,
            // Its health decides.
            Phase::InPlaceUpdateSuccessful => machine.phase = Phase::Running,
            Phase::InPlaceUpdateFailed if dice.one_in(2) => machine.phase = Phase::Failed,
            Phase::Available
            | Phase::CrashLoopBackOff
            | Phase::Pending
            | Phase::Terminating
            | Phase::Failed
            | Phase::InPlaceUpdating
            | Phase::InPlaceUpdateFailed
            | Phase::Running => update_in_place(machine, updates_fail && dice.one_in(4)),
        }
        if *machine != before {
            self.wrote("", Kind::Machine, name);
        }
    }

    pub(super) fn pass_time(&mut self) {
        self.now = self.now.checked_add(SignedDuration::from_secs(5)).unwrap();
    }

    /// The sets that a living deployment owns.
    pub(super) fn own_sets(&self) -> impl Iterator<Item = &OwnedSetFact> {
        self.truth.sets.values().filter(|set| set.owner == SetOwner::This)
    }
}

/// Simulates the Machine's part of an update in place, and the agent of its Node.
fn update_in_place(machine: &mut OwnedMachineFact, fails: bool) {
    let Some(node) = machine.node.as_mut() else { return };
    if !node.is_candidate {
        return;
    }
    match (node.stage, node.update) {
        (None, _) | (Some(UpdateStage::Successful), None) => node.stage = Some(UpdateStage::Candidate),
        (Some(UpdateStage::Candidate), None) if node.is_selected => {
            node.stage = Some(UpdateStage::Selected);
            node.is_cordoned = true;
        }
        // Once it was selected, it is enough to be a candidate.
        (Some(UpdateStage::Selected), None) => {
            node.stage = Some(UpdateStage::HandedOver);
            machine.phase = Phase::InPlaceUpdating;
        }
        (Some(UpdateStage::HandedOver), None) => {
            node.update = Some(if fails { UpdateResult::Failed } else { UpdateResult::Successful });
        }
        (Some(_), Some(result)) => answered(machine, result),
        (Some(UpdateStage::Candidate | UpdateStage::Failed), None) => {}
    }
}

fn answered(machine: &mut OwnedMachineFact, result: UpdateResult) {
    let Some(node) = machine.node.as_mut() else { return };
    let (stage, phase) = match result {
        UpdateResult::Successful => (UpdateStage::Successful, Phase::InPlaceUpdateSuccessful),
        UpdateResult::Failed => (UpdateStage::Failed, Phase::InPlaceUpdateFailed),
    };
    node.stage = Some(stage);
    if machine.phase == Phase::InPlaceUpdating {
        machine.phase = phase;
    }
}

/// Nothing of a rollout is left on a Node.
pub(super) fn is_clean(node: &RolloutNodeFact) -> bool {
    let plain = facts::node("");
    RolloutNodeFact { name: plain.name.clone(), stage: None, ..node.clone() } == plain
}

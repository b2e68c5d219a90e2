//! A world for one set: an API server with its history, caches that are behind, requests that get lost or arrive late,
//! a host that dies.

use std::collections::{BTreeMap, BTreeSet};

use crate::driver::write_error::ActError;
use crate::machine::Requeue;
use crate::machine::node::preservation::AUTO_PRESERVED;
use crate::machine::summary::MachineSummary;
use crate::machine_set::{
    ChildFact, CurrentSet, DeleteReason, Freshness, MachineOwner, NameTakenBy, PreserveChange, SetConclusion,
    SetEffect, SetFact, SetOutcome, SetProgress, SetStep, SetView, invariants, step,
};
use crate::value::id::{Name, Uid};
use crate::value::phase::Phase;

use super::facts::{self, child};
use super::{BATCHES_PER_PASS, seconds, unclear};

pub(super) struct Randomness(pub(super) u64);

impl Randomness {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % bound as u64) as usize
    }

    pub(super) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// The faults of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    /// Nothing, and caches are at most a little behind.
    Calm,
    /// Everything, but a host that starts lists what there is.
    Rough,
    /// A host that starts lists what was a while ago. Nothing arrives late.
    Lying,
}

/// The safety measures that a test can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bug {
    /// Names that tell nothing.
    RandomNames,
    /// Passes begin although their own writes are not seen or may be on their way, and believe their view.
    NoBarrier,
}

type Cache = BTreeMap<Name, ChildFact>;

/// A request that arrives so late at most.
const LANDING: i64 = 4;

/// A request that will be carried out later.
struct Late {
    by: i64,
    machine: ChildFact,
    want: usize,
}

pub(super) struct Cluster {
    bug: Option<Bug>,
    pub(super) chance: Randomness,
    pub(super) weather: Weather,
    /// The objects of the API server, and all events that it sent.
    pub(super) machines: Cache,
    history: Vec<(Name, Option<ChildFact>)>,
    sets: Vec<SetFact>,
    /// How much of the history the host has, and what it makes.
    read: usize,
    cache: Cache,
    sets_read: usize,
    /// The barrier: the host's next reconcile waits until it has read so far.
    awaited: usize,
    is_in_doubt: bool,
    /// No reconcile begins before: until then a request that got no answer may arrive.
    fence: i64,
    late: Vec<Late>,
    /// Deleted by others than the host.
    taken_away: BTreeSet<Uid>,
    made: u32,
    second: i64,
    pub(super) creations: usize,
    pub(super) crashes: usize,
    pub(super) refused_names: usize,
}

/// The host has died in the middle of a reconcile.
struct Crash;

impl Cluster {
    pub(super) fn new(seed: u64, bug: Option<Bug>) -> Self {
        Self {
            bug,
            chance: Randomness(seed),
            weather: Weather::Calm,
            machines: Cache::new(),
            history: Vec::new(),
            sets: vec![facts::view().set],
            read: 0,
            cache: Cache::new(),
            sets_read: 1,
            awaited: 0,
            is_in_doubt: false,
            fence: 0,
            late: Vec::new(),
            taken_away: BTreeSet::new(),
            made: 0,
            second: 1_000,
            creations: 0,
            crashes: 0,
            refused_names: 0,
        }
    }

    pub(super) fn set(&self) -> &SetFact {
        self.sets.last().expect("the set is there")
    }

    pub(super) fn change_set(&mut self, change: impl FnOnce(&mut SetFact)) {
        let mut set = self.set().clone();
        change(&mut set);
        self.sets.push(set);
    }

    pub(super) fn living(&self) -> usize {
        self.machines.values().filter(|machine| !machine.is_terminating()).count()
    }

    fn write(&mut self, machine: ChildFact) {
        self.history.push((machine.name.clone(), Some(machine.clone())));
        self.machines.insert(machine.name.clone(), machine);
    }

    fn read_to(&mut self, position: usize) {
        for (name, machine) in self.history.iter().take(position).skip(self.read) {
            match machine {
                Some(machine) => drop(self.cache.insert(name.clone(), machine.clone())),
                None => drop(self.cache.remove(name)),
            }
        }
        self.read = self.read.max(position);
    }

    /// Time goes on: caches catch up a little, Machines go their way, late requests arrive.
    pub(super) fn tick(&mut self) {
        self.second += 1;
        let unread = self.history.len() - self.read;
        let steps = if self.weather == Weather::Calm { unread } else { self.chance.below(unread + 1) };
        self.read_to(self.read + steps);
        if self.weather == Weather::Calm || self.chance.one_in(2) {
            self.sets_read = self.sets.len();
        }
        while self.late.first().is_some_and(|late| late.by <= self.second) {
            let late = self.late.remove(0);
            self.create(late.machine, late.want).ok();
        }
        let names: Vec<Name> = self.machines.keys().cloned().collect();
        for name in names {
            if self.chance.one_in(3) {
                self.live(&name);
            }
        }
    }

    /// Simulates the Machine's own reconciles. They read the same cache.
    fn live(&mut self, name: &Name) {
        let machine = self.machines[name].clone();
        let is_seen =
            self.cache.get(name).is_some_and(|seen| seen.is_terminating() == machine.is_terminating());
        match (machine.is_deleting, machine.phase) {
            (true, Phase::Terminating) if is_seen && self.may_be_gone(&machine) && self.chance.one_in(3) => {
                self.machines.remove(name);
                self.history.push((name.clone(), None));
            }
            (true, Phase::Terminating) => {}
            (true, _) => self.write(machine.phase(Phase::Terminating)),
            (false, Phase::New) => self.write(machine.phase(Phase::Pending)),
            (false, Phase::Pending) => self.write(machine.phase(Phase::Running)),
            (false, Phase::Running) if self.weather != Weather::Calm && self.chance.one_in(20) => {
                self.write(machine.failed());
            }
            (false, _) => {}
        }
    }

    /// A VM takes longer to go than a set to close an ordinal. Only a host that begins with a lie relies on it.
    fn may_be_gone(&self, machine: &ChildFact) -> bool {
        self.weather == Weather::Rough || machine.ordinal <= self.set().closed_ordinal
    }

    /// Somebody deletes a Machine by hand.
    pub(super) fn take_away(&mut self) {
        let living: Vec<ChildFact> =
            self.machines.values().filter(|machine| !machine.is_terminating()).cloned().collect();
        if living.is_empty() {
            return;
        }
        let machine = living[self.chance.below(living.len())].clone();
        self.taken_away.insert(machine.uid.clone());
        self.write(machine.with(|machine| machine.is_deleting = true));
    }

    fn view(&self) -> SetView {
        let freshness = if self.is_in_doubt { Freshness::InDoubt } else { Freshness::Current };
        let set = self.sets[self.sets_read - 1].clone();
        SetView { set, machines: self.cache.values().cloned().collect(), freshness, ..facts::view() }
    }

    /// A reconcile, if the barrier lets one begin.
    pub(super) fn pass(&mut self) -> Option<SetConclusion> {
        if self.bug == Some(Bug::NoBarrier) {
            (self.fence, self.awaited, self.is_in_doubt) = (0, 0, false);
        }
        if self.second <= self.fence {
            return None;
        }
        if self.read < self.awaited {
            // The watch is broken for so long that the barrier gives up.
            if self.weather == Weather::Calm || !self.chance.one_in(10) {
                return None;
            }
            self.is_in_doubt = true;
        }
        self.awaited = 0;
        match self.run() {
            Ok(conclusion) => Some(conclusion),
            Err(Crash) => {
                self.restart();
                None
            }
        }
    }

    fn restart(&mut self) {
        self.crashes += 1;
        // Another host takes over when nothing can be on its way any more.
        while !self.late.is_empty() {
            let late = self.late.remove(0);
            if self.chance.one_in(2) {
                self.create(late.machine, late.want).ok();
            }
        }
        let back = if self.weather == Weather::Lying { self.chance.below(12) } else { 0 };
        let position = self.history.len().saturating_sub(back);
        (self.read, self.cache, self.awaited, self.is_in_doubt) = (0, Cache::new(), 0, false);
        self.read_to(position);
        self.sets_read = self.sets.len();
    }

    fn run(&mut self) -> Result<SetConclusion, Crash> {
        let view = self.view();
        let now = seconds(self.second);
        let mut progress = SetProgress::default();
        for _ in 0..BATCHES_PER_PASS {
            match step(&view, &progress, now) {
                SetStep::Act(effects) => {
                    let decision = invariants::batch(&view, &progress, &effects, now);
                    assert_eq!(decision, Ok(()), "{effects:?}");
                    for effect in &effects {
                        let outcome = self.act(&view, effect)?;
                        progress.record(outcome);
                    }
                }
                SetStep::Finish(conclusion) => {
                    let decision = invariants::conclusion(&view, &progress, &conclusion);
                    assert_eq!(decision, Ok(()), "{conclusion:?}");
                    let has_listed = matches!(progress.listing, Some(Ok(_)));
                    self.is_in_doubt = progress.is_unclear() || (self.is_in_doubt && !has_listed);
                    if progress.is_unclear() {
                        self.fence = self.second + LANDING;
                    }
                    return Ok(conclusion);
                }
            }
        }
        panic!("the pass does not end: {view:#?} {progress:#?}");
    }

    /// Carries an effect out, or not, and says what the host hears of it.
    fn act(&mut self, view: &SetView, effect: &SetEffect) -> Result<SetOutcome, Crash> {
        let roll = if self.weather == Weather::Calm { 99 } else { self.chance.below(40) };
        let refused = || ActError::Throttled { after: None };
        match roll {
            0 => return Err(Crash),
            1 => return Ok(effect.failed(refused())),
            2 => return Ok(effect.failed(unclear())),
            3 if self.weather == Weather::Rough => {
                if let SetEffect::Create { .. } = effect {
                    let machine = self.new_machine(view, effect);
                    let by = self.second + 1 + self.chance.below(LANDING as usize) as i64;
                    self.late.push(Late { by, machine, want: wanted(view) });
                    self.late.sort_by_key(|late| late.by);
                }
                return Ok(effect.failed(unclear()));
            }
            4 => {
                self.carry_out(view, effect);
                return Ok(effect.failed(unclear()));
            }
            5 => {
                self.carry_out(view, effect);
                return Err(Crash);
            }
            _ => {}
        }
        let outcome = self.carry_out(view, effect);
        // The answer has a version, which the barrier waits for.
        self.awaited = self.history.len();
        Ok(outcome)
    }

    fn carry_out(&mut self, view: &SetView, effect: &SetEffect) -> SetOutcome {
        match effect {
            SetEffect::AddFinalizer => {
                self.change_set(|set| set.has_finalizer = true);
                SetOutcome::AddFinalizer(Ok(()))
            }
            SetEffect::ListMachines => {
                SetOutcome::ListMachines(Ok(self.machines.values().cloned().collect()))
            }
            SetEffect::GetSet => {
                SetOutcome::GetSet(Ok(CurrentSet { uid: self.set().uid.clone(), is_deleting: false }))
            }
            SetEffect::GetMachine { name } => {
                let taken = self.machines.get(name).map(|machine| match machine.owner {
                    MachineOwner::This => NameTakenBy::This,
                    MachineOwner::None | MachineOwner::Other(_) => NameTakenBy::Other,
                });
                SetOutcome::GetMachine(name.clone(), taken.ok_or(ActError::Gone))
            }
            SetEffect::Create { ordinal, name, .. } => {
                let machine = self.new_machine(view, effect);
                SetOutcome::Create(*ordinal, name.clone(), self.create(machine, wanted(view)))
            }
            SetEffect::Delete(target, why) => SetOutcome::Delete(
                target.uid.clone(),
                *why,
                self.delete(view, &target.name, &target.uid, *why),
            ),
            SetEffect::Preserve(target, keep) => {
                if let Some(machine) = self.machines.get(&target.name).cloned() {
                    let request = (*keep == PreserveChange::Begin).then(|| AUTO_PRESERVED.to_owned());
                    self.write(machine.with(|machine| machine.preserve_request = request));
                }
                SetOutcome::Preserve(target.uid.clone(), *keep, Ok(()))
            }
            SetEffect::WriteSet(change) => {
                let note = change.annotations.get("closed-ordinal").cloned().flatten();
                let freeze = change.labels.get("freeze").map(Option::is_some);
                self.change_set(|set| {
                    set.closed_ordinal = note.and_then(|text| text.parse().ok()).or(set.closed_ordinal);
                    set.is_frozen = freeze.unwrap_or(set.is_frozen);
                });
                SetOutcome::WriteSet(Ok(()))
            }
            SetEffect::Adopt(_)
            | SetEffect::Release(_)
            | SetEffect::Sync(..)
            | SetEffect::ReleaseFinalizer => {
                panic!("this world has no need for {effect:?}")
            }
        }
    }

    fn new_machine(&mut self, view: &SetView, effect: &SetEffect) -> ChildFact {
        let SetEffect::Create { name, ordinal, .. } = effect else { panic!("{effect:?} makes nobody") };
        self.made += 1;
        let uid = format!("uid-{}", self.made);
        let labels = view.set.template.as_ref().expect("a template").labels.clone();
        let is_random = self.bug == Some(Bug::RandomNames);
        let child = child(*ordinal);
        let summary = MachineSummary {
            name: if is_random { format!("{name}-{uid}").into() } else { name.clone() },
            uid: uid.into(),
            created: seconds(self.second),
            phase: Phase::New,
            ..child.summary
        };
        ChildFact { summary, labels, operation: None, ..child }
    }

    /// Never more than are wanted, whoever asks when.
    fn create(&mut self, machine: ChildFact, want: usize) -> Result<(), ActError> {
        if self.machines.contains_key(&machine.name) {
            self.refused_names += 1;
            return Err(ActError::Conflict);
        }
        self.write(machine);
        self.creations += 1;
        assert!(self.living() <= want, "{want} are wanted: {}", self.report());
        Ok(())
    }

    /// Never fewer than are wanted, apart from those that others took away behind the host's back.
    fn delete(&mut self, view: &SetView, name: &Name, uid: &Uid, why: DeleteReason) -> Result<(), ActError> {
        let Some(machine) = self.machines.get(name).filter(|machine| machine.uid == *uid).cloned() else {
            return Err(ActError::Gone);
        };
        if machine.is_terminating() {
            return Err(ActError::Conflict);
        }
        self.write(machine.with(|machine| machine.is_deleting = true));
        let is_living = |machine: &ChildFact| {
            self.machines.values().any(|own| own.uid == machine.uid && !own.is_terminating())
        };
        let behind_its_back = view
            .machines
            .iter()
            .filter(|machine| self.taken_away.contains(&machine.uid) && !is_living(machine))
            .count();
        if why == DeleteReason::Surplus && self.weather != Weather::Lying {
            assert!(self.living() + behind_its_back >= wanted(view), "too few: {:#?}", self.machines);
        }
        Ok(())
    }

    /// To rest: faults are over, and after some time nothing is done any more.
    pub(super) fn run_to_rest(&mut self) {
        self.weather = Weather::Calm;
        let mut quiet = 0;
        for _ in 0..600 {
            self.tick();
            let before = (self.history.len(), self.sets.len());
            let conclusion = self.pass();
            let is_quiet = conclusion.is_some_and(|conclusion| {
                matches!(conclusion.wake, Requeue::Resync) && before == (self.history.len(), self.sets.len())
            });
            quiet = if is_quiet { quiet + 1 } else { 0 };
            let runs = |machine: &ChildFact| machine.phase == Phase::Running && !machine.is_deleting;
            let all_run = self.machines.values().all(runs);
            if quiet > 3 && all_run {
                return;
            }
        }
        panic!("no rest: {:#?} {}", self.set(), self.report());
    }

    /// Returns the state of the API server and of the host, and its history.
    fn report(&self) -> String {
        let list = |machines: &Cache| {
            let all = machines.values().map(|machine| (machine.ordinal, machine.phase, machine.is_deleting));
            format!("{:?}", all.collect::<Vec<_>>())
        };
        let past = self.history.iter().map(|(name, machine)| {
            let state = machine.as_ref().map(|machine| (machine.ordinal, machine.phase, machine.is_deleting));
            format!("{name} {state:?}")
        });
        let past: Vec<String> = past.collect();
        let newest = past.len().saturating_sub(30);
        format!(
            "{}\nthe host has read {} of {}: {}\nnoted {:?}\n{}",
            list(&self.machines),
            self.read,
            past.len(),
            list(&self.cache),
            self.set().closed_ordinal,
            past.get(newest..).unwrap_or_default().join("\n")
        )
    }
}

fn wanted(view: &SetView) -> usize {
    usize::try_from(view.set.replicas).unwrap()
}

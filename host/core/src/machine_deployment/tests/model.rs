//! Whole rollouts in a small world, in random order, with caches that are behind, writes that fail and Machines that
//! do: the bounds hold at every moment, and every rollout ends.

use crate::machine_deployment::{DeploymentConclusion, DeploymentReason, RawStrategy, Strategy};

use super::act::pass;
use super::cluster::{Cluster, Faults, KINDS, Kind, is_clean};
use super::dice::Dice;
use super::facts::{self, in_place, recreate, rolling, template};

/// The actions of the user during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Rolls,
    /// Rolls there and back, pauses and resumes.
    Wavers,
    Scales,
}

pub(super) struct Run {
    pub(super) world: Cluster,
    dice: Dice,
    bounds_of: RawStrategy,
}

impl Run {
    pub(super) fn new(seed: u64, strategy: RawStrategy, replicas: u32, trouble: Faults) -> Self {
        let mut deployment = facts::deployment();
        deployment.has_finalizer = false;
        deployment.annotations.clear();
        deployment.spec.strategy = strategy.clone();
        deployment.spec.replicas = i64::from(replicas);
        deployment.spec.revision_history_limit = Some(1);
        let mut run = Self {
            world: Cluster::new(deployment, Faults::default()),
            dice: Dice::new(seed),
            bounds_of: strategy,
        };
        run.bound(replicas);
        run.world.fewest = 0;
        run.calm("the first Machines");
        run.world.fewest = run.fewest(replicas);
        run.world.trouble = trouble;
        run
    }

    fn strategy(&self) -> Strategy {
        Strategy::parse(&self.bounds_of, true).unwrap()
    }

    fn fewest(&self, replicas: u32) -> u32 {
        match self.strategy() {
            Strategy::Recreate => 0,
            strategy => strategy.bounds(replicas).fewest(),
        }
    }

    /// The user asks for so many: what was allowed before is still on its way.
    fn bound(&mut self, replicas: u32) {
        self.world.most = self.world.most.max(self.strategy().bounds(replicas).most());
        self.world.fewest = self.world.fewest.min(self.fewest(replicas));
    }

    pub(super) fn edit(&mut self, change: impl FnOnce(&mut crate::machine_deployment::SpecFact)) {
        let Some(deployment) = self.world.truth.deployment.as_mut() else { return };
        change(&mut deployment.spec);
        deployment.generation += 1;
        self.world.wrote("", Kind::Deployment, "deployment");
    }

    fn user(&mut self, user: User) {
        let classes = ["a", "b", "c"];
        match (user, self.dice.below(4)) {
            (User::Rolls, _) => {}
            (User::Scales, 0) => {
                let replicas = u32::try_from(self.dice.below(6)).unwrap();
                self.bound(replicas);
                self.world.is_scaled = true;
                self.edit(|spec| spec.replicas = i64::from(replicas));
            }
            (User::Wavers | User::Scales, 1) => {
                let class = self.dice.pick(&classes).unwrap();
                self.edit(|spec| spec.template = template(class));
            }
            (User::Wavers | User::Scales, 2) => self.edit(|spec| spec.is_paused = !spec.is_paused),
            (User::Wavers | User::Scales, _) => self.edit(|spec| spec.rollback_to = Some(0)),
        }
    }

    /// Anything may happen next.
    pub(super) fn turn(&mut self) {
        self.world.pass_time();
        match self.dice.below(10) {
            0..3 => {
                let _ = pass(&mut self.world, &mut self.dice);
            }
            3..5 => {
                let sets: Vec<String> = self.world.truth.sets.keys().cloned().collect();
                if let Some(set) = self.dice.pick(&sets) {
                    self.world.set_pass(&set);
                }
            }
            5..8 => {
                let machines: Vec<String> = self.world.truth.machines.keys().cloned().collect();
                if let Some(machine) = self.dice.pick(&machines) {
                    self.world.live(&machine, &mut self.dice);
                }
            }
            _ => {
                let kind = self.dice.pick(&KINDS).unwrap();
                self.world.refresh(kind);
            }
        }
    }

    /// Nothing goes wrong any more. Says what the deployment concluded last.
    pub(super) fn calm(&mut self, what: &str) -> Option<DeploymentConclusion> {
        self.world.trouble = Faults::default();
        self.world.restart();
        for round in 0.. {
            let before = self.world.writes;
            let conclusion = pass(&mut self.world, &mut self.dice);
            for set in self.world.truth.sets.keys().cloned().collect::<Vec<_>>() {
                self.world.set_pass(&set);
            }
            for machine in self.world.truth.machines.keys().cloned().collect::<Vec<_>>() {
                self.world.live(&machine, &mut self.dice);
            }
            self.world.pass_time();
            let is_busy = self.world.truth.machines.values().any(|machine| {
                use crate::value::phase::Phase::{Failed, Running};
                !matches!(machine.fact.phase, Running | Failed) || machine.fact.is_deleting
            });
            if self.world.writes == before && !is_busy {
                return conclusion;
            }
            assert!(round < 400, "{what} does not end: {conclusion:?}\n{}", self.reported());
        }
        None
    }

    pub(super) fn reported(&self) -> String {
        let set = |set: &crate::machine_deployment::OwnedSetFact| {
            format!("{} wants {} {:?} {:?}", set.name, set.wanted, set.status, set.annotations)
        };
        let sets: Vec<String> = self.world.truth.sets.values().map(set).collect();
        let machine = |machine: &super::cluster::Owned| format!("{} {:?}", machine.set, machine.fact);
        let machines: Vec<String> = self.world.truth.machines.values().map(machine).collect();
        format!("{}\n{}", sets.join("\n"), machines.join("\n"))
    }

    pub(super) fn check(&self, seed: u64) {
        assert!(
            self.world.complaints.is_empty(),
            "seed {seed}: {:?}\n{}",
            self.world.complaints,
            self.reported()
        );
    }

    /// Everything is as the deployment wants it, and nothing of the rollout is left.
    fn check_end(&mut self, seed: u64) {
        self.edit(|spec| (spec.is_paused, spec.rollback_to) = (false, None));
        let manual = self.bounds_of.orchestration.as_deref() == Some("Manual");
        let conclusion = if manual { self.calm_by_hand() } else { self.calm("the rollout") };
        self.check(seed);
        let conclusion = conclusion.unwrap();
        assert_eq!(
            conclusion.reason,
            DeploymentReason::Complete,
            "seed {seed}: {}\n{}",
            conclusion.message,
            self.reported()
        );
        let spec = &self.world.truth.deployment.as_ref().unwrap().spec;
        let wanted = usize::try_from(spec.replicas).unwrap();
        let new =
            self.world.own_sets().find(|set| set.template.class_name == spec.template.class_name).unwrap();
        assert_eq!(self.world.truth.machines.len(), wanted, "seed {seed}\n{}", self.reported());
        for machine in self.world.truth.machines.values() {
            assert_eq!(machine.set, new.name.as_str(), "seed {seed}");
            assert!(machine.fact.node.as_ref().is_some_and(is_clean), "seed {seed}: {machine:?}");
            assert!(!machine.fact.is_updated_in_place, "seed {seed}");
        }
        assert!(
            self.world.own_sets().count() <= 2,
            "seed {seed}: the history is longer than its limit\n{}",
            self.reported()
        );
        assert!(!new.is_scale_up_disabled, "seed {seed}");
    }

    /// Somebody selects one Node after the other.
    fn calm_by_hand(&mut self) -> Option<DeploymentConclusion> {
        for _ in 0..40 {
            let conclusion = self.calm("the rollout by hand")?;
            if conclusion.reason != DeploymentReason::WaitingForSelection {
                return Some(conclusion);
            }
            let waiting = self.world.truth.machines.iter().find(|(_, machine)| {
                machine.fact.node.as_ref().is_some_and(|node| node.is_candidate && !node.is_selected)
            });
            let name = waiting.map(|(name, _)| name.clone()).unwrap();
            self.world.machine_mut(&name).unwrap().node.as_mut().unwrap().is_selected = true;
            self.world.wrote("", Kind::Machine, &name);
        }
        None
    }

    /// The deployment is deleted: everything goes.
    fn check_deletion(&mut self, seed: u64) {
        let now = self.world.now;
        self.world.truth.deployment.as_mut().unwrap().deletion = Some(now);
        self.world.wrote("", Kind::Deployment, "deployment");
        self.calm("the deletion");
        assert!(self.world.truth.deployment.is_none(), "seed {seed}");
        let left = (self.world.truth.sets.len(), self.world.truth.machines.len());
        assert_eq!(left, (0, 0), "seed {seed}: sets or Machines are left behind");
        self.check(seed);
    }
}

fn run(seed: u64, strategy: RawStrategy, trouble: Faults, user: User) {
    let mut run = Run::new(seed, strategy, 4, trouble);
    run.edit(|spec| spec.template = template("b"));
    for turn in 0..400 {
        if turn % 40 == 39 {
            run.user(user);
        }
        run.turn();
        run.check(seed);
    }
    run.check_end(seed);
    run.check_deletion(seed);
}

const STALE: Faults =
    Faults { machines_fail: false, updates_fail: false, writes_fail: false, is_stale: true };
pub(super) const BROKEN: Faults = Faults { writes_fail: true, ..STALE };
pub(super) const FAILING: Faults = Faults { machines_fail: true, updates_fail: true, ..BROKEN };

fn strategies() -> Vec<RawStrategy> {
    vec![rolling(0, 1), rolling(1, 0), rolling(2, 2), rolling(0, 0), recreate()]
}

fn in_place_strategies() -> Vec<RawStrategy> {
    vec![in_place(1, 0, "Auto"), in_place(0, 1, "Auto"), in_place(2, 1, "Auto"), in_place(1, 0, "Manual")]
}

pub(super) const SEEDS: u64 = 40;

fn all(strategies: &[RawStrategy], trouble: Faults, user: User) {
    for seed in 0..SEEDS {
        for strategy in strategies {
            run(seed, strategy.clone(), trouble, user);
        }
    }
}

#[test]
fn a_rollout_keeps_its_bounds_while_caches_are_behind() {
    all(&strategies(), STALE, User::Rolls);
}

#[test]
fn a_rollout_keeps_its_bounds_while_writes_fail_and_the_process_dies() {
    all(&strategies(), BROKEN, User::Rolls);
}

#[test]
fn a_rollout_there_and_back_with_pauses_and_rollbacks_keeps_its_bounds() {
    all(&strategies(), BROKEN, User::Wavers);
}

#[test]
fn a_rollout_that_is_scaled_keeps_its_bounds() {
    all(&strategies(), BROKEN, User::Scales);
}

#[test]
fn a_rollout_ends_though_machines_fail() {
    all(&strategies(), FAILING, User::Scales);
}

#[test]
fn an_update_in_place_keeps_its_bounds_while_caches_are_behind() {
    all(&in_place_strategies(), STALE, User::Rolls);
}

#[test]
fn an_update_in_place_keeps_its_bounds_while_writes_fail_and_the_process_dies() {
    all(&in_place_strategies(), BROKEN, User::Rolls);
}

#[test]
fn an_update_in_place_that_is_scaled_and_turned_back_keeps_its_bounds() {
    all(&in_place_strategies(), BROKEN, User::Scales);
}

#[test]
fn an_update_in_place_ends_though_machines_and_updates_fail() {
    all(&in_place_strategies(), FAILING, User::Scales);
}

//! Rollouts, failures and replacements in a small world that keeps a budget.

use jiff::SignedDuration;

use crate::machine_deployment::{DeploymentReason, RawStrategy};

use super::cluster::{Faults, Kind};
use super::facts::{rolling, template};
use super::model::{BROKEN, FAILING, Run, SEEDS};

/// Two within two minutes, of which each turn of the world takes five seconds.
const BUDGET: (&str, usize, SignedDuration) = ("2/2m", 2, SignedDuration::from_mins(2));

fn begun(seed: u64, strategy: RawStrategy, trouble: Faults, requests: &[(&str, &str)]) -> Run {
    let mut run = Run::new(seed, strategy, 4, trouble);
    let deployment = run.world.truth.deployment.as_mut().unwrap();
    deployment.annotations.extend(requests.iter().map(|(key, value)| ((*key).into(), (*value).into())));
    run.world.wrote("", Kind::Deployment, "deployment");
    run.world.gone = 0;
    run
}

fn live_through(run: &mut Run, seed: u64) {
    for _ in 0..400 {
        run.turn();
        run.check(seed);
    }
}

/// Nothing goes wrong any more, and time passes until the budget has let everybody go.
fn ends(run: &mut Run, seed: u64) {
    for _ in 0..60 {
        let reason = run.calm("what waits for the budget").map(|conclusion| conclusion.reason);
        run.check(seed);
        if reason == Some(DeploymentReason::Complete) {
            return;
        }
        run.world.now = run.world.now.checked_add(SignedDuration::from_mins(1)).unwrap();
    }
    panic!("seed {seed}: it does not end\n{}", run.reported());
}

/// No span of the budget has more, and nobody goes who was not let go before.
fn check_budget(run: &Run, seed: u64) {
    let (_, most, within) = BUDGET;
    for (name, at) in &run.world.permit_deletions {
        let span = run.world.permit_deletions.iter().filter(|(_, other)| {
            let later = other.duration_since(*at);
            later >= SignedDuration::ZERO && later < within
        });
        assert!(span.count() <= most, "seed {seed}: {name} {:?}", run.world.permit_deletions);
    }
}

#[test]
fn a_rollout_never_takes_more_than_its_budget_and_ends() {
    let mut gone = 0;
    for seed in 0..SEEDS {
        for strategy in [rolling(0, 1), rolling(2, 2), rolling(1, 0)] {
            let mut run = begun(seed, strategy, BROKEN, &[("budget", BUDGET.0)]);
            run.edit(|spec| spec.template = template("b"));
            live_through(&mut run, seed);
            ends(&mut run, seed);
            check_budget(&run, seed);
            let (went, permit_deletions) = (run.world.gone, run.world.permit_deletions.len());
            assert!(went <= permit_deletions, "seed {seed}: {went} went, and {permit_deletions} were let go");
            gone += went;
        }
    }
    assert!(gone >= 400, "{gone}");
}

#[test]
fn machines_that_fail_are_replaced_first_within_bounds_and_budget() {
    for seed in 0..SEEDS {
        for (strategy, beyond) in [(rolling(0, 1), 1), (rolling(1, 2), 2), (rolling(1, 0), 1)] {
            let requests = [("budget", BUDGET.0), ("replace-first", "1m")];
            let mut run = begun(seed, strategy, FAILING, &requests);
            run.world.most = 4 + beyond;
            run.world.fewest = 0;
            live_through(&mut run, seed);
            ends(&mut run, seed);
            check_budget(&run, seed);
        }
    }
}

#[test]
fn a_rollout_in_the_middle_of_replacements_keeps_within_surge() {
    for seed in 0..SEEDS {
        let mut run = begun(seed, rolling(1, 2), FAILING, &[("replace-first", "1m")]);
        run.world.fewest = 0;
        for _ in 0..3 {
            live_through(&mut run, seed);
            let class = if seed % 2 == 0 { "b" } else { "c" };
            run.edit(|spec| spec.template = template(class));
        }
        live_through(&mut run, seed);
        ends(&mut run, seed);
    }
}

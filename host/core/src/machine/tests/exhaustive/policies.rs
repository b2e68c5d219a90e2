//! Every combination of what policies say with where a Machine is and what prevents a reboot.

use crate::health_policy::{Action, Mode, Opinion, PolicyVerdict, Reboots};
use crate::machine::MachineConclusion;

use super::*;

/// The outcomes that decisions tell apart here.
fn world() -> Cluster {
    let mut world = Cluster::new(Depth::Kinds);
    for effect in ["sync-node", "write-machine", "extend-token", "forget-token"] {
        world.outcomes.get_mut(effect).unwrap().truncate(2);
    }
    let looks = [Ok(vm()), Ok(vm_that_is(VmState::Stopped)), Err(guest(Code::Unavailable))];
    world.outcomes.insert("probe-vm", looks.map(MachineOutcome::ProbeVm).to_vec());
    let mut answers: Vec<MachineOutcome> =
        opinions().into_iter().map(|said| MachineOutcome::AskPolicies(Ok(said))).collect();
    answers.push(MachineOutcome::AskPolicies(Err(ActError::Forbidden { reason: "so it is" })));
    world.outcomes.insert("ask-policies", answers);
    world
}

/// One policy that observes or decides and says each thing that can be said, and pairs that disagree.
fn opinions() -> Vec<Vec<Opinion>> {
    let sick = PolicyVerdict::Unhealthy { since: seconds(1) };
    let said = [
        (PolicyVerdict::Healthy, Action::None),
        (PolicyVerdict::Unknown, Action::None),
        (sick, Action::None),
        (sick, Action::Reboot),
        (sick, Action::Replace),
    ];
    let opinion = |policy: &str, mode, (verdict, action): (PolicyVerdict, Action)| Opinion {
        policy: policy.into(),
        mode,
        verdict,
        reason: "so it is".into(),
        action,
        holds_until: seconds(12),
    };
    let alone = said
        .iter()
        .flat_map(|one| [Mode::Observe, Mode::Enforce].map(|mode| vec![opinion("one", mode, *one)]));
    let reboot = || opinion("two", Mode::Enforce, (sick, Action::Reboot));
    let beside = said.iter().map(|one| vec![opinion("one", Mode::Enforce, *one), reboot()]);
    alone.chain(beside).collect()
}

fn cases() -> Vec<Case> {
    let phases = [Phase::Running, Phase::Unknown, Phase::Failed, Phase::Pending, Phase::InPlaceUpdateFailed];
    let lived = each_view(&[creating().with(facts::make_pending)], &phases, |view, phase| {
        view.machine.phase = phase;
        view.machine.phase_since = Some(seconds(5));
    });
    let cases = gates(&times(&lived));
    let cases = targets(&cases, &[node(), unhealthy_node()]);
    let reboots = [None, Some(9), Some(1_000_000)];
    let cases = each_view(&cases, &reboots, |view, second| {
        let text = second.map(|second| seconds(second).to_string());
        view.policies.reboots = Reboots::parse(text.as_deref());
    });
    let cases = each_view(&cases, &BOTH, |view, can_reboot| {
        if let DriverFact::Ready(driver) = &mut view.driver {
            driver.capabilities.reboot = can_reboot;
        }
    });
    each_view(&cases, &BOTH, |view, has_limit| {
        view.settings.health_timeout = has_limit.then(|| SignedDuration::from_secs(600));
    })
}

/// Whatever is said, no reconcile asks for a reboot without its permit or of a Machine that has failed, and no answer
/// makes the next reconcile come at once.
#[test]
fn what_policies_say_is_sound_in_every_situation() {
    let held = each_view(&cases(), &opinions(), |view, said| view.policies.opinions = said);
    let asked = each_view(&cases(), &[()], |view, ()| view.policies.to_ask = vec!["one".into()]);
    let world = world();
    let seen = explore_in(&world, held.into_iter().chain(asked));
    let has = |reason| seen.reasons.get(&reason).copied().unwrap_or_default() > 100;
    assert!(
        seen.reboots > 1_000 && seen.failures > 100 && seen.creates == 0 && seen.releases == 0,
        "{seen:?}"
    );
    assert!(
        has(MachineReason::RebootHeld) && has(MachineReason::ZoneHeld) && has(MachineReason::PolicyHolds),
        "{seen:?}"
    );
    assert!(
        has(MachineReason::VmRebooted)
            && has(MachineReason::RebootFailed)
            && has(MachineReason::PolicyUnheard),
        "{seen:?}"
    );
}

#[test]
fn a_machine_that_has_failed_is_rebooted_by_nobody_and_looked_at_seldom() {
    let failed: Vec<Case> =
        cases().into_iter().filter(|case| case.view.machine.phase == Phase::Failed).collect();
    let cases = each_view(&failed, &opinions(), |view, said| view.policies.opinions = said);
    let mut passes = 0;
    for case in cases {
        let Some(MachineConclusion { wake, status, message, .. }) = first_conclusion(&case) else { continue };
        passes += 1;
        let is_calm = match wake {
            crate::machine::Requeue::After(after) | crate::machine::Requeue::Check(after) => {
                after >= SignedDuration::from_mins(1)
            }
            crate::machine::Requeue::Resync | crate::machine::Requeue::Retry { .. } => true,
            crate::machine::Requeue::Now | crate::machine::Requeue::Gone => false,
        };
        assert!(is_calm || status.phase.is_some(), "{wake:?} {message} {:#?}", case.view);
    }
    assert!(passes > 500, "{passes}");
}

/// The end of a reconcile in which all goes well.
fn first_conclusion(case: &Case) -> Option<MachineConclusion> {
    let mut progress = MachineProgress::default();
    for _ in 0..BATCHES_PER_PASS {
        match step(&case.view, &progress, case.now) {
            MachineStep::Act(effects) => {
                assert!(
                    !effects.iter().any(|effect| matches!(
                        effect,
                        MachineEffect::NoteReboot(_) | MachineEffect::RebootVm
                    ))
                );
                effects.iter().for_each(|effect| progress.record(case.answer(effect)));
            }
            MachineStep::Finish(conclusion) => return Some(conclusion),
        }
    }
    None
}

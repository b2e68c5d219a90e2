//! Every combination of abstract facts with every combination of outcomes, each reconcile to its end.
//!
//! | module | what it combines |
//! | --- | --- |
//! | `conflict` | several Machines with one VM or one Node |
//! | `drains` | deletions with pods, hooks and volumes |
//! | `life` | the questions of a life with a Node, without health |
//! | `policies` | opinions of policies with phases and obstacles of a reboot |

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::driver::error::{CallError, Code};
use crate::driver::write_error::ActError;
use crate::driver::{Capabilities, Creation, Deletion, DriverFacts, Vm, VmState};
use crate::machine::{
    ClassFact, DeleteRequestFact, DriverFact, MachineEffect, MachineOutcome, MachineProgress, MachineReason,
    MachineStep, MachineView, NodeFact, NodePresence, SecretFact, TargetFact, invariants, step,
};
use crate::safety::meltdown::{self, Permit, ZoneState};
use crate::value::phase::Phase;

use super::facts::{
    self, CREATION_TIMEOUT_SECONDS, broken, conditions, critical_node, fresh_node, guest, in_progress, node,
    operation, refused, unhealthy_node, uninitialized, vm, vm_that_is,
};
use super::{BATCHES_PER_PASS, Case, creating, empty_drain, seconds};

mod conflict;
mod drains;
mod life;
mod policies;

/// Which outcomes are tried.
#[derive(Clone, Copy)]
enum Depth {
    /// One of each kind that decisions tell apart.
    Kinds,
    /// Every code and every error of a write.
    All,
}

fn write_errors(depth: Depth) -> Vec<ActError> {
    let message = || String::from("so it is");
    let kinds = vec![ActError::Conflict, ActError::Ambiguous { message: message() }];
    let others = [
        ActError::Gone,
        ActError::Throttled { after: None },
        ActError::Throttled { after: Some(SignedDuration::from_secs(3)) },
        ActError::Denied { message: message() },
        ActError::Invalid { message: message() },
        ActError::Unreachable { message: message() },
        ActError::Forbidden { reason: "so it is" },
    ];
    match depth {
        Depth::Kinds => kinds,
        Depth::All => kinds.into_iter().chain(others).collect(),
    }
}

fn call_errors(depth: Depth) -> Vec<CallError> {
    let codes: &[Code] = match depth {
        Depth::Kinds => &[Code::NotFound, Code::Unimplemented, Code::Unavailable],
        Depth::All => &Code::ALL,
    };
    let errors = codes.iter().map(|code| guest(*code));
    errors.chain([uninitialized(true), uninitialized(false), broken(), refused()]).collect()
}

fn writes(depth: Depth, outcome: fn(Result<(), ActError>) -> MachineOutcome) -> Vec<MachineOutcome> {
    let errors = write_errors(depth).into_iter().map(Err);
    [Ok(())].into_iter().chain(errors).map(outcome).collect()
}

fn permits() -> Vec<MachineOutcome> {
    let mut permits = vec![
        Err(ActError::Forbidden { reason: "so it is" }),
        Ok(Permit::Busy { limit: meltdown::ReplacementLimit::ONE }),
        Ok(Permit::Granted { zone: None }),
        Ok(Permit::Later { after: SignedDuration::from_mins(2) }),
    ];
    for (is_silent, has_problem) in [(true, false), (false, true), (true, true)] {
        let name = "zone-a".into();
        permits.push(Ok(Permit::Granted { zone: Some(ZoneState { name, is_silent, has_problem }) }));
    }
    permits.into_iter().map(MachineOutcome::AskPermit).collect()
}

fn calls<T>(
    depth: Depth,
    answers: impl IntoIterator<Item = T>,
    outcome: fn(Result<T, CallError>) -> MachineOutcome,
) -> Vec<MachineOutcome> {
    let errors = call_errors(depth).into_iter().map(Err);
    answers.into_iter().map(Ok).chain(errors).map(outcome).collect()
}

/// The possible outcomes of an effect.
struct Cluster {
    outcomes: BTreeMap<&'static str, Vec<MachineOutcome>>,
    /// A Node may have pods.
    has_pods: bool,
}

impl Cluster {
    fn new(depth: Depth) -> Self {
        let nameless = Vm { provider_id: "".into(), node_name: "".into(), ..vm() };
        let stopping = vm_that_is(VmState::Stopping);
        let work = in_progress(SignedDuration::ZERO);
        let deleted = Deletion::Deleted { last_known_state: None };
        let creations = [
            Creation::Created(vm()),
            Creation::Created(nameless.clone()),
            Creation::InProgress(work.clone()),
        ];
        let outcomes = BTreeMap::from([
            ("claim", writes(depth, MachineOutcome::AddFinalizer)),
            ("ensure-token", writes(depth, MachineOutcome::EnsureToken)),
            ("note-intent", writes(depth, MachineOutcome::NoteIntent)),
            ("close-intent", writes(depth, MachineOutcome::CloseIntent)),
            ("probe-vm", calls(depth, [vm(), stopping, nameless], MachineOutcome::ProbeVm)),
            ("create-vm", calls(depth, creations, MachineOutcome::CreateVm)),
            ("initialize-vm", calls(depth, [vm()], MachineOutcome::InitializeVm)),
            ("record-vm", writes(depth, MachineOutcome::RecordVm)),
            ("sync-node", writes(depth, MachineOutcome::SyncNode)),
            ("forget-token", writes(depth, MachineOutcome::ForgetToken)),
            ("delete-vm", calls(depth, [deleted, Deletion::InProgress(work)], MachineOutcome::DeleteVm)),
            ("delete-node", writes(depth, MachineOutcome::DeleteNode)),
            ("write-machine", writes(depth, MachineOutcome::WriteMachine)),
            ("delete-machine", writes(depth, MachineOutcome::DeleteMachine)),
            ("cordon", writes(depth, MachineOutcome::Cordon)),
            ("set-node-condition", writes(depth, MachineOutcome::SetNodeCondition)),
            ("note-hooks", writes(depth, MachineOutcome::NoteHooks)),
            ("ask-permit", permits()),
            ("note-reboot", writes(depth, MachineOutcome::NoteReboot)),
            ("reboot-vm", calls(depth, [()], MachineOutcome::RebootVm)),
            ("extend-token", writes(depth, MachineOutcome::ExtendToken)),
            ("write-capacity", writes(depth, MachineOutcome::WriteCapacity)),
            ("release-finalizer", writes(depth, MachineOutcome::ReleaseFinalizer)),
        ]);
        Self { outcomes, has_pods: false }
    }

    fn with_pods(self) -> Self {
        Self { has_pods: true, ..self }
    }

    fn with_a_quiet_cloud(mut self) -> Self {
        let unavailable = || guest(Code::Unavailable);
        let deleted = Ok(Deletion::Deleted { last_known_state: None });
        let looks = [Ok(vm()), Err(guest(Code::NotFound))].map(MachineOutcome::ProbeVm);
        self.outcomes.insert("probe-vm", looks.to_vec());
        self.outcomes
            .insert("delete-vm", [deleted, Err(unavailable())].map(MachineOutcome::DeleteVm).to_vec());
        for effect in ["delete-node", "forget-token", "release-finalizer"] {
            self.outcomes.entry(effect).and_modify(|outcomes| outcomes.truncate(1));
        }
        self
    }

    fn outcomes(&self, effect: &MachineEffect) -> Vec<MachineOutcome> {
        match effect {
            MachineEffect::Drain(effect) if self.has_pods => drains::outcomes(effect),
            MachineEffect::Drain(effect) => vec![MachineOutcome::Drain(empty_drain(effect))],
            other => self.outcomes[other.name()].clone(),
        }
    }
}

/// Counts of what was seen, so that a space that has become empty shows.
#[derive(Debug, Default)]
struct Seen {
    passes: usize,
    creates: usize,
    releases: usize,
    failures: usize,
    reboots: usize,
    reasons: BTreeMap<MachineReason, usize>,
}

struct Search<'a> {
    case: &'a Case,
    world: &'a Cluster,
    seen: &'a mut Seen,
}

impl Search<'_> {
    fn pass(&mut self, progress: &MachineProgress, batches: usize) {
        let view = &self.case.view;
        match step(view, progress, self.case.now) {
            MachineStep::Act(effects) => {
                assert!(batches < BATCHES_PER_PASS, "the pass does not end: {view:#?} {progress:#?}");
                let verdict = invariants::batch(view, progress, &effects, self.case.now);
                assert_eq!(verdict, Ok(()), "{effects:?} {view:#?} {progress:#?}");
                self.seen.creates += usize::from(effects.contains(&MachineEffect::CreateVm));
                self.seen.releases += usize::from(effects.contains(&MachineEffect::ReleaseFinalizer));
                self.seen.reboots += usize::from(effects.contains(&MachineEffect::RebootVm));
                self.act(&effects, progress, batches);
            }
            MachineStep::Finish(conclusion) => {
                let verdict = invariants::conclusion(view, progress, &conclusion);
                assert_eq!(verdict, Ok(()), "{conclusion:?} {view:#?} {progress:#?}");
                assert!(!conclusion.message.is_empty(), "{conclusion:?}");
                self.seen.passes += 1;
                self.seen.failures += usize::from(conclusion.status.phase == Some(Phase::Failed));
                *self.seen.reasons.entry(conclusion.reason).or_default() += 1;
            }
        }
    }

    /// Every combination of the outcomes of a batch.
    fn act(&mut self, effects: &[MachineEffect], progress: &MachineProgress, batches: usize) {
        let Some((first, rest)) = effects.split_first() else {
            return self.pass(progress, batches + 1);
        };
        let world = self.world;
        for outcome in world.outcomes(first) {
            let mut progress = progress.clone();
            progress.record(outcome);
            self.act(rest, &progress, batches);
        }
    }
}

fn explore(cases: impl IntoIterator<Item = Case>, depth: Depth) -> Seen {
    explore_in(&Cluster::new(depth), cases)
}

fn explore_in(world: &Cluster, cases: impl IntoIterator<Item = Case>) -> Seen {
    let mut seen = Seen::default();
    for case in cases {
        Search { case: &case, world, seen: &mut seen }.pass(&MachineProgress::default(), 0);
    }
    seen
}

/// All cases times all values of one more fact.
fn each<V: Clone>(cases: &[Case], values: &[V], apply: impl Fn(&mut Case, V)) -> Vec<Case> {
    let with = |case: &Case, value: &V| {
        let mut case = case.clone();
        apply(&mut case, value.clone());
        case
    };
    cases.iter().flat_map(|case| values.iter().map(move |value| with(case, value))).collect()
}

fn each_view<V: Clone>(cases: &[Case], values: &[V], apply: impl Fn(&mut MachineView, V)) -> Vec<Case> {
    each(cases, values, |case, value| apply(&mut case.view, value))
}

const BOTH: [bool; 2] = [false, true];

fn phases(cases: &[Case]) -> Vec<Case> {
    each_view(cases, &Phase::ALL, |view, phase| {
        view.machine.phase = phase;
        view.machine.phase_since = Some(seconds(5));
    })
}

fn provider_ids(cases: &[Case]) -> Vec<Case> {
    each_view(cases, &BOTH, |view, is_stored| {
        view.machine.provider_id = is_stored.then(|| "sim://1".into());
        view.machine.node_name = is_stored.then(|| "node-1".into());
    })
}

fn finalizers(cases: &[Case]) -> Vec<Case> {
    each_view(cases, &BOTH, |view, is_held| view.machine.has_finalizer = is_held)
}

fn gates(cases: &[Case]) -> Vec<Case> {
    each(cases, &BOTH, |case, is_frozen| {
        if is_frozen {
            *case = case.clone().frozen();
        }
    })
}

fn capabilities(cases: &[Case]) -> Vec<Case> {
    let mut all = Vec::new();
    for status in BOTH {
        for initialize in BOTH {
            for idempotency_key in BOTH {
                all.push(Capabilities { status, initialize, idempotency_key, ..Capabilities::default() });
            }
        }
    }
    each_view(cases, &all, |view, capabilities| {
        let consistency_window = SignedDuration::from_secs(8);
        view.driver =
            DriverFact::Ready(DriverFacts { plugin: "sim".into(), capabilities, consistency_window });
    })
}

fn targets(cases: &[Case], nodes: &[NodeFact]) -> Vec<Case> {
    let present = nodes.iter().map(|node| NodePresence::Present(node.clone()));
    let presences =
        [NodePresence::Absent, NodePresence::Foreign("sim://2".into())].into_iter().chain(present);
    let targets: Vec<TargetFact> =
        [TargetFact::None].into_iter().chain(presences.map(TargetFact::Cluster)).collect();
    each_view(cases, &targets, |view, target| view.target = target)
}

/// The state that an earlier reconcile has left.
fn traces(cases: &[Case]) -> Vec<Case> {
    let operations = [
        None,
        operation("Create", "Processing"),
        operation("Create", "Failed"),
        operation("HealthCheck", "Failed"),
    ];
    let cases = each_view(cases, &operations, |view, operation| view.machine.operation = operation);
    each_view(&cases, &[None, Some("job-7")], |view, state| {
        view.machine.last_known_state = state.map(str::to_owned);
    })
}

/// Before, at and after every limit.
fn times(cases: &[Case]) -> Vec<Case> {
    each(cases, &[10, CREATION_TIMEOUT_SECONDS + 1], |case, second| *case = case.clone().at(second))
}

/// Facts that creation cannot begin without, each missing in each way.
fn lacking(case: &Case) -> Vec<Case> {
    let CallError::Refused(refusal) = refused() else { panic!("no refusal") };
    let lacks: Vec<fn(&mut MachineView)> = vec![
        |_| {},
        |view| view.machine.invalid = Some("spec.class.kind must be MachineClass".into()),
        |view| view.class = ClassFact::Missing("worker".into()),
        |view| view.class = ClassFact::Missing("".into()),
        |view| view.class = ClassFact::Deleting("worker".into()),
        |view| view.class = ClassFact::Invalid { name: "worker".into(), message: "so it is".into() },
        |view| view.secret = SecretFact::NotNamed,
        |view| view.secret = SecretFact::Missing(crate::value::id::ObjectKey::new("garden", "cloud")),
        |view| view.secret = SecretFact::WithoutUserData,
        |view| view.secret = facts::refused_secret(),
        |view| view.driver = DriverFact::NotChosen,
        facts::substitute,
    ];
    let mut cases: Vec<Case> = lacks.into_iter().map(|lack| case.clone().with(lack)).collect();
    cases.push(case.clone().with(|view| view.driver = DriverFact::Refused(refusal)));
    cases
}

#[test]
fn creation_is_sound_in_every_situation() {
    let cases = traces(&times(&capabilities(&provider_ids(&finalizers(&phases(&[creating()]))))));
    let cases = each(&cases, &BOTH, |case, has_target| {
        if !has_target {
            *case = case.clone().without_target();
        }
    });
    let failed = |error| Some(facts::failed_intent(5, 2, error));
    let intents = [
        None,
        Some(facts::intent(5)),
        failed(facts::unclear(Code::Unavailable)),
        failed(guest(Code::ResourceExhausted)),
    ];
    let cases = each_view(&cases, &intents, |view, intent| view.machine.create_intent = intent);
    let seen = explore(cases, Depth::Kinds);
    assert!(seen.creates > 1_000 && seen.failures > 1_000 && seen.releases == 0, "{seen:?}");
}

#[test]
fn life_with_a_node_is_sound_in_every_situation() {
    let nodes = [
        node(),
        fresh_node(),
        unhealthy_node(),
        critical_node(),
        NodeFact { has_critical_taint: true, ..fresh_node() },
        NodeFact { conditions: conditions(""), ..fresh_node() },
        NodeFact { is_deleting: true, ..fresh_node() },
    ];
    let cases = targets(&traces(&times(&gates(&phases(&[creating().with(facts::make_pending)])))), &nodes);
    let cases = each_view(&cases, &BOTH, |view, has_limit| {
        view.settings.health_timeout = has_limit.then(|| SignedDuration::from_secs(600));
    });
    let seen = explore(cases, Depth::All);
    assert!(seen.creates == 0 && seen.releases == 0 && seen.failures > 10, "{seen:?}");
}

#[test]
fn deletion_is_sound_in_every_situation() {
    let going = creating().with(|view| view.machine.deletion = Some(seconds(4)));
    let cases = capabilities(&gates(&times(&provider_ids(&finalizers(&phases(&[going]))))));
    let cases = targets(&cases, &[facts::going_node(), unhealthy_node()]);
    let cases: Vec<Case> = cases.into_iter().filter(is_decided_late).collect();
    let seen = explore(orders(&cases), Depth::Kinds);
    assert!(seen.creates == 0 && seen.failures == 0 && seen.releases > 400, "{seen:?}");
}

/// This process has given no order to remove the VM, or has.
fn orders(cases: &[Case]) -> Vec<Case> {
    each_view(cases, &BOTH, |view, is_ordered| {
        view.machine.deletion_facts.delete_request =
            is_ordered.then(|| DeleteRequestFact { first: seconds(2), at: seconds(2), asked: seconds(2) });
    })
}

/// All but what the first line decides, of which one phase is enough.
fn is_decided_late(case: &Case) -> bool {
    let machine = &case.view.machine;
    machine.phase == Phase::Terminating || !case.view.has_target()
}

#[test]
fn every_lack_is_sound_in_every_phase_for_machines_that_come_and_go() {
    let cases: Vec<Case> = lacking(&creating());
    let cases = gates(&times(&provider_ids(&finalizers(&phases(&cases)))));
    let cases =
        each_view(&cases, &BOTH, |view, is_going| view.machine.deletion = is_going.then(|| seconds(4)));
    let seen = explore(cases, Depth::Kinds);
    assert!(seen.creates > 0 && seen.releases > 0, "{seen:?}");
}

#[test]
fn every_code_and_every_error_is_sound_in_the_usual_situations() {
    let cases = capabilities(&finalizers(&[creating()]));
    let going = creating().with(facts::make_pending).with(facts::make_terminating).at(200).node(node());
    let going = capabilities(&provider_ids(&[going.with(|view| view.machine.has_finalizer = true)]));
    let seen = explore(cases.into_iter().chain(going), Depth::All);
    assert!(seen.creates > 0 && seen.releases > 0, "{seen:?}");
}

#[test]
fn a_frozen_gate_creates_and_fails_nothing() {
    let cases = times(&capabilities(&provider_ids(&finalizers(&phases(&[creating().frozen()])))));
    let seen = explore(cases, Depth::Kinds);
    assert!(seen.creates == 0 && seen.failures == 0 && seen.passes > 100, "{seen:?}");
}

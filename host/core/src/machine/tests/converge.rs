//! Reconcile after reconcile in a world that answers well: every Machine comes to rest where it belongs, with one VM or
//! none.

use jiff::{SignedDuration, Timestamp};

use crate::driver::Creation;
use crate::driver::error::{CallError, Code};
use crate::machine::{
    CreateIntent, DeleteRequestFact, DriverFact, IntendedCall, MachineConclusion, MachineEffect,
    MachineOutcome, MachineProgress, MachineStep, NodePresence, OperationFact, OperationNote, Requeue,
    TargetFact, step,
};
use crate::value::phase::Phase;

use super::facts::{self, WINDOW_SECONDS, capabilities, fresh_node, guest, node, operation, vm};
use super::{BATCHES_PER_PASS, Case, begun, creating, deleting, pending, seconds};

/// From the first reconcile to rest, however a Machine comes there.
const PASSES: usize = 20;

/// A cloud with one Machine's VMs, and a cluster that its Node joins.
struct Cluster {
    case: Case,
    /// When each VM was made.
    vms: Vec<Timestamp>,
    /// For how long reads do not show a VM.
    lag: SignedDuration,
    /// The process remembers its orders: it is one process.
    remembers: bool,
}

impl Cluster {
    fn new(case: Case, made_at: Option<i64>) -> Self {
        Self {
            case,
            vms: made_at.map(seconds).into_iter().collect(),
            lag: SignedDuration::ZERO,
            remembers: true,
        }
    }

    fn lagging(mut self) -> Self {
        self.lag = SignedDuration::from_secs(WINDOW_SECONDS);
        self
    }

    /// Each reconcile is another process's.
    fn restarting(mut self) -> Self {
        self.remembers = false;
        self
    }

    fn shows_vm(&self) -> bool {
        self.vms.iter().any(|made| self.case.now >= *made + self.lag)
    }

    fn keeps_keys(&self) -> bool {
        let driver = &self.case.view.driver;
        matches!(driver, DriverFact::Ready(driver) if driver.capabilities.idempotency_key)
    }

    /// Does what is asked and shows it to the next reconcile.
    fn act(&mut self, effect: &MachineEffect) -> MachineOutcome {
        let not_found = || -> CallError { guest(Code::NotFound) };
        let now = self.case.now;
        if *effect == MachineEffect::DeleteVm && self.remembers {
            self.case.view.machine.deletion_facts.delete_request =
                Some(DeleteRequestFact { first: now, at: now, asked: now });
        }
        match effect {
            MachineEffect::AddFinalizer => {
                self.case.view.machine.has_finalizer = true;
                self.case.view.machine.has_priority = true;
            }
            MachineEffect::NoteIntent => {
                self.case.view.machine.create_intent = Some(facts::intent_of(IntendedCall::NotMade));
            }
            MachineEffect::CloseIntent => self.case.view.machine.create_intent = None,
            MachineEffect::ProbeVm if self.shows_vm() => return MachineOutcome::ProbeVm(Ok(vm())),
            MachineEffect::ProbeVm => return MachineOutcome::ProbeVm(Err(not_found())),
            MachineEffect::CreateVm => {
                if self.vms.is_empty() || !self.keeps_keys() {
                    self.vms.push(now);
                }
                return MachineOutcome::CreateVm(Ok(Creation::Created(vm())));
            }
            // Without an id that is known a VM is removed only when it shows.
            MachineEffect::DeleteVm if self.shows_vm() => self.vms.clear(),
            MachineEffect::RecordVm { provider_id, node_name, .. } => {
                self.case.view.machine.provider_id = Some(provider_id.clone());
                self.case.view.machine.node_name.clone_from(node_name);
                self.case.view.machine.has_priority = true;
                self.case.view.machine.create_intent = None;
            }
            MachineEffect::SyncNode { .. } => {
                self.case.view.target = TargetFact::Cluster(NodePresence::Present(node()));
            }
            MachineEffect::DeleteNode { .. } => {
                self.case.view.target = TargetFact::Cluster(NodePresence::Absent);
            }
            MachineEffect::ReleaseFinalizer => self.case.view.machine.has_finalizer = false,
            MachineEffect::EnsureToken
            | MachineEffect::InitializeVm
            | MachineEffect::PlaceVm { .. }
            | MachineEffect::AskInterruptible
            | MachineEffect::NameNode(_)
            | MachineEffect::ForgetToken
            | MachineEffect::DeleteVm
            | MachineEffect::WriteMachine(_)
            | MachineEffect::DeleteMachine
            | MachineEffect::Cordon { .. }
            | MachineEffect::SetNodeCondition { .. }
            | MachineEffect::AskPolicies
            | MachineEffect::NoteReboot(_)
            | MachineEffect::RebootVm
            | MachineEffect::AskPermit(_)
            | MachineEffect::ExtendToken { .. }
            | MachineEffect::WriteCapacity { .. }
            | MachineEffect::Drain(_) => {}
            MachineEffect::NoteHooks => self.case.view.machine.deletion_facts.pre_terminate_since = Some(now),
        }
        self.case.answer(effect)
    }

    /// One reconcile: its facts stay as they were at its begin, as they do in a real one.
    fn pass(&mut self) -> MachineConclusion {
        let view = self.case.view.clone();
        let mut progress = MachineProgress::default();
        for _ in 0..BATCHES_PER_PASS {
            match step(&view, &progress, self.case.now) {
                MachineStep::Act(effects) => {
                    for effect in &effects {
                        progress.record(self.act(effect));
                    }
                }
                MachineStep::Finish(conclusion) => return conclusion,
            }
        }
        panic!("the pass does not end: {view:#?}");
    }

    fn publish(&mut self, conclusion: &MachineConclusion) {
        let status = &conclusion.status;
        let machine = &mut self.case.view.machine;
        if let Some(phase) = status.phase.filter(|phase| *phase != machine.phase) {
            machine.phase = phase;
            machine.phase_since = Some(self.case.now);
        }
        if let Some(operation) = &status.operation {
            machine.operation = Some(OperationFact { kind: operation.kind, state: operation.state });
            if let OperationNote::Deleting(note) = &operation.note {
                machine.deletion_facts.left_at = Some(note.next());
            }
        }
        if let Some(state) = &status.last_known_state {
            machine.last_known_state = Some(state.clone());
        }
        if let (true, TargetFact::Cluster(NodePresence::Present(node))) =
            (status.copies_conditions, &self.case.view.target)
        {
            machine.conditions.clone_from(&node.conditions);
        }
    }

    /// The kubelet of a VM registers its Node, once the Machine awaits one.
    fn boot(&mut self) -> bool {
        let machine = &self.case.view.machine;
        let is_awaited = machine.deletion.is_none() && machine.node_name.is_some();
        let is_absent = matches!(self.case.view.target, TargetFact::Cluster(NodePresence::Absent));
        let boots = is_awaited && is_absent && !self.vms.is_empty();
        if boots {
            self.case.view.target = TargetFact::Cluster(NodePresence::Present(fresh_node()));
        }
        boots
    }

    /// To rest. There is never a second VM on the way, and never a run of reconciles without a pause.
    fn run_to_rest(mut self) -> Self {
        let mut at_once = 0;
        for _ in 0..PASSES {
            let conclusion = self.pass();
            assert!(self.vms.len() <= 1, "a second VM: {:#?}", self.case.view);
            self.publish(&conclusion);
            let pause = match conclusion.wake {
                Requeue::Gone => return self,
                Requeue::Resync if !self.boot() => return self,
                Requeue::Resync | Requeue::Now => SignedDuration::ZERO,
                Requeue::After(_) if self.boot() => SignedDuration::from_secs(1),
                Requeue::After(pause) | Requeue::Check(pause) => pause,
                Requeue::Retry { policy, .. } => policy.cap,
            };
            at_once = if pause.is_zero() { at_once + 1 } else { 0 };
            assert!(at_once < 4, "passes without a pause: {conclusion:?} {:#?}", self.case.view);
            self.case.now += pause;
            self.case.view.machine.create_intent.iter_mut().for_each(|intent| grow_old(intent, pause));
        }
        panic!("no rest: {:#?}", self.case.view);
    }

    fn comes_to_run(self) {
        let start = self.case.view.clone();
        let end = self.run_to_rest();
        let expected = if start.has_target() { Phase::Running } else { Phase::Available };
        assert_eq!((end.case.view.machine.phase, end.vms.len()), (expected, 1), "{start:#?}");
    }

    fn comes_to_nothing(self) {
        let start = self.case.view.clone();
        let end = self.run_to_rest();
        assert_eq!((end.case.view.machine.has_finalizer, end.vms.len()), (false, 0), "{start:#?}");
    }
}

/// Makes all that was seen of it older by so much.
fn grow_old(intent: &mut CreateIntent, pause: SignedDuration) {
    if let IntendedCall::OfPredecessor(end) | IntendedCall::Made(end, _) = &mut intent.call {
        end.age += pause;
    }
}

/// Drivers of every ability that matters here.
fn with_every_driver(cases: impl IntoIterator<Item = Case>) -> Vec<Case> {
    let mut all = Vec::new();
    for case in cases {
        for initialize in [false, true] {
            for idempotency_key in [false, true] {
                all.push(case.clone().with(capabilities(|offers| {
                    offers.initialize = initialize;
                    offers.idempotency_key = idempotency_key;
                })));
            }
        }
    }
    all
}

#[test]
fn a_new_machine_comes_to_run() {
    for case in with_every_driver([creating(), creating().without_target()]) {
        Cluster::new(case.clone(), None).comes_to_run();
        Cluster::new(case, None).lagging().comes_to_run();
    }
}

/// The traces of a creation after a crash: before the create, after it, after the id is stored.
fn crashed() -> Vec<(Case, Option<i64>)> {
    let mut left = Vec::new();
    for phase in [Phase::New, Phase::CrashLoopBackOff, Phase::Pending] {
        for last in [None, operation("Create", "Failed"), operation("Create", "Processing")] {
            for target in [begun(), begun().without_target()] {
                let before = target.with(|view| {
                    view.machine.phase = phase;
                    view.machine.operation = last;
                    view.machine.create_intent = Some(facts::intent(1));
                });
                let has_target = before.view.has_target();
                let stored = before.clone().with(|view| {
                    view.machine.provider_id = Some("sim://1".into());
                    view.machine.node_name = has_target.then(|| "node-1".into());
                });
                left.extend([(before.clone(), None), (before, Some(1))]);
                // Without a cluster, Pending is nothing that a Machine with an id can be in.
                if has_target || phase != Phase::Pending {
                    left.push((stored, Some(1)));
                }
            }
        }
    }
    left
}

#[test]
fn a_machine_whose_creation_was_cut_off_comes_to_run_with_one_vm() {
    for (case, made_at) in crashed() {
        for case in with_every_driver([case]) {
            Cluster::new(case.clone().at(2), made_at).comes_to_run();
            // Where the cloud keeps keys the create finds what reads do not show, elsewhere it waits for them.
            Cluster::new(case.at(2), made_at).lagging().comes_to_run();
        }
    }
}

#[test]
fn a_machine_that_is_deleted_leaves_nothing_wherever_it_was() {
    for (case, made_at) in crashed() {
        for case in with_every_driver([case]) {
            let going = case.with(|view| view.machine.deletion = Some(seconds(2)));
            Cluster::new(going.clone().at(2), made_at).comes_to_nothing();
            Cluster::new(going.clone().at(2), made_at).lagging().comes_to_nothing();
            Cluster::new(going.clone().at(2), made_at).restarting().comes_to_nothing();
            Cluster::new(going.at(2), made_at).lagging().restarting().comes_to_nothing();
        }
    }
}

#[test]
fn a_machine_that_has_lived_leaves_nothing_in_any_phase() {
    for phase in Phase::ALL {
        let lived = deleting().with(|view| view.machine.phase = phase);
        Cluster::new(lived.clone(), Some(1)).comes_to_nothing();
        Cluster::new(lived.clone(), Some(1)).restarting().comes_to_nothing();
        Cluster::new(lived.without_target(), Some(1)).lagging().comes_to_nothing();
    }
}

#[test]
fn a_machine_deleted_right_after_its_create_leaves_nothing_although_reads_lag() {
    let young = pending().with(facts::make_terminating).at(100);
    Cluster::new(young.clone(), Some(99)).lagging().comes_to_nothing();
    Cluster::new(young, Some(99)).lagging().restarting().comes_to_nothing();
}

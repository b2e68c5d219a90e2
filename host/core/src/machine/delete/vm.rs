//! The VM is gone when the driver has taken the order to remove it and a look finds it no more.

use std::ops::ControlFlow::Continue;

use jiff::{SignedDuration, Timestamp};

use crate::driver::error::{CallError, Code, Refusal};
use crate::driver::{Deletion, DriverFacts, VmState, is_not_found};
use crate::scheduling::retry::{RetryPolicy, Situation};
use crate::value::phase::OperationState;

use super::super::conclusion::{MachineConclusion, MachineReason, Requeue, StatusChange, elapsed};
use super::super::effect::{MachineEffect, MachineProgress};
use super::super::step::{PREREQUISITE, ask_again, reason_of, retry_call, retry_write};
use super::drain::Drained;
use super::hooks::{self, HookPoint};
use super::node::is_past;
use super::note::DeletionNote;
use super::{StageFlow, act, finish, stop};
use crate::machine::facts::{ClassFact, DeleteRequestFact, DriverFact, MachineFact, MachineView, SecretFact};

/// How soon a VM on its way out is looked at: at first well below the time that any cloud takes, then further apart the
/// longer it takes, since hundreds may be on their way out at a time and a cloud counts requests.
const FIRST_POLL: SignedDuration = SignedDuration::from_secs(1);

/// A pass that comes a moment before its look waits for the rest, which is never nothing.
const SHORTEST_WAIT: SignedDuration = SignedDuration::from_millis(1);

/// As far apart as looks grow. Nobody waits for the end of a deletion by the second.
const LAST_POLL: SignedDuration = SignedDuration::from_secs(15);

/// Where removals of this class take longer than a moment the first look waits for nearly as long as the last one took, and
/// at most this long: one that hung is no measure.
const LONGEST_USUAL: SignedDuration = SignedDuration::from_secs(30);

/// As far apart as they grow after a wait for hooks that were taken off: the status tells only when that wait began, and
/// whoever took them off waits for the end.
const LAST_POLL_AFTER_HOOKS: SignedDuration = SignedDuration::from_secs(2);

/// For how long a VM that is stopping is taken to stop because of our order. It may as well have been stopped by somebody
/// else, or hang there: then only the order helps, and twice given it does no harm.
const STOPPING_PATIENCE: SignedDuration = SignedDuration::from_mins(1);

/// For how long an order that was taken may show nothing in what a look says of the VM, before it is given again.
const ORDER_PATIENCE: SignedDuration = SignedDuration::from_secs(10);

/// Status times are whole seconds, so that one may be earlier than what it tells of by as much.
const STATUS_TIME_GRAIN: SignedDuration = SignedDuration::from_secs(1);

/// How it is known that the VM is gone.
pub(super) enum VmGone {
    /// Seen.
    Proven,
    /// Said by somebody, since the cloud could not be asked.
    Declared {
        /// What there is to tell of it.
        message: String,
    },
}

/// Ends when the VM is gone. What is told until then also says how the drain ended.
pub(super) fn gone(
    view: &MachineView,
    progress: &MachineProgress,
    drained: &Drained,
    now: Timestamp,
) -> StageFlow<VmGone> {
    let removal = VmRemoval { view, progress, drained, now };
    removal.hooks_are_done()?;
    if let SecretFact::Refused(refusal) = &view.secret {
        return removal.blocked(MachineReason::SecretRefused, &refusal.to_string());
    }
    match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => removal.by(driver),
        DriverFact::Refused(refusal @ Refusal::Loading { .. }) => removal.loading(refusal),
        DriverFact::Refused(refusal) => removal.blocked(MachineReason::DriverNotReady, &refusal.to_string()),
        DriverFact::NotChosen => removal.blocked(MachineReason::ClassMissing, &without_class(&view.class)),
    }
}

/// The driver that may be asked about the VM.
pub(super) fn driver(view: &MachineView) -> Option<&DriverFacts> {
    if matches!(view.secret, SecretFact::Refused(_)) {
        return None;
    }
    match &view.driver {
        DriverFact::Ready(driver) | DriverFact::Substitute { serving: driver, .. } => Some(driver),
        DriverFact::NotChosen | DriverFact::Refused(_) => None,
    }
}

struct VmRemoval<'a> {
    view: &'a MachineView,
    progress: &'a MachineProgress,
    drained: &'a Drained,
    now: Timestamp,
}

impl VmRemoval<'_> {
    /// The first look of the hooks' clock is noted on the Machine, since no object tells when a drain ended.
    ///
    /// As long as the order waits, the status does not say that the removal of the VM has begun, whatever the drain has
    /// come to: hooks may hold it for an hour, and a Node that joins meanwhile, or whose mark somebody takes off, is
    /// drained once more.
    fn hooks_are_done(&self) -> StageFlow {
        let Some(wait) = hooks::wait(self.view, HookPoint::Vm, self.now) else { return Continue(()) };
        let message =
            wait.message("the removal of the VM", self.view.machine.going.bad_hook_timeout.as_deref());
        let wake = match (&self.progress.note_hooks, hooks::is_unnoted(self.view)) {
            (None, true) => return act(MachineEffect::NoteHooks),
            (Some(Err(error)), _) => retry_write(error),
            (Some(Ok(())), _) | (None, false) => Requeue::After(wait.left),
        };
        stop(self.told(finish(
            MachineReason::PreTerminateHooks,
            message,
            (DeletionNote::NodeKnown, OperationState::Processing),
            wake,
        )))
    }

    fn by(&self, driver: &DriverFacts) -> StageFlow<VmGone> {
        match &self.progress.delete_vm {
            None => self.before_order(driver),
            Some(Ok(Deletion::InProgress(work))) => {
                let note = DeletionNote::VmWorking { message: work.message.clone() };
                self.wait(
                    finish(
                        MachineReason::VmTerminating,
                        work.message.clone(),
                        (note, OperationState::Processing),
                        ask_again(work),
                    ),
                    Some(&work.resume_token),
                )
            }
            Some(Ok(Deletion::Deleted { last_known_state })) => {
                self.after_order(driver, last_known_state.as_ref())
            }
            Some(Err(error)) if is_not_found(error) => self.after_order(driver, None),
            Some(Err(error)) => self.refused(error),
        }
    }

    /// A VM whose id is stored is ordered away without a look before, by a process that has not done so yet: rate limits are
    /// the scarcest thing in a cloud. Where somebody else may have given the order there is a look first: while the cloud is
    /// at work on it, it is not given again. Whatever else that look says, the order is what must be tried: it is
    /// idempotent, and its error counts.
    fn before_order(&self, driver: &DriverFacts) -> StageFlow<VmGone> {
        if !driver.capabilities.status {
            return act(MachineEffect::DeleteVm);
        }
        if let Some(order) = self.order() {
            return self.after_earlier_order(driver, order);
        }
        match &self.progress.probe {
            None if self.needs_no_look() => act(MachineEffect::DeleteVm),
            None => act(MachineEffect::ProbeVm),
            Some(Ok(vm)) if vm.state == VmState::Stopping && self.is_taken_to_stop() => {
                self.terminating(driver, None)
            }
            Some(Ok(_) | Err(_)) => act(MachineEffect::DeleteVm),
        }
    }

    /// Without a stored id the order finds only what reads show, and against somebody's word that the VM is gone a look counts.
    fn needs_no_look(&self) -> bool {
        let machine = &self.view.machine;
        machine.provider_id.is_some() && !machine.going.is_vm_declared_gone && !self.is_under_way()
    }

    /// The order that this process has given. One from the future is of a clock that has jumped since, and counts for nothing.
    fn order(&self) -> Option<DeleteRequestFact> {
        self.view.machine.going.order.filter(|order| order.at <= self.now && order.asked <= self.now)
    }

    /// What is left is to see that the VM is gone. It is not asked for before its time, whatever wakes the Machine.
    fn after_earlier_order(&self, driver: &DriverFacts, order: DeleteRequestFact) -> StageFlow<VmGone> {
        let Some(look) = &self.progress.probe else {
            let is_early = elapsed(order.asked, self.now) < self.pause(driver, order.asked);
            return if is_early { self.terminating(driver, None) } else { act(MachineEffect::ProbeVm) };
        };
        let is_new = elapsed(order.at, self.now) < driver.consistency_window.max(ORDER_PATIENCE);
        match look {
            Ok(vm) if vm.state == VmState::Stopping && self.is_taken_to_stop() => {
                self.terminating(driver, None)
            }
            // Reads lag behind orders as well.
            Ok(_) if is_new => self.terminating(driver, None),
            Err(error) if is_new && error.code() == Code::Uninitialized => self.terminating(driver, None),
            Err(error) if is_not_found(error) && self.unsettled(driver, order.at).is_zero() => {
                Continue(VmGone::Proven)
            }
            Err(error) if is_not_found(error) && !self.unsettled(driver, self.now).is_zero() => {
                self.settled(driver)
            }
            Ok(_) => act(MachineEffect::DeleteVm),
            Err(error)
                if is_not_found(error)
                    || matches!(
                        error.code(),
                        Code::OutOfRange | Code::Unimplemented | Code::Uninitialized
                    ) =>
            {
                act(MachineEffect::DeleteVm)
            }
            Err(error) => self.unseen(error, None),
        }
    }

    fn is_taken_to_stop(&self) -> bool {
        let machine = &self.view.machine;
        machine.provider_id.is_some() && self.ordered_for() < STOPPING_PATIENCE
    }

    /// The look of this pass went before the order, so a VM that it found is looked for once more in another pass. That holds
    /// also when the driver says that nothing was there to remove: one of both is behind.
    fn after_order(&self, driver: &DriverFacts, last_known_state: Option<&String>) -> StageFlow<VmGone> {
        match &self.progress.probe {
            None if driver.capabilities.status => self.terminating(driver, last_known_state),
            None => self.settled(driver),
            Some(Ok(_)) => self.terminating(driver, last_known_state),
            Some(Err(error)) if is_not_found(error) || error.code() == Code::Unimplemented => {
                self.settled(driver)
            }
            Some(Err(error)) if error.code() == Code::Uninitialized => {
                self.terminating(driver, last_known_state)
            }
            Some(Err(error)) => self.unseen(error, last_known_state),
        }
    }

    /// A Machine may have a VM that the cloud's reads do not show yet, and that an order by what they show does not reach. They
    /// must show it once the consistency window has passed since the Machine was seen to be going, because no create of it
    /// begins after that. A Node that its kubelet has registered that long ago proves that its VM is older than reads can lag,
    /// whatever it says of itself since; that there is one at all does not, since some VMs boot faster than reads catch up.
    fn settled(&self, driver: &DriverFacts) -> StageFlow<VmGone> {
        let left = self.unsettled(driver, self.now);
        if left.is_zero() {
            return Continue(VmGone::Proven);
        }
        stop(MachineConclusion {
            status: StatusChange::default(),
            reason: MachineReason::CreationUnresolved,
            message: "no VM is seen: waiting until the cloud's reads must show one that was just made".into(),
            wake: Requeue::After(left),
        })
    }

    /// For how long after `at` reads may not show a VM of this Machine.
    fn unsettled(&self, driver: &DriverFacts, at: Timestamp) -> SignedDuration {
        if driver.consistency_window.is_zero() {
            return SignedDuration::ZERO;
        }
        let window = driver.consistency_window.saturating_add(STATUS_TIME_GRAIN);
        let since = [self.lives_since(), Some(going_since(&self.view.machine, self.now))];
        let left = |since| window.saturating_sub(elapsed(since, at));
        since.into_iter().flatten().map(left).min().unwrap_or(window).max(SignedDuration::ZERO)
    }

    /// From when on the Machine's VM was there at the latest, by its Node. One that is older than its Machine may be left of an
    /// earlier one, and others make it before its VM: only that it reports tells then.
    fn lives_since(&self) -> Option<Timestamp> {
        let machine = &self.view.machine;
        let node = self.view.node().filter(|_| machine.provider_id.is_some())?;
        let registered = node.created.filter(|created| *created >= machine.created);
        [registered, node.ready_since].into_iter().flatten().min()
    }

    fn terminating(&self, driver: &DriverFacts, last_known_state: Option<&String>) -> StageFlow<VmGone> {
        let has_asked = self.progress.delete_vm.is_some() || self.progress.probe.is_some();
        let asked = self.order().map(|order| order.asked).filter(|_| !has_asked).unwrap_or(self.now);
        let left = self.pause(driver, asked).saturating_sub(elapsed(asked, self.now));
        let conclusion = finish(
            MachineReason::VmTerminating,
            format!("the cloud is removing {}", vm_name(self.view)),
            (self.drained.note.clone(), OperationState::Processing),
            Requeue::After(left.max(SHORTEST_WAIT)),
        );
        self.wait(self.unless_said(conclusion), last_known_state)
    }

    /// From a question about the VM to the next look. Before reads must show all that there is no look is worth its request.
    fn pause(&self, driver: &DriverFacts, asked: Timestamp) -> SignedDuration {
        let going = &self.view.machine.going;
        let had_hooks = going.pre_terminate_since.is_some() && going.pre_terminate_hooks.is_empty();
        let last = if had_hooks { LAST_POLL_AFTER_HOOKS } else { LAST_POLL };
        let waited = match self.order() {
            Some(order) => elapsed(order.first, asked),
            None => self.ordered_for(),
        };
        let usual = going.usual_removal.unwrap_or_default().min(LONGEST_USUAL) / 8 * 7;
        (waited / 4)
            .clamp(FIRST_POLL, last)
            .max(usual.saturating_sub(waited))
            .max(self.unsettled(driver, asked))
    }

    /// For how long the status says that the VM is to go, without the time of hooks that held it for as long as they could.
    fn ordered_for(&self) -> SignedDuration {
        let since = self.view.machine.going.left_since.filter(|_| self.is_under_way());
        let held = hooks::held_until(self.view, HookPoint::Vm);
        elapsed(since.max(held).unwrap_or(self.now), self.now)
    }

    /// Where an earlier pass has said how the drain ended and that the VM is going, that stays.
    fn unless_said(&self, mut conclusion: MachineConclusion) -> MachineConclusion {
        if self.is_under_way() {
            conclusion.status.operation = None;
        }
        conclusion
    }

    /// The status says that the VM is being removed, and of no failure in that.
    fn is_under_way(&self) -> bool {
        let last = self.view.machine.operation;
        is_past(self.view) && last.is_some_and(|last| last.state == OperationState::Processing)
    }

    /// The order is taken, and the cloud cannot be asked whether it was carried out.
    fn unseen(&self, error: &CallError, last_known_state: Option<&String>) -> StageFlow<VmGone> {
        self.failed(
            Situation::Status,
            reason_of(error, MachineReason::CloudUnreachable),
            error,
            false,
            last_known_state,
        )
    }

    fn refused(&self, error: &CallError) -> StageFlow<VmGone> {
        let stored = match error {
            CallError::Guest(error) => error.last_known_state.as_ref(),
            CallError::Broken(_) | CallError::Refused(_) => None,
        };
        self.failed(Situation::Delete, reason_of(error, MachineReason::VmDeletionFailed), error, true, stored)
    }

    fn failed(
        &self,
        situation: Situation,
        reason: MachineReason,
        error: &CallError,
        tells_code: bool,
        last_known_state: Option<&String>,
    ) -> StageFlow<VmGone> {
        if let Some(gone) = self.declared(&error.to_string()) {
            return Continue(gone);
        }
        let wake = retry_call(self.view, situation, error);
        let said = error.to_string();
        let passes = matches!(wake, Requeue::Retry { policy: RetryPolicy::SHORT, .. });
        let note = if passes {
            DeletionNote::VmDeletionFailed { error: said }
        } else {
            DeletionNote::VmDeletionRefused { error: said }
        };
        let code = error.code();
        let mut conclusion =
            finish(reason, with_advice(self.view, error), (note, OperationState::Failed), wake);
        if let Some(operation) = &mut conclusion.status.operation {
            operation.code = (tells_code && code != Code::Unknown).then_some(code);
        }
        self.wait(conclusion, last_known_state)
    }

    /// Each start loads its drivers: nothing has failed, and the end of it wakes the Machine. Nobody's word that the VM is
    /// gone counts meanwhile, since the driver can be asked in a moment.
    fn loading(&self, refusal: &Refusal) -> StageFlow<VmGone> {
        let note = DeletionNote::VmDeletionRefused { error: refusal.to_string() };
        let wake = Requeue::Retry { policy: PREREQUISITE, hint: None };
        let told = (note, OperationState::Processing);
        self.wait(finish(MachineReason::DriverLoading, refusal.to_string(), told, wake), None)
    }

    /// There is nobody to ask.
    fn blocked(&self, reason: MachineReason, problem: &str) -> StageFlow<VmGone> {
        if let Some(gone) = self.declared(problem) {
            return Continue(gone);
        }
        let message = format!("{problem}; {}", last_resort(self.view));
        let note = DeletionNote::VmDeletionRefused { error: problem.to_owned() };
        let wake = Requeue::Retry { policy: PREREQUISITE, hint: None };
        self.wait(finish(reason, message, (note, OperationState::Failed), wake), None)
    }

    /// Somebody's word counts where the cloud cannot be asked, and never against a look that shows the VM.
    fn declared(&self, problem: &str) -> Option<VmGone> {
        let is_seen = match &self.progress.probe {
            Some(Ok(_)) => true,
            Some(Err(error)) => error.code() == Code::Uninitialized,
            None => false,
        };
        let machine = &self.view.machine;
        let is_declared = machine.going.is_vm_declared_gone && !is_seen;
        is_declared.then(|| {
            let vm = machine.provider_id.as_ref().map_or("its VM".to_owned(), |id| format!("VM {id}"));
            let message =
                format!("let go because an annotation says that {vm} is gone, which was not seen: {problem}");
            VmGone::Declared { message }
        })
    }

    fn wait(
        &self,
        mut conclusion: MachineConclusion,
        last_known_state: Option<&String>,
    ) -> StageFlow<VmGone> {
        conclusion.status.last_known_state = last_known_state.cloned();
        stop(self.told(conclusion))
    }

    fn told(&self, mut conclusion: MachineConclusion) -> MachineConclusion {
        conclusion.status.conditions.extend(self.drained.condition.clone());
        conclusion
    }
}

/// Since when the status says that the Machine is going. Where it does not say when, the request for it is the next best.
fn going_since(machine: &MachineFact, now: Timestamp) -> Timestamp {
    machine.phase_since.or(machine.deletion).unwrap_or(now)
}

/// The error, and what may be behind it.
pub(super) fn with_advice(view: &MachineView, error: &CallError) -> String {
    match (&view.secret, error) {
        (SecretFact::Missing(key), CallError::Guest(_)) => format!(
            "{error}; Secret {key} does not exist, so the driver had no credentials of it: create it again"
        ),
        (
            SecretFact::NotNamed
            | SecretFact::WithoutUserData
            | SecretFact::Ready
            | SecretFact::Refused(_)
            | SecretFact::Missing(_),
            _,
        ) => error.to_string(),
    }
}

fn without_class(class: &ClassFact) -> String {
    match class {
        ClassFact::Missing(name) => {
            format!("MachineClass {name} does not exist, so the VM cannot be removed: create it again")
        }
        ClassFact::Invalid { name, message } => format!("MachineClass {name} is invalid: {message}"),
        ClassFact::Deleting(name) | ClassFact::Ready(name) => {
            format!("MachineClass {name} has chosen no driver yet")
        }
    }
}

fn vm_name(view: &MachineView) -> String {
    view.machine.provider_id.as_ref().map_or("the VM".to_owned(), |id| format!("VM {id}"))
}

fn last_resort(view: &MachineView) -> String {
    let vm = vm_name(view);
    format!(
        "where that cannot be mended and {vm} is gone for certain, annotate the Machine with machinist.dev/vm-is-gone=true"
    )
}

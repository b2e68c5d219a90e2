//! The VM is gone when the driver has accepted the delete request and a query no longer finds the VM.

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

/// The first pause before a VM that is being deleted is queried: well below the time that any cloud takes. The pauses
/// grow, since hundreds of VMs may be deleted at a time and a cloud counts requests.
const FIRST_POLL: SignedDuration = SignedDuration::from_secs(1);

/// A reconcile that comes a moment before its query is due waits for the rest, at least this long.
const SHORTEST_WAIT: SignedDuration = SignedDuration::from_millis(1);

/// The longest pause between queries. The end of a deletion need not be noticed to the second.
const LAST_POLL: SignedDuration = SignedDuration::from_secs(15);

/// The longest wait before the first query. If deletions of this class take longer than a moment, the first query waits
/// nearly as long as the last deletion took, and at most this long: one that hung is no measure.
const LONGEST_USUAL: SignedDuration = SignedDuration::from_secs(30);

/// The longest pause after a wait for hooks that were removed: the status only has the beginning of that wait, and the
/// program that removed the hooks waits for the end.
const LAST_POLL_AFTER_HOOKS: SignedDuration = SignedDuration::from_secs(2);

/// How long a stopping VM is assumed to stop because of our delete request. It may have been stopped by others, or
/// hang: then only the request helps, and it is idempotent.
const STOPPING_TIMEOUT: SignedDuration = SignedDuration::from_mins(1);

/// How long an accepted delete request may have no visible effect on the VM before it is sent again.
const REQUEST_TIMEOUT: SignedDuration = SignedDuration::from_secs(10);

/// The resolution of status times: a time may be this much earlier than its event.
const STATUS_TIME_GRAIN: SignedDuration = SignedDuration::from_secs(1);

/// The evidence that the VM is gone.
pub(super) enum VmGone {
    Proven,
    /// Declared by an operator, since the cloud could not be queried.
    Declared {
        /// The text for the status.
        message: String,
    },
}

/// Continues when the VM is gone. Reports until then also say how the drain ended.
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

/// Returns the driver that may be called about the VM.
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
    /// Notes the start of the hooks' clock on the Machine, since no object has the end of a drain.
    ///
    /// As long as the delete request waits, the status does not say that the deletion of the VM has begun: hooks may
    /// block it for an hour, and a Node that joins meanwhile, or loses its mark, is drained once more.
    fn hooks_are_done(&self) -> StageFlow {
        let Some(wait) = hooks::wait(self.view, HookPoint::Vm, self.now) else { return Continue(()) };
        let message = wait
            .message("the removal of the VM", self.view.machine.deletion_facts.bad_hook_timeout.as_deref());
        let wake = match (&self.progress.note_hooks, hooks::is_unnoted(self.view)) {
            (None, true) => return act(MachineEffect::NoteHooks),
            (Some(Err(error)), _) => retry_write(error),
            (Some(Ok(())), _) | (None, false) => Requeue::After(wait.left),
        };
        stop(self.reported(finish(
            MachineReason::PreTerminateHooks,
            message,
            (DeletionNote::NodeKnown, OperationState::Processing),
            wake,
        )))
    }

    fn by(&self, driver: &DriverFacts) -> StageFlow<VmGone> {
        match &self.progress.delete_vm {
            None => self.before_request(driver),
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
                self.after_request(driver, last_known_state.as_ref())
            }
            Some(Err(error)) if is_not_found(error) => self.after_request(driver, None),
            Some(Err(error)) => self.refused(error),
        }
    }

    /// Queries the VM before the delete request, if another process may have sent one: while the cloud works on it, it
    /// is not sent again. A VM with a stored id is deleted without a query by a process that has not done so yet: rate
    /// limits of clouds are scarce. After any other result of the query the request is sent: it is idempotent, and its
    /// error counts.
    fn before_request(&self, driver: &DriverFacts) -> StageFlow<VmGone> {
        if !driver.capabilities.status {
            return act(MachineEffect::DeleteVm);
        }
        if let Some(delete_request) = self.delete_request() {
            return self.after_earlier_request(driver, delete_request);
        }
        match &self.progress.probe {
            None if self.needs_no_query() => act(MachineEffect::DeleteVm),
            None => act(MachineEffect::ProbeVm),
            Some(Ok(vm)) if vm.state == VmState::Stopping && self.is_taken_to_stop() => {
                self.terminating(driver, None)
            }
            Some(Ok(_) | Err(_)) => act(MachineEffect::DeleteVm),
        }
    }

    /// Returns whether no query is needed. Without a stored id the request only reaches VMs that reads show, and a
    /// query counts more than an operator's declaration that the VM is gone.
    fn needs_no_query(&self) -> bool {
        let machine = &self.view.machine;
        machine.provider_id.is_some() && !machine.deletion_facts.is_vm_declared_gone && !self.is_under_way()
    }

    /// Returns the delete request that this process has sent. One in the future is of a clock that was set back, and
    /// does not count.
    fn delete_request(&self) -> Option<DeleteRequestFact> {
        self.view
            .machine
            .deletion_facts
            .delete_request
            .filter(|delete_request| delete_request.at <= self.now && delete_request.asked <= self.now)
    }

    /// Queries the VM after an earlier delete request, not before the query is due, whatever wakes the Machine.
    fn after_earlier_request(
        &self,
        driver: &DriverFacts,
        delete_request: DeleteRequestFact,
    ) -> StageFlow<VmGone> {
        let Some(query) = &self.progress.probe else {
            let is_early = elapsed(delete_request.asked, self.now) < self.pause(driver, delete_request.asked);
            return if is_early { self.terminating(driver, None) } else { act(MachineEffect::ProbeVm) };
        };
        let is_new = elapsed(delete_request.at, self.now) < driver.consistency_window.max(REQUEST_TIMEOUT);
        match query {
            Ok(vm) if vm.state == VmState::Stopping && self.is_taken_to_stop() => {
                self.terminating(driver, None)
            }
            // Reads lag behind delete requests as well.
            Ok(_) if is_new => self.terminating(driver, None),
            Err(error) if is_new && error.code() == Code::Uninitialized => self.terminating(driver, None),
            Err(error) if is_not_found(error) && self.may_lag(driver, delete_request.at).is_zero() => {
                Continue(VmGone::Proven)
            }
            Err(error) if is_not_found(error) && !self.may_lag(driver, self.now).is_zero() => {
                self.reads_are_current(driver)
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
        machine.provider_id.is_some() && self.requested_for() < STOPPING_TIMEOUT
    }

    /// The query of this reconcile came before the delete request, so a VM that it found is queried once more in
    /// another reconcile; also when the driver says that there was nothing to delete: one of both is behind.
    fn after_request(&self, driver: &DriverFacts, last_known_state: Option<&String>) -> StageFlow<VmGone> {
        match &self.progress.probe {
            None if driver.capabilities.status => self.terminating(driver, last_known_state),
            None => self.reads_are_current(driver),
            Some(Ok(_)) => self.terminating(driver, last_known_state),
            Some(Err(error)) if is_not_found(error) || error.code() == Code::Unimplemented => {
                self.reads_are_current(driver)
            }
            Some(Err(error)) if error.code() == Code::Uninitialized => {
                self.terminating(driver, last_known_state)
            }
            Some(Err(error)) => self.unseen(error, last_known_state),
        }
    }

    /// A Machine may have a VM that the cloud's reads do not show yet, and that a delete request does not reach. Reads
    /// must show it once the consistency window has passed since the Machine was seen to be deleted, because no create
    /// of it begins after that. A Node that its kubelet has registered that long ago proves that its VM is older than
    /// reads can lag; its mere existence does not, since some VMs boot faster than reads catch up.
    fn reads_are_current(&self, driver: &DriverFacts) -> StageFlow<VmGone> {
        let left = self.may_lag(driver, self.now);
        if left.is_zero() {
            return Continue(VmGone::Proven);
        }
        stop(MachineConclusion {
            status: StatusChange::default(),
            reason: MachineReason::CreationUnresolved,
            message: "no VM is seen: waiting until the cloud's reads must show one that was just created"
                .into(),
            wake: Requeue::After(left),
        })
    }

    /// Returns how long after `at` reads may not show a VM of this Machine.
    fn may_lag(&self, driver: &DriverFacts, at: Timestamp) -> SignedDuration {
        if driver.consistency_window.is_zero() {
            return SignedDuration::ZERO;
        }
        let window = driver.consistency_window.saturating_add(STATUS_TIME_GRAIN);
        // The clock may have been set since the status was written, but not since the request.
        let requested = self.view.machine.deletion_facts.delete_request.map(|request| request.first);
        let going = going_since(&self.view.machine, self.now).max(requested.unwrap_or(Timestamp::MIN));
        let since = [self.lives_since(), Some(going)];
        let left = |since| window.saturating_sub(elapsed(since, at));
        since.into_iter().flatten().map(left).min().unwrap_or(window).max(SignedDuration::ZERO)
    }

    /// Returns the time by which the Machine's VM existed, by its Node. A Node that is older than its Machine may be
    /// left of an earlier one, and others create it before its VM: then only its reports count.
    fn lives_since(&self) -> Option<Timestamp> {
        let machine = &self.view.machine;
        let node = self.view.node().filter(|_| machine.provider_id.is_some())?;
        let registered = node.created.filter(|created| *created >= machine.created);
        [registered, node.ready_since].into_iter().flatten().min()
    }

    fn terminating(&self, driver: &DriverFacts, last_known_state: Option<&String>) -> StageFlow<VmGone> {
        let has_asked = self.progress.delete_vm.is_some() || self.progress.probe.is_some();
        let asked = self
            .delete_request()
            .map(|delete_request| delete_request.asked)
            .filter(|_| !has_asked)
            .unwrap_or(self.now);
        let left = self.pause(driver, asked).saturating_sub(elapsed(asked, self.now));
        let conclusion = finish(
            MachineReason::VmTerminating,
            format!("the cloud is removing {}", vm_name(self.view)),
            (self.drained.note.clone(), OperationState::Processing),
            Requeue::After(left.max(SHORTEST_WAIT)),
        );
        self.wait(self.unless_said(conclusion), last_known_state)
    }

    /// Returns the pause before the next query. No query is worth its request before reads must show every VM.
    fn pause(&self, driver: &DriverFacts, asked: Timestamp) -> SignedDuration {
        let facts = &self.view.machine.deletion_facts;
        let had_hooks = facts.pre_terminate_since.is_some() && facts.pre_terminate_hooks.is_empty();
        let last = if had_hooks { LAST_POLL_AFTER_HOOKS } else { LAST_POLL };
        let waited = match self.delete_request() {
            Some(delete_request) => elapsed(delete_request.first, asked),
            None => self.requested_for(),
        };
        let usual = facts.usual_removal.unwrap_or_default().min(LONGEST_USUAL) / 8 * 7;
        (waited / 4)
            .clamp(FIRST_POLL, last)
            .max(usual.saturating_sub(waited))
            .max(self.may_lag(driver, asked))
    }

    /// Returns how long the VM has been in deletion by the status, without the time of hooks that blocked it up to
    /// their limit.
    fn requested_for(&self) -> SignedDuration {
        let since = self.view.machine.deletion_facts.left_since.filter(|_| self.is_under_way());
        let held = hooks::held_until(self.view, HookPoint::Vm);
        elapsed(since.max(held).unwrap_or(self.now), self.now)
    }

    /// Keeps the text of an earlier reconcile that says how the drain ended and that the VM is being deleted.
    fn unless_said(&self, mut conclusion: MachineConclusion) -> MachineConclusion {
        if self.is_under_way() {
            conclusion.status.operation = None;
        }
        conclusion
    }

    /// Returns whether the status says that the VM is being deleted, without a failure.
    fn is_under_way(&self) -> bool {
        let last = self.view.machine.operation;
        is_past(self.view) && last.is_some_and(|last| last.state == OperationState::Processing)
    }

    /// The delete request is accepted, and the cloud cannot be queried whether it was carried out.
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
        has_code: bool,
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
            operation.code = (has_code && code != Code::Unknown).then_some(code);
        }
        self.wait(conclusion, last_known_state)
    }

    /// Each start of the host loads its drivers: nothing has failed, and the Machine is requeued at its end. An
    /// operator's declaration that the VM is gone does not count meanwhile, since the driver can be called in a moment.
    fn loading(&self, refusal: &Refusal) -> StageFlow<VmGone> {
        let note = DeletionNote::VmDeletionRefused { error: refusal.to_string() };
        let wake = Requeue::Retry { policy: PREREQUISITE, hint: None };
        let reported = (note, OperationState::Processing);
        self.wait(finish(MachineReason::DriverLoading, refusal.to_string(), reported, wake), None)
    }

    /// No driver can be called.
    fn blocked(&self, reason: MachineReason, problem: &str) -> StageFlow<VmGone> {
        if let Some(gone) = self.declared(problem) {
            return Continue(gone);
        }
        let message = format!("{problem}; {}", last_resort(self.view));
        let note = DeletionNote::VmDeletionRefused { error: problem.to_owned() };
        let wake = Requeue::Retry { policy: PREREQUISITE, hint: None };
        self.wait(finish(reason, message, (note, OperationState::Failed), wake), None)
    }

    /// An operator's declaration counts if the cloud cannot be queried, and never against a query that shows the VM.
    fn declared(&self, problem: &str) -> Option<VmGone> {
        let is_seen = match &self.progress.probe {
            Some(Ok(_)) => true,
            Some(Err(error)) => error.code() == Code::Uninitialized,
            None => false,
        };
        let machine = &self.view.machine;
        let is_declared = machine.deletion_facts.is_vm_declared_gone && !is_seen;
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
        stop(self.reported(conclusion))
    }

    fn reported(&self, mut conclusion: MachineConclusion) -> MachineConclusion {
        conclusion.status.conditions.extend(self.drained.condition.clone());
        conclusion
    }
}

/// Returns since when the status says that the Machine is being deleted; without that, the time of the request for
/// deletion.
fn going_since(machine: &MachineFact, now: Timestamp) -> Timestamp {
    machine.phase_since.or(machine.deletion).unwrap_or(now)
}

/// Returns the error, and its likely cause.
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
        "where that cannot be mended and {vm} is gone for certain, annotate this object with machinist.dev/vm-is-gone=true"
    )
}

//! The status of an infrastructure machine by Cluster API's contract, out of the end of a reconcile.
//!
//! `Ready` stays False until the VM is provided: health checks of Cluster API act on changes, and a machine that is
//! being made must not look broken in between. Afterwards only what is known of the VM makes it False; a cloud or a
//! driver that cannot be asked makes it Unknown, so that an outage replaces no machine.

use jiff::{SignedDuration, Timestamp};

use crate::driver::error::{CallError, Code};
use crate::driver::{Address, VmState, is_not_found};
use crate::machine::node::health::ConditionStatus;
use crate::machine::{
    DriverFact, MachineConclusion, MachineConditionKind, MachineProgress, MachineReason, Requeue,
    StatusChange,
};
use crate::scheduling::retry::RetryPolicy;
use crate::scheduling::vm_checks::{UNSEEN_INTERVAL, VM_FOUND};
use crate::value::id::FailureDomain;
use crate::value::words::reasons;

use super::addresses;
use super::facts::{InfraMachineView, ReportedReady};

/// How long a VM that boots is left alone before it is looked at again.
const UNTIL_BOOTED: SignedDuration = SignedDuration::from_secs(5);

/// How long reads may not show a VM whose id is stored before it is looked at again.
const UNTIL_SEEN: SignedDuration = SignedDuration::from_secs(30);

/// The end of a reconcile.
#[derive(Clone, Debug, PartialEq)]
pub struct InfraConclusion {
    /// The change of the status.
    pub status: InfraStatus,
    /// Why `Ready` is as it is.
    pub reason: InfraReason,
    /// The text for people.
    pub message: String,
    pub wake: Requeue,
}

/// The fields of the status that change. `None` leaves a field alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InfraStatus {
    /// The status of condition `Ready`.
    pub ready: Option<ConditionStatus>,
    /// The status of condition `Paused`.
    pub is_paused: bool,
    /// The VM was provided. Never taken back.
    pub is_provisioned: bool,
    /// The addresses of the VM, as core's schema takes them.
    pub addresses: Option<Vec<Address>>,
    /// Where the VM is.
    pub failure_domain: Option<FailureDomain>,
    /// Whether the cloud may take the VM away at any time. Asked once.
    pub interruptible: Option<bool>,
    /// The state to pass to the driver next time.
    pub last_known_state: Option<String>,
}

reasons! {
    /// The reason of `Ready`, stable once released.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum InfraReason {
        /// Its Machine of Cluster API is not known yet.
        WaitingForMachine = Normal "WaitingForMachine",
        /// The Cluster does not exist, or is not named.
        WaitingForCluster = Normal "WaitingForCluster",
        WaitingForClusterInfrastructure = Normal "WaitingForClusterInfrastructureReady",
        WaitingForBootstrapData = Normal "WaitingForBootstrapData",
        /// The credentials do not exist.
        CredentialsMissing = Warning "CredentialsMissing",
        /// The credentials may not be used in this namespace.
        CredentialsRefused = Warning "CredentialsRefused",
        /// The cloud does not accept the credentials.
        CredentialsRejected = Warning "CredentialsRejected",
        /// The driver does not honour a failure domain that is asked for.
        FailureDomainUnsupported = Warning "FailureDomainUnsupported",
        /// The driver does not say which id the VM's Node has.
        NodeIdUnknown = Warning "NodeIdUnknown",
        /// The bootstrap data is not that of an earlier create, which may have made a VM.
        BootstrapDataChanged = Warning "BootstrapDataChanged",
        /// Another object has the same key.
        KeyContested = Warning "KeyContested",
        Paused = Normal "Paused",
        InsufficientCapacity = Warning "InsufficientCapacity",
        /// The cloud or the driver refuses what the spec asks for.
        InvalidSpec = Warning "InvalidSpec",
        /// The cloud shows several VMs of this machine.
        SeveralInstances = Warning "SeveralInstances",
        InstancePending = Normal "InstancePending",
        InstanceRunning = Normal "InstanceRunning",
        InstanceStopped = Warning "InstanceStopped",
        /// The VM was removed by others.
        InstanceDeleted = Warning "InstanceDeleted",
        /// The cloud does not show a VM whose id is stored.
        InstanceNotFound = Warning "InstanceNotFound",
        /// The VM is in another failure domain than asked for.
        InstanceMisplaced = Warning "InstanceMisplaced",
        /// The cloud does not say how a VM in service is.
        InstanceUnknown = Warning "InstanceStateUnknown",
        /// No driver says how a VM in service is.
        DriverUnavailable = Warning "DriverUnavailable",
    }
    and
    /// As for a Machine.
    Machine(MachineReason)
}

impl InfraReason {
    /// Parses the word of a condition or an Event.
    pub fn parse(text: &str) -> Option<Self> {
        Self::all().find(|reason| reason.as_str() == text)
    }

    /// Parses the reason of a VM that is not as it should be. `None` for all others.
    pub fn of_vm(text: &str) -> Option<Self> {
        [Self::InstanceStopped, Self::InstanceDeleted].into_iter().find(|reason| reason.as_str() == text)
    }

    /// Parses the reason of a VM in service whose last look has failed. `None` for all others.
    pub fn of_unseen_vm(text: &str) -> Option<Self> {
        let all = [
            Self::InstanceUnknown,
            Self::DriverUnavailable,
            Self::CredentialsRejected,
            Self::SeveralInstances,
        ];
        all.into_iter().find(|reason| reason.as_str() == text)
    }

    /// The reason of a failed look at a VM in service.
    fn of_look(error: &CallError) -> Self {
        let CallError::Guest(error) = error else { return Self::DriverUnavailable };
        match error.code {
            Code::Unauthenticated | Code::PermissionDenied => Self::CredentialsRejected,
            Code::OutOfRange => Self::SeveralInstances,
            _ => Self::InstanceUnknown,
        }
    }

    /// The reason of a failed call of the driver, by its code.
    fn of_call(reason: MachineReason, code: Option<Code>) -> Self {
        match code {
            Some(Code::ResourceExhausted) => Self::InsufficientCapacity,
            Some(Code::InvalidArgument) => Self::InvalidSpec,
            Some(Code::Unauthenticated | Code::PermissionDenied) => Self::CredentialsRejected,
            Some(Code::OutOfRange) => Self::SeveralInstances,
            _ => Self::Machine(reason),
        }
    }
}

impl InfraConclusion {
    /// Ends a reconcile that waits for a change of another object.
    pub(super) fn waiting(
        view: &InfraMachineView,
        reason: InfraReason,
        message: String,
        wake: Requeue,
    ) -> Self {
        let status = InfraStatus { ready: Some(until_known(view)), ..InfraStatus::default() };
        Self { status, reason, message, wake }
    }

    /// Ends a reconcile in which nothing may be done. `Ready` stays as it was. A machine that has not begun gets one:
    /// tools would take it for done.
    pub(super) fn paused(view: &InfraMachineView, message: String) -> Self {
        let has_begun = view.reported.is_some() || view.machine.machine.provider_id.is_some();
        let ready = (!has_begun).then_some(ConditionStatus::False);
        let status = InfraStatus { is_paused: true, ready, ..InfraStatus::default() };
        Self { status, reason: InfraReason::Paused, message, wake: Requeue::Resync }
    }

    /// Says the end of a Machine's reconcile in the words of the contract.
    pub(super) fn of(
        view: &InfraMachineView,
        progress: &MachineProgress,
        conclusion: MachineConclusion,
        now: Timestamp,
    ) -> Self {
        let MachineConclusion { status: change, reason, message, wake } = conclusion;
        if reason == MachineReason::VmCreated && view.machine.machine.deletion.is_none() {
            return there(view, progress, change, wake, now);
        }
        let code = change.operation.as_ref().and_then(|operation| operation.code);
        let status = InfraStatus { ready: Some(until_known(view)), ..kept(view, change) };
        Self { status, reason: InfraReason::of_call(reason, code), message, wake }
    }
}

/// The status of `Ready` while the state of the VM is not known.
fn until_known(view: &InfraMachineView) -> ConditionStatus {
    if view.is_provisioned && view.machine.machine.deletion.is_none() {
        ConditionStatus::Unknown
    } else {
        ConditionStatus::False
    }
}

/// The parts of a Machine's status that the contract has, too. Addresses only of a VM: a list without any changes
/// nothing.
fn kept(view: &InfraMachineView, change: StatusChange) -> InfraStatus {
    let valid = change.addresses.map(|all| addresses::valid(&all)).filter(|all| !all.is_empty());
    InfraStatus {
        addresses: valid.filter(|all| *all != view.machine.machine.addresses),
        failure_domain: change.failure_domain,
        last_known_state: change.last_known_state,
        ..InfraStatus::default()
    }
}

/// The VM is made. By what is known of its state it is ready, or not yet, or not any more.
fn there(
    view: &InfraMachineView,
    progress: &MachineProgress,
    change: StatusChange,
    wake: Requeue,
    now: Timestamp,
) -> InfraConclusion {
    let id = view.machine.machine.provider_id.as_ref().map_or("the VM".to_owned(), |id| format!("VM {id}"));
    let state = change.vm.as_ref().map(|vm| vm.state);
    let presence =
        change.conditions.iter().find(|condition| condition.kind == MachineConditionKind::VmPresent);
    let presence = presence.filter(|condition| condition.reason != VM_FOUND).cloned();
    let kept = kept(view, change);
    let not_ready = |reason, message, wake| InfraConclusion {
        status: InfraStatus { ready: Some(ConditionStatus::False), ..kept.clone() },
        reason,
        message,
        wake,
    };
    if let Some(presence) = presence {
        return match presence.reason {
            "VmGone" => {
                let message =
                    format!("{id} was removed by others: delete the Machine, and its owner replaces it");
                not_ready(InfraReason::InstanceDeleted, message, wake)
            }
            _ => InfraConclusion {
                status: InfraStatus { ready: Some(until_known(view)), ..kept },
                reason: InfraReason::InstanceNotFound,
                message: presence.message,
                wake,
            },
        };
    }
    if state.is_none()
        && let Some((reason, message)) = unseen(view, progress, &id, now)
    {
        return InfraConclusion {
            status: InfraStatus { ready: Some(ConditionStatus::Unknown), ..kept },
            reason,
            message,
            wake: Requeue::After(UNSEEN_INTERVAL),
        };
    }
    let wake = unless_looked_at(view, now).unwrap_or(wake);
    if state.is_none()
        && let Some((reported, reason)) = last_seen(view)
    {
        let message = reported.message.clone();
        return InfraConclusion {
            status: InfraStatus { ready: Some(reported.status), ..kept },
            reason,
            message,
            wake,
        };
    }
    if let Some(message) = misplaced(view, &id, state, kept.failure_domain.as_ref()) {
        // A cloud may say later where the VM is.
        let again = Requeue::Retry { policy: RetryPolicy::LONG, hint: None };
        return not_ready(InfraReason::InstanceMisplaced, message, again);
    }
    let soon = |pause| if view.is_provisioned { wake } else { Requeue::After(pause) };
    match state {
        Some(VmState::Pending) if !view.is_provisioned => {
            let message = "the VM is made and does not run yet".to_owned();
            not_ready(InfraReason::InstancePending, message, soon(UNTIL_BOOTED))
        }
        Some(VmState::Stopping | VmState::Stopped) => {
            let message =
                format!("{id} is stopped: start it, or delete the Machine, and its owner replaces it");
            not_ready(InfraReason::InstanceStopped, message, soon(UNTIL_SEEN))
        }
        None if !view.is_provisioned && is_missing(progress) => {
            let message = format!(
                "the cloud does not show {id}: if that stays so, delete the Machine, and its owner replaces it"
            );
            not_ready(InfraReason::InstanceNotFound, message, Requeue::After(UNTIL_SEEN))
        }
        Some(VmState::Pending | VmState::Running | VmState::Unknown) | None => InfraConclusion {
            status: InfraStatus {
                ready: Some(ConditionStatus::True),
                is_provisioned: true,
                interruptible: answered_interruptible(progress),
                ..kept
            },
            reason: InfraReason::InstanceRunning,
            message: "the VM runs".to_owned(),
            wake,
        },
    }
}

/// Returns whether the cloud may take the VM away at any time, if the driver has answered in this reconcile.
fn answered_interruptible(progress: &MachineProgress) -> Option<bool> {
    progress.interruption.as_ref().and_then(|answer| answer.as_ref().ok()).copied()
}

/// Returns the problem of a VM that is not where it was asked for. Owners count on failure domains, so such a VM is
/// never provided. A VM that is being made may not have its place yet.
fn misplaced(
    view: &InfraMachineView,
    id: &str,
    state: Option<VmState>,
    found: Option<&FailureDomain>,
) -> Option<String> {
    let wanted = view.failure_domain.as_ref().filter(|_| !view.is_provisioned)?;
    let is = match (state?, found) {
        (VmState::Pending, None) => return None,
        (_, Some(found)) if found == wanted => return None,
        (_, Some(found)) => format!("is in failure domain {found}"),
        (_, None) => "has no failure domain".to_owned(),
    };
    Some(format!(
        "{id} {is}, and the Machine asks for {wanted}: delete the Machine, and its owner replaces it. The driver breaks the \
         promise of its interface placement: report it to its author"
    ))
}

/// Returns why nobody knows how a VM in service is: a look has failed, or is due and there is no driver for it.
fn unseen(
    view: &InfraMachineView,
    progress: &MachineProgress,
    id: &str,
    now: Timestamp,
) -> Option<(InfraReason, String)> {
    if !view.is_provisioned {
        return None;
    }
    match &progress.probe {
        Some(Err(error)) if !is_not_found(error) && error.code() != Code::Uninitialized => {
            Some((InfraReason::of_look(error), format!("nobody knows how {id} is: {error}")))
        }
        Some(Ok(_) | Err(_)) => None,
        None => {
            let is_due = unless_looked_at(view, now)? == Requeue::After(SignedDuration::ZERO);
            let problem = match &view.machine.driver {
                DriverFact::Refused(refusal) => refusal.to_string(),
                DriverFact::Ready(_) | DriverFact::NotChosen | DriverFact::Substitute { .. } => {
                    "no driver serves it".to_owned()
                }
            };
            is_due.then(|| (InfraReason::DriverUnavailable, format!("nobody knows how {id} is: {problem}")))
        }
    }
}

/// Returns when a look at a VM in service is due for which there is no driver. With one, the look itself sets the time.
fn unless_looked_at(view: &InfraMachineView, now: Timestamp) -> Option<Requeue> {
    let has_driver = matches!(view.machine.driver, DriverFact::Ready(_));
    let check = view.machine.vm_check.as_ref().filter(|_| view.is_provisioned && !has_driver)?;
    Some(Requeue::After(check.next.duration_since(now).max(SignedDuration::ZERO)))
}

fn is_missing(progress: &MachineProgress) -> bool {
    matches!(&progress.probe, Some(Err(error)) if is_not_found(error))
}

/// Returns what an earlier reconcile has said about a VM that is not as it should be: it counts until the VM is looked
/// at again.
fn last_seen(view: &InfraMachineView) -> Option<(&ReportedReady, InfraReason)> {
    let reported = view.reported.as_ref().filter(|_| view.is_provisioned)?;
    Some((reported, reported.reason?))
}

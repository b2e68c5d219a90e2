//! The end of one VM without a Machine.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use machinist_api::{MachineClass, names};
use machinist_core::driver::error::CallError;
use machinist_core::driver::{Deletion, MachineIdentity, MachineRequest, is_not_found};
use machinist_core::machine::Severity;
use machinist_core::safety::orphans::OrphanCandidate;
use machinist_core::scheduling::gate::{EffectKind, permits};
use machinist_core::scheduling::retry::{RetryPolicy, Situation, policy};
use machinist_core::value::id::{Name, Namespace, ObjectKey, Uid};
use tracing::{info, warn};

use crate::events::About;

use super::SafetyWatch;
use super::listing::{ClassAccess, ListError, class_access};

/// The result of a deletion request.
pub(super) enum DeletionResult {
    /// The cloud takes the VM away, or it is gone.
    Accepted,
    /// The cloud works on it.
    InProgress {
        /// For the next call.
        state: String,
        /// When to call again.
        ask_again: SignedDuration,
    },
    /// To be tried again.
    Failed {
        /// For the next call.
        state: Option<String>,
        pause: SignedDuration,
    },
    /// Leadership or the gate forbids it: nothing was done.
    Forbidden,
}

/// Deletes the VM, with an Event on the class and a line in the audit log. Assumes that the API server has just listed
/// the Machines.
pub(super) async fn delete_vm(
    watch: &SafetyWatch,
    class: &MachineClass,
    candidate: &OrphanCandidate,
) -> DeletionResult {
    let class_access = match class_access(&watch.tenant, class) {
        Ok(class_access) => class_access,
        Err(ListError::NotOffered) => return DeletionResult::Forbidden,
        Err(ListError::Failed { retry_after, .. }) => {
            let pause = pause(watch, RetryPolicy::LONG, candidate, retry_after);
            return DeletionResult::Failed { state: None, pause };
        }
    };
    let gate_state = *watch.context.gate_state.borrow();
    if !*watch.context.leads.borrow() || !permits(gate_state.gate, EffectKind::OrphanDelete) {
        return DeletionResult::Forbidden;
    }
    audit(candidate, "ordered");
    let mut request = request(watch, class_access, candidate);
    let answer = match &candidate.beside {
        None => watch.tenant.drivers.delete(request).await,
        Some((machine, kept)) => {
            request.machine.name = machine.clone();
            request.machine.provider_id = Some(kept.clone());
            let vm = candidate.vm.provider_id.clone();
            let done = watch.tenant.drivers.delete_by_id(request, vm).await;
            done.map(|()| Deletion::Deleted { last_known_state: None })
        }
    };
    let result = match answer {
        Ok(Deletion::Deleted { .. }) => DeletionResult::Accepted,
        Ok(Deletion::InProgress(progress)) => {
            DeletionResult::InProgress { state: progress.resume_token, ask_again: progress.ask_again }
        }
        Err(error) if is_not_found(&error) => DeletionResult::Accepted,
        Err(error) => {
            warn!(class = %candidate.class, provider_id = %candidate.vm.provider_id, error = %error, "VM without a Machine not deleted");
            watch.metrics.safety.orphan_deletion_failed();
            let message = format!("failed to delete VM {}: {error}; it is tried again", describe(candidate));
            report_on_class(watch, class, "OrphanVmDeletionFailed", &message, Severity::Warning);
            failed(watch, candidate, &error)
        }
    };
    if matches!(result, DeletionResult::Accepted) {
        audit(candidate, "accepted");
        if !candidate.is_repeated {
            watch.metrics.safety.orphan_deleted();
        }
        let (sightings, since) = (candidate.sightings, candidate.since);
        let since = since.round(jiff::Unit::Second).unwrap_or(since);
        let (reason, why) = match &candidate.beside {
            None => ("OrphanVmDeleted", "without a Machine".to_owned()),
            Some((machine, kept)) => {
                ("SecondVmDeleted", format!("beside {kept}, which Machine {machine} keeps"))
            }
        };
        let message = format!(
            "deleted VM {}: {sightings} listings since {since} have shown it {why}",
            describe(candidate)
        );
        report_on_class(watch, class, reason, &message, Severity::Normal);
    }
    result
}

/// Records deletions of VMs without a Machine, apart from the log.
fn audit(candidate: &OrphanCandidate, outcome: &'static str) {
    info!(
        target: "audit",
        action = "delete-vm-without-machine",
        outcome,
        provider_id = %candidate.vm.provider_id,
        class = %candidate.class,
        machine_name = %candidate.vm.machine_name,
        machine_uid = candidate.vm.machine_uid.as_ref().map(Uid::as_str),
        sightings = candidate.sightings,
        since = %candidate.since,
        failures = candidate.failures,
        "VM without a Machine"
    );
}

fn describe(candidate: &OrphanCandidate) -> String {
    let vm = &candidate.vm;
    if vm.machine_name.is_empty() {
        return vm.provider_id.to_string();
    }
    format!("{} of Machine {}", vm.provider_id, vm.machine_name)
}

/// The Machine that it once had, as far as the VM says.
fn request(watch: &SafetyWatch, class_access: ClassAccess, candidate: &OrphanCandidate) -> MachineRequest {
    let vm = &candidate.vm;
    let uid = vm.machine_uid.clone().unwrap_or_else(|| Uid::new(""));
    MachineRequest {
        machine: MachineIdentity {
            namespace: Namespace::new(&watch.namespace),
            name: Name::clone(&vm.machine_name),
            uid: uid.clone(),
            labels: BTreeMap::new(),
            annotations: BTreeMap::new(),
            provider_id: Some(vm.provider_id.clone()),
            node_template: None,
            last_known_state: candidate.state.clone(),
        },
        secrets: class_access.secrets(),
        class: class_access.class,
        idempotency_key: if uid.is_empty() { vm.provider_id.to_string() } else { uid.to_string() },
        cluster: watch.tenant.settings.cluster.clone(),
    }
}

fn failed(watch: &SafetyWatch, candidate: &OrphanCandidate, error: &CallError) -> DeletionResult {
    let (policy, state, hint) = match error {
        CallError::Guest(error) => {
            let exhausted = watch.tenant.settings.resource_exhausted_retry;
            let policy = policy(Situation::Delete, error.code, exhausted);
            (policy, error.last_known_state.clone(), error.retry_after)
        }
        CallError::Broken(_) | CallError::Refused(_) => (RetryPolicy::LONG, None, None),
    };
    DeletionResult::Failed { state, pause: pause(watch, policy, candidate, hint) }
}

fn pause(
    watch: &SafetyWatch,
    policy: RetryPolicy,
    candidate: &OrphanCandidate,
    hint: Option<SignedDuration>,
) -> SignedDuration {
    let hint = hint.unwrap_or_default().min(machinist_core::scheduling::retry::MAX_RETRY_AFTER);
    policy.delay(candidate.failures.saturating_add(1), watch.context.jitter()).max(hint)
}

/// Reports on the class, since there is no Machine.
pub(super) fn report_on_class(
    watch: &SafetyWatch,
    class: &MachineClass,
    reason: &str,
    message: &str,
    severity: Severity,
) {
    let about = About::of(names::CLASS_KIND, &class.metadata);
    watch.events.write(about, reason.to_owned(), message, severity, watch.context.clock.now());
}

/// On the Machine that it concerns, as long as that is there.
pub(super) fn report_on_machine(watch: &SafetyWatch, name: &Name, reason: &str, message: &str) {
    let Some(machine) = watch.tenant.machines.get(&ObjectKey::new(watch.namespace.as_str(), name.as_str()))
    else {
        return;
    };
    let about = About::of("Machine", &machine.metadata);
    let now = watch.context.clock.now();
    watch.events.write(about, reason.to_owned(), message, Severity::Warning, now);
}

//! One reconcile of a MachinistRemediation.

use jiff::Timestamp;
use kube::Api;
use kube::api::Patch;
use machinist_api::infrastructure::MachinistRemediation;
use machinist_api::infrastructure::remediation::REMEDIATED;
use machinist_core::driver::DriverResult;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::write_error::ActError;
use machinist_core::infra_machine::remediation::{
    RebootsDone, RemediationConclusion, RemediationEffect, RemediationProgress, RemediationReason,
    RemediationStep, step,
};
use machinist_core::machine::{Requeue, retry_write};
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::{FailureDomain, ObjectKey};
use serde_json::{Map, Value, json};
use tracing::{debug, info};

use crate::client::writes::{WriteOutcome, patch_status};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::infra_machine::observe::{ObservedInfraMachine, observe};
use crate::controllers::facts::infra_machine::related::RelatedObjects;
use crate::controllers::facts::infra_remediation::{ObservedRemediation, RemediationObjects};
use crate::controllers::facts::machine::observe::RetryFacts;
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::infra_machine::{request, secrets};
use crate::controllers::objects::conditions;
use crate::controllers::state::TenantState;
use crate::events::{About, Event};
use crate::message::Report;

use super::owner_request;

/// `contested_by`: other objects with the key of the VM.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    contested_by: Vec<ObjectKey>,
) -> Report {
    let Some((objects, related)) = RemediationObjects::of(tenant, key) else {
        return Report::only(Requeue::Gone);
    };
    let machine = match related {
        Some(related) => match machine(tenant, context, related, contested_by).await {
            Ok(machine) => Some(machine),
            Err(error) => {
                debug!(error = %error, "a Secret cannot be read");
                return Report::only(retry_write(&error));
            }
        },
        None => None,
    };
    let observed = objects.observe(tenant, machine);
    let progress = RemediationProgress::default();
    frame::run(context, RemediationReconcile { tenant, context, observed, progress }).await
}

/// The facts of the MachinistMachine, as its own reconcile has them.
async fn machine(
    tenant: &TenantState,
    context: &Context,
    related: RelatedObjects,
    contested_by: Vec<ObjectKey>,
) -> Result<ObservedInfraMachine, ActError> {
    let read = secrets::read(tenant, context, &related).await?;
    let gate_state = *context.gate_state.borrow();
    let unretried = RetryFacts { failures: 0, account_answers: false };
    let now = context.clock.now();
    Ok(observe(tenant, related, read, &gate_state, (unretried, contested_by), now))
}

struct RemediationReconcile<'a> {
    tenant: &'a TenantState,
    context: &'a Context,
    observed: ObservedRemediation,
    progress: RemediationProgress,
}

/// The outcome of an effect.
enum RemediationOutcome {
    Written(WriteOutcome),
    Placed(DriverResult<String>),
    Called(DriverResult<()>),
}

reconciled_kind!(MachinistRemediation, Kind::InfraRemediation, RemediationConclusion, |_| {
    EffectKind::StatusWrite
});

impl Reconcile for RemediationReconcile<'_> {
    type Object = MachinistRemediation;
    type Effect = RemediationEffect;
    type Outcome = RemediationOutcome;
    type Conclusion = RemediationConclusion;

    const BATCHES: usize = 5;

    fn object(&self) -> &MachinistRemediation {
        &self.observed.remediation
    }

    fn step(&self) -> RemediationStep {
        step(&self.observed.view, &self.progress, self.context.clock.now())
    }

    fn effect_name(effect: &RemediationEffect) -> &'static str {
        match effect {
            RemediationEffect::PlaceVm { .. } => "place-vm",
            RemediationEffect::NoteReboot(_) => "note-reboot",
            RemediationEffect::RebootVm => "reboot-vm",
            RemediationEffect::AskOwner { .. } => "ask-owner",
        }
    }

    /// A reboot is noted only where it may follow.
    fn effect_kind(&self, effect: &RemediationEffect) -> EffectKind {
        match effect {
            RemediationEffect::PlaceVm { .. } => EffectKind::CloudRead,
            RemediationEffect::NoteReboot(_) | RemediationEffect::RebootVm => EffectKind::Reboot,
            RemediationEffect::AskOwner { .. } => EffectKind::FailMachine,
        }
    }

    async fn perform(&self, effect: &RemediationEffect, _so_far: &Report) -> RemediationOutcome {
        match effect {
            RemediationEffect::PlaceVm { failure_domain } => {
                RemediationOutcome::Placed(self.place(failure_domain).await)
            }
            RemediationEffect::NoteReboot(done) => RemediationOutcome::Written(self.note(*done).await),
            RemediationEffect::RebootVm => RemediationOutcome::Called(self.reboot().await),
            RemediationEffect::AskOwner { message } => {
                let Some(owner) = &self.observed.owner else {
                    return RemediationOutcome::Written(Err(ActError::Gone));
                };
                let (client, now) = (&self.context.control, self.context.clock.now());
                let name = owner.metadata.name.as_deref().unwrap_or_default();
                let key = ObjectKey::new(self.namespace(), name);
                let uid = owner.metadata.uid.as_deref().unwrap_or_default();
                RemediationOutcome::Written(owner_request::ask(client, (&key, uid), message, now).await)
            }
        }
    }

    fn refused(&self, effect: &RemediationEffect, reason: &'static str) -> RemediationOutcome {
        match effect {
            RemediationEffect::PlaceVm { .. } => {
                RemediationOutcome::Placed(Err(CallError::Refused(Refusal::ShuttingDown)))
            }
            RemediationEffect::RebootVm => {
                RemediationOutcome::Called(Err(CallError::Refused(Refusal::ShuttingDown)))
            }
            RemediationEffect::NoteReboot(_) | RemediationEffect::AskOwner { .. } => {
                RemediationOutcome::Written(Err(ActError::Forbidden { reason }))
            }
        }
    }

    fn learn(&mut self, effect: RemediationEffect, outcome: RemediationOutcome, report: &mut Report) {
        match (effect, outcome) {
            (RemediationEffect::PlaceVm { .. }, RemediationOutcome::Placed(placed)) => {
                self.progress.placed = Some(placed);
            }
            (RemediationEffect::NoteReboot(done), RemediationOutcome::Written(wrote)) => {
                let wrote = wrote.map(|wrote| report.wrote.extend(wrote));
                self.progress.noted = Some((done, wrote));
            }
            (RemediationEffect::AskOwner { message }, RemediationOutcome::Written(wrote)) => {
                self.progress.asked = Some((message, wrote.map(|_| ())));
            }
            (RemediationEffect::RebootVm, RemediationOutcome::Called(answer)) => {
                self.progress.reboot = Some(answer);
            }
            (
                RemediationEffect::PlaceVm { .. }
                | RemediationEffect::NoteReboot(_)
                | RemediationEffect::AskOwner { .. }
                | RemediationEffect::RebootVm,
                _,
            ) => {}
        }
    }

    fn status(&self, conclusion: &RemediationConclusion, now: Timestamp) -> Option<Map<String, Value>> {
        let remediation = &self.observed.remediation;
        // A MachineHealthCheck makes the remediation just before it says why on the Machine.
        if conclusion.reason == RemediationReason::Healthy && remediation.status.is_none() {
            return None;
        }
        let old = remediation.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let text = (conclusion.reason.as_str(), conclusion.message.as_str());
        let kind = (REMEDIATED, conclusion.reason.status().as_str());
        let new = [conditions::condition(old, kind, text, remediation.metadata.generation, now)];
        let repeats = matches!(conclusion.wake, Requeue::Retry { .. });
        let mut patch = Map::new();
        if !conditions::is_reported(old, &new[0], repeats) {
            patch.insert("conditions".to_owned(), json!(conditions::merged(old, &new)));
        }
        let may_be_written =
            |wrote: &Result<(), ActError>| matches!(wrote, Ok(()) | Err(ActError::Ambiguous { .. }));
        let noted = self.progress.noted.as_ref().filter(|(_, wrote)| may_be_written(wrote));
        let noted = noted.map_or(self.observed.view.done, |(done, _)| *done);
        if noted != conclusion.done {
            patch.extend(reboots(conclusion.done));
        }
        (!patch.is_empty()).then_some(patch)
    }

    fn events(&self, conclusion: &RemediationConclusion) -> Vec<Event> {
        let remediation = &self.observed.remediation;
        let old = remediation.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let reason = conclusion.reason.as_str();
        let repeats = matches!(conclusion.wake, Requeue::Retry { .. });
        let is_known = old.iter().any(|old| {
            old.reason == reason && conditions::is_same_text(&old.message, &conclusion.message, repeats)
        });
        let about = About::of_infrastructure("MachinistRemediation", &remediation.metadata);
        let event = Event::normal(about, "state", reason, conclusion.message.clone());
        let is_implied = matches!(conclusion.reason, RemediationReason::Healthy | RemediationReason::Ended);
        let severity = conclusion.reason.severity();
        vec![Event { severity, repeats, is_known, is_implied, ..event }]
    }
}

impl RemediationReconcile<'_> {
    fn namespace(&self) -> &str {
        self.observed.remediation.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// In the version that was seen: two hosts never request the same reboot.
    async fn note(&self, done: RebootsDone) -> WriteOutcome {
        let meta = &self.observed.remediation.metadata;
        let api: Api<MachinistRemediation> = Api::namespaced(self.context.control.clone(), self.namespace());
        let patch = json!({
            "metadata": { "uid": meta.uid, "resourceVersion": meta.resource_version },
            "status": reboots(done),
        });
        let name = meta.name.as_deref().unwrap_or_default();
        patch_status(&api, Kind::InfraRemediation, name, Patch::Merge(patch)).await
    }

    async fn place(&self, failure_domain: &FailureDomain) -> DriverResult<String> {
        let Some(machine) = &self.observed.machine else {
            return Err(CallError::Refused(Refusal::ShuttingDown));
        };
        let asked = request::without_secrets(machine, None);
        self.tenant.drivers.place(asked, failure_domain.clone()).await
    }

    async fn reboot(&self) -> DriverResult<()> {
        let Some(machine) = &self.observed.machine else {
            return Err(CallError::Refused(Refusal::ShuttingDown));
        };
        let placed = self.progress.placed.as_ref().and_then(|placed| placed.as_deref().ok());
        let answer = self.tenant.drivers.reboot(request::request(machine, None, placed, false)).await;
        if answer.is_ok() {
            info!(provider_id = ?machine.view.machine.machine.provider_id, "VM rebooted");
        }
        answer
    }
}

fn reboots(done: RebootsDone) -> Map<String, Value> {
    let last = done.last.map(machinist_api::value::time);
    Map::from_iter([("retryCount".to_owned(), json!(done.count)), ("lastRemediated".to_owned(), json!(last))])
}

//! The plan of a reconcile: effects in batches, and the reason to wait.

use jiff::{SignedDuration, Timestamp};

use crate::disruption::requests::DisruptionRequests;
use crate::machine::Requeue;
use crate::scheduling::gate::{EffectKind, Gate, permits};
use crate::value::id::Name;

use super::conclusion::{DeploymentEvent, DeploymentEventKind, DeploymentReason};
use super::deletion;
use super::effect::{DeploymentChange, DeploymentEffect};
use super::facts::DeploymentView;
use super::rollout;
use super::rollout::rollback::{self, Rollback};
use super::sets::adoption;
use super::sets::freeze;
use super::sets::group::SetGroup;
use super::sets::revision;
use super::status::waits;
use super::trigger::{self, Trigger};
use super::validity::{InvalidSpec, ValidSpec, unusual_settings, validity};

/// How many Machines are marked or labelled in one reconcile.
const MACHINES_PER_PASS: usize = 200;

/// The requeue of a frozen deployment. A thaw requeues all; the timer is for a missed one.
const HELD: SignedDuration = SignedDuration::from_mins(1);

/// Effects that can be done at the same time.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub effects: Vec<DeploymentEffect>,
    /// Later batches rely on it.
    pub is_vital: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The batches, one after the other.
    pub batches: Vec<Batch>,
    /// The reason for the deployment's state.
    pub reason: DeploymentReason,
    pub message: String,
    /// Events to write if all effects succeed.
    pub notes: Vec<DeploymentEvent>,
    /// The requeue if nothing was to do.
    pub wake: Requeue,
    /// The valid spec, if it can be applied.
    pub valid: Option<ValidSpec>,
    /// This reconcile applies the spec, and not only something that must come first.
    pub has_acted: bool,
    /// The progress deadline applies to this wait.
    pub can_be_late: bool,
    /// The rollout is paused, or waits for its window.
    pub is_held: bool,
}

impl Plan {
    pub(super) fn waiting(reason: DeploymentReason, message: impl Into<String>) -> Self {
        Self {
            batches: Vec::new(),
            reason,
            message: message.into(),
            notes: Vec::new(),
            wake: Requeue::Resync,
            valid: None,
            has_acted: true,
            can_be_late: false,
            is_held: false,
        }
    }

    pub(super) fn then(mut self, effects: Vec<DeploymentEffect>, is_vital: bool) -> Self {
        if !effects.is_empty() {
            self.batches.push(Batch { effects, is_vital });
        }
        self
    }

    /// Returns a plan that must be done and seen before the spec is applied.
    fn first(message: &str, mut effects: Vec<DeploymentEffect>) -> Self {
        effects.truncate(MACHINES_PER_PASS);
        let mut plan = Self::waiting(DeploymentReason::UnderWay, message).then(effects, true);
        plan.has_acted = false;
        plan
    }

    fn after(mut self, change: DeploymentChange) -> Self {
        if !change.is_empty() {
            let effects = vec![DeploymentEffect::WriteDeployment(change)];
            self.batches.insert(0, Batch { effects, is_vital: true });
        }
        self
    }
}

pub(super) fn plan(view: &DeploymentView, now: Timestamp) -> Plan {
    if view.deployment.deletion.is_some() {
        return deletion::plan(view);
    }
    if !view.unreadable_sets.is_empty() {
        let mut plan = Plan::waiting(DeploymentReason::UnreadableSet, unreadable(view));
        plan.has_acted = false;
        return plan;
    }
    let mut change = DeploymentChange {
        finalizer: (!view.deployment.has_finalizer).then_some(true),
        ..DeploymentChange::default()
    };
    freeze::follow(view, &mut change);
    let valid = match validity(view) {
        Ok(valid) => valid,
        Err(refusal) => return refused(&refusal).after(change),
    };
    if let Gate::Frozen { reason, .. } = view.gate
        && !permits(view.gate, EffectKind::SetDelete)
    {
        let mut plan =
            Plan::waiting(DeploymentReason::Frozen, format!("the deployment is held: {}", reason.sentence()));
        plan.wake = Requeue::After(HELD);
        plan.has_acted = false;
        plan.valid = Some(valid);
        return plan.after(change);
    }
    let trigger = trigger::read(view, now);
    if let Some(list) = &trigger.annotation {
        change.annotations.insert(view.names.trigger_deletion.to_owned(), list.clone());
    }
    let mut plan = ordered(view, valid, &trigger, &mut change, now).after(change);
    plan.valid = Some(valid);
    plan.notes.extend(ignored(&trigger));
    if let Some(left) = trigger.retry_after {
        plan.wake = super::step::sooner(plan.wake, Requeue::After(left));
    }
    let unusual_settings = unusual_settings(view, valid);
    if !unusual_settings.is_empty() {
        plan.message = format!("{} ({})", plan.message, unusual_settings.join("; "));
        let requests = DisruptionRequests::read(&view.deployment.annotations, view.names.disruption);
        let has_problems = !requests.problems.is_empty() || !view.deployment.spec.problems.is_empty();
        if plan.reason == DeploymentReason::Complete && has_problems {
            plan.reason = DeploymentReason::InvalidOption;
        }
    }
    plan
}

/// Plans the steps before the rollout: adoption of sets, labels that distinguish their Machines, marks of the
/// autoscaler, and a rollback. The cache must show each before the next.
fn ordered(
    view: &DeploymentView,
    valid: ValidSpec,
    trigger: &Trigger,
    change: &mut DeploymentChange,
    now: Timestamp,
) -> Plan {
    let claims = adoption::claims(view);
    if !claims.is_empty() {
        return Plan::first("sets are being adopted or released", claims);
    }
    let labels = adoption::label_by_hash(view);
    if !labels.is_empty() {
        return Plan::first("an adopted set and its Machines get the label of their template's hash", labels);
    }
    if !trigger.marks.is_empty() {
        return Plan::first(
            "Machines that the autoscaler wants to go are being marked",
            trigger.marks.clone(),
        );
    }
    let group = SetGroup::of(view, now);
    if !trigger.unseen.is_empty() && group.wanted() > valid.desired {
        let names: Vec<&str> = trigger.unseen.iter().map(Name::as_str).collect();
        let message = format!(
            "no set shrinks before Machines are seen that the autoscaler wants to go, for up to a minute: {}",
            waits::listed(&names)
        );
        return Plan::first(&message, Vec::new());
    }
    let spec = &view.deployment.spec;
    if let Some(requested) = spec.rollback_to.filter(|_| !spec.is_paused) {
        return rolled_back(rollback::decide(view, &group, requested), change);
    }
    let revision = revision::current(view, &group).to_string();
    if !spec.is_paused && view.deployment.annotations.get(view.names.revision) != Some(&revision) {
        change.annotations.insert(view.names.revision.to_owned(), Some(revision));
    }
    rollout::plan(view, &group, valid, change, now)
}

/// Returns the text about undecodable sets. Their numbers are unknown, so that no other set is scaled.
pub(super) fn unreadable(view: &DeploymentView) -> String {
    let names: Vec<&str> = view.unreadable_sets.iter().map(Name::as_str).collect();
    format!(
        "MachineSet {} cannot be decoded: correct or delete it; until then nothing is done",
        waits::listed(&names)
    )
}

fn refused(refusal: &InvalidSpec) -> Plan {
    match refusal {
        InvalidSpec::SelectsEverything => Plan::waiting(
            DeploymentReason::SelectingAll,
            "spec.selector is empty and would select all Machines: set it to labels of spec.template; until then nothing is done",
        ),
        InvalidSpec::Invalid(problems) => Plan::waiting(
            DeploymentReason::InvalidDeployment,
            format!("{problems}; until then nothing is done"),
        ),
    }
}

fn rolled_back(rollback: Rollback, change: &mut DeploymentChange) -> Plan {
    let (written, kind, message) = match rollback {
        Rollback::To { change, revision } => {
            (change, DeploymentEventKind::Rollback, format!("Rolled back to revision {revision}"))
        }
        Rollback::Unchanged { change, revision } => (
            change,
            DeploymentEventKind::RollbackTemplateUnchanged,
            format!("nothing to roll back: the template is that of revision {revision} already"),
        ),
        Rollback::NotFound { change, because } => {
            (change, DeploymentEventKind::RollbackRevisionNotFound, format!("cannot roll back: {because}"))
        }
    };
    change.annotations.extend(written.annotations);
    change.rollback = written.rollback;
    let mut plan = Plan::first("an earlier template is being put in place", Vec::new());
    plan.notes.push(DeploymentEvent { kind, message });
    plan
}

fn ignored(trigger: &Trigger) -> Option<DeploymentEvent> {
    let message = format!(
        "the autoscaler's list of Machines that are to go has entries that are ignored: {}",
        trigger.dropped.join("; ")
    );
    (!trigger.dropped.is_empty())
        .then_some(DeploymentEvent { kind: DeploymentEventKind::TriggerIgnored, message })
}

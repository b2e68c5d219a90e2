//! One reconcile of a deployment: facts, steps of the core, writes to sets, Machines and Nodes, the status.

use jiff::Timestamp;
use machinist_api::MachineDeployment;
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Requeue;
use machinist_core::machine_deployment::{
    DeploymentConclusion, DeploymentEffect, DeploymentProgress, DeploymentStep, invariants, step,
};
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::ObjectKey;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::state::TenantState;
use crate::events::Event;
use crate::message::Report;

use super::act::{self, DeploymentEffectResult};
use super::{events, status_patch};
use crate::controllers::facts::machine_deployment::OwnerTree;
use crate::controllers::facts::machine_deployment::observe::{ObservedDeployment, observe};

pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    owner_tree: &OwnerTree,
) -> Report {
    let gate = context.gate_state.borrow().gate;
    let Some(observed) = observe(tenant, gate, key, owner_tree) else { return Report::only(Requeue::Gone) };
    let (progress, now) = (DeploymentProgress::default(), context.clock.now());
    frame::run(context, DeploymentReconcile { tenant, context, observed, progress, now }).await
}

struct DeploymentReconcile<'a> {
    tenant: &'a TenantState,
    context: &'a Context,
    observed: ObservedDeployment,
    progress: DeploymentProgress,
    /// One time for the whole reconcile: its plan must not change between its batches.
    now: Timestamp,
}

reconciled_kind!(MachineDeployment, Kind::Deployment, own_deployment_status, DeploymentConclusion, |_| {
    EffectKind::StatusWrite
});

impl Reconcile for DeploymentReconcile<'_> {
    type Object = MachineDeployment;
    type Effect = DeploymentEffect;
    type Outcome = DeploymentEffectResult;
    type Conclusion = DeploymentConclusion;

    /// A reconcile plans once, and carries the plan out in a handful of batches.
    const BATCHES: usize = 16;

    fn object(&self) -> &MachineDeployment {
        &self.observed.deployment
    }

    fn step(&self) -> DeploymentStep {
        let Self { observed, progress, now, .. } = self;
        let step = step(&observed.view, progress, *now);
        let is_kept = || match &step {
            DeploymentStep::Act(effects) => invariants::batch(&observed.view, progress, effects, *now),
            DeploymentStep::Finish(conclusion) => {
                invariants::conclusion(&observed.view, progress, conclusion)
            }
        };
        debug_assert_eq!(is_kept(), Ok(()), "{}: {step:?}", observed.view.deployment.key);
        step
    }

    fn effect_name(effect: &DeploymentEffect) -> &'static str {
        effect.name()
    }

    fn effect_kind(&self, effect: &DeploymentEffect) -> EffectKind {
        effect.kind()
    }

    async fn perform(&self, effect: &DeploymentEffect, _so_far: &Report) -> DeploymentEffectResult {
        act::perform(self.tenant, self.context, &self.observed, effect).await
    }

    fn refused(&self, _effect: &DeploymentEffect, reason: &'static str) -> DeploymentEffectResult {
        Err(ActError::Forbidden { reason })
    }

    fn learn(&mut self, effect: DeploymentEffect, outcome: DeploymentEffectResult, report: &mut Report) {
        report.is_unclear |= is_unclear(&effect, outcome.as_ref().err());
        let outcome = outcome.map(|(done, wrote)| {
            if let (DeploymentEffect::WriteSet { set, .. }, Some((Kind::Set, version))) = (&effect, &wrote) {
                let namespace = self.observed.view.deployment.key.namespace.as_str();
                report.wrote_sets.push((ObjectKey::new(namespace, set.name.as_str()), version.clone()));
            }
            report.wrote.extend(wrote);
            done
        });
        self.progress.record(effect, outcome);
    }

    fn status(&self, conclusion: &DeploymentConclusion, now: Timestamp) -> Option<Map<String, Value>> {
        status_patch::of(&self.observed, conclusion, now)
    }

    fn events(&self, conclusion: &DeploymentConclusion) -> Vec<Event> {
        events::of_conclusion(&self.observed, conclusion)
    }
}

/// A set that may still be created: nothing is decided about its deployment before that cannot happen any more.
fn is_unclear(effect: &DeploymentEffect, error: Option<&ActError>) -> bool {
    matches!((effect, error), (DeploymentEffect::CreateSet(_), Some(ActError::Ambiguous { .. })))
}

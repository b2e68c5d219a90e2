//! One reconcile of a set: facts, steps of the core, writes to Machines and the set, the status.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use machinist_api::{Machine, MachineSet};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::Requeue;
use machinist_core::machine_set::{
    Freshness, SetConclusion, SetEffect, SetProgress, SetStep, invariants, step,
};
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::{ObjectKey, Uid};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::state::TenantState;
use crate::events::Event;
use crate::message::Report;

use super::act::{self, SetEffectContext, SetEffectResult};
use super::events::{self, Actions};
use super::status_patch;
use crate::controllers::facts::machine_set::Members;
use crate::controllers::facts::machine_set::observe::{ObservedSet, observe};

/// Reconciles a set. `members` are the Machines that it may control.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    members: &Members,
    freshness: Freshness,
) -> Report {
    let gate = context.gate_state.borrow().gate;
    let Some(observed) = observe(tenant, gate, key, members, freshness) else {
        return Report::only(Requeue::Gone);
    };
    let reconcile = SetReconcile {
        tenant,
        context,
        progress: SetProgress::default(),
        now: context.clock.now(),
        set: observed.set.metadata.clone(),
        machines: observed.machines.clone(),
        actions: Actions::default(),
        observed,
    };
    frame::run(context, reconcile).await
}

struct SetReconcile<'a> {
    tenant: &'a TenantState,
    context: &'a Context,
    observed: ObservedSet,
    progress: SetProgress,
    /// One time for the whole reconcile: the choice of Machines to delete must not change between its batches.
    now: Timestamp,
    /// The set's metadata, in the last version that this reconcile has written.
    set: ObjectMeta,
    /// The Machines, as observed or as listed since.
    machines: BTreeMap<Uid, Arc<Machine>>,
    actions: Actions,
}

reconciled_kind!(MachineSet, Kind::Set, own_set_status, SetConclusion, |_| EffectKind::StatusWrite);

impl Reconcile for SetReconcile<'_> {
    type Object = MachineSet;
    type Effect = SetEffect;
    type Outcome = SetEffectResult;
    type Conclusion = SetConclusion;

    /// Seven batches create a hundred Machines, and each query before them takes a few.
    const BATCHES: usize = 32;

    fn object(&self) -> &MachineSet {
        &self.observed.set
    }

    fn step(&self) -> SetStep {
        let Self { observed, progress, now, .. } = self;
        let step = step(&observed.view, progress, *now);
        let is_kept = || match &step {
            SetStep::Act(effects) => invariants::batch(&observed.view, progress, effects, *now),
            SetStep::Finish(conclusion) => invariants::conclusion(&observed.view, progress, conclusion),
        };
        debug_assert_eq!(is_kept(), Ok(()), "{}: {step:?}", observed.view.set.key);
        step
    }

    fn effect_name(effect: &SetEffect) -> &'static str {
        effect.name()
    }

    fn effect_kind(&self, effect: &SetEffect) -> EffectKind {
        effect.kind()
    }

    async fn perform(&self, effect: &SetEffect, _so_far: &Report) -> SetEffectResult {
        let Self { tenant, context, observed, machines, set, .. } = self;
        act::perform(&SetEffectContext { tenant, context, observed, machines, set }, effect).await
    }

    fn refused(&self, effect: &SetEffect, reason: &'static str) -> SetEffectResult {
        SetEffectResult::of(effect.failed(ActError::Forbidden { reason }))
    }

    fn learn(&mut self, effect: SetEffect, done: SetEffectResult, report: &mut Report) {
        self.actions.note(&effect, &done.outcome);
        if let Some((kind, version)) = done.wrote {
            if kind == Kind::Set {
                self.set.resource_version = Some(version.clone());
            }
            report.wrote.push((kind, version));
        }
        if let Some((machines, version)) = done.listed {
            self.machines = machines;
            report.listed = Some((Kind::Machine, version));
        }
        self.progress.record(done.outcome);
        report.is_unclear = self.progress.is_unclear();
    }

    fn conclude(&mut self, conclusion: &SetConclusion, report: &mut Report) {
        report.milestones = self.actions.counted(conclusion);
        report.events = std::mem::take(&mut self.actions).into_events(&self.observed, conclusion);
    }

    fn status(&self, conclusion: &SetConclusion, now: Timestamp) -> Option<Map<String, Value>> {
        status_patch::of(&self.observed, &self.machines, conclusion, now)
    }

    fn events(&self, conclusion: &SetConclusion) -> Vec<Event> {
        events::of_conclusion(&self.observed, conclusion)
    }
}

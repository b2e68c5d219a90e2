//! One reconcile of a MachinistCluster.

use jiff::Timestamp;
use kube::Api;
use machinist_api::infrastructure::MachinistCluster;
use machinist_api::infrastructure::names::finalizers;
use machinist_core::driver::write_error::ActError;
use machinist_core::infra_cluster::{
    InfraClusterConclusion, InfraClusterEffect, InfraClusterProgress, InfraClusterReason, InfraClusterStep,
    step,
};
use machinist_core::machine::{Requeue, Severity};
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::ObjectKey;
use serde_json::{Map, Value, json};

use crate::client::writes::{WriteOutcome, finalizer_removed, merge};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::infra_cluster::{ObservedInfraCluster, observe};
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::objects::conditions;
use crate::controllers::objects::vm_notes;
use crate::controllers::state::TenantState;
use crate::events::{About, Event};
use crate::message::Report;

/// Reconciles a MachinistCluster. `machines`: those that need it.
pub(crate) async fn run(
    tenant: &TenantState,
    context: &Context,
    key: &ObjectKey,
    machines: &[ObjectKey],
) -> Report {
    let Some(observed) = observe(tenant, key, machines) else { return Report::only(Requeue::Gone) };
    frame::run(context, ClusterReconcile { context, observed, progress: InfraClusterProgress::default() })
        .await
}

struct ClusterReconcile<'a> {
    context: &'a Context,
    observed: ObservedInfraCluster,
    progress: InfraClusterProgress,
}

reconciled_kind!(MachinistCluster, Kind::InfraCluster, InfraClusterConclusion, |_| EffectKind::StatusWrite);

impl Reconcile for ClusterReconcile<'_> {
    type Object = MachinistCluster;
    type Effect = InfraClusterEffect;
    type Outcome = WriteOutcome;
    type Conclusion = InfraClusterConclusion;

    const BATCHES: usize = 4;

    fn object(&self) -> &MachinistCluster {
        &self.observed.cluster
    }

    fn step(&self) -> InfraClusterStep {
        step(&self.observed.view, &self.progress)
    }

    fn effect_name(effect: &InfraClusterEffect) -> &'static str {
        match effect {
            InfraClusterEffect::AddFinalizer => "add-finalizer",
            InfraClusterEffect::ReleaseFinalizer => "release-finalizer",
        }
    }

    fn effect_kind(&self, effect: &InfraClusterEffect) -> EffectKind {
        match effect {
            InfraClusterEffect::AddFinalizer => EffectKind::ObjectWrite,
            InfraClusterEffect::ReleaseFinalizer => EffectKind::FinalizerRelease,
        }
    }

    async fn perform(&self, effect: &InfraClusterEffect, _so_far: &Report) -> WriteOutcome {
        let meta = &self.observed.cluster.metadata;
        let (namespace, name) = (meta.namespace.as_deref(), meta.name.as_deref().unwrap_or_default());
        let api: Api<MachinistCluster> =
            Api::namespaced(self.context.control.clone(), namespace.unwrap_or_default());
        let write = async |patch: Value| merge(&api, Kind::InfraCluster, name, patch).await;
        match effect {
            InfraClusterEffect::AddFinalizer => {
                write(vm_notes::with_finalizer(meta, finalizers::CLUSTER).patch()).await
            }
            InfraClusterEffect::ReleaseFinalizer => {
                let patch = vm_notes::without_finalizer(meta, finalizers::CLUSTER).patch();
                finalizer_removed(write(patch).await)
            }
        }
    }

    fn refused(&self, _effect: &InfraClusterEffect, reason: &'static str) -> WriteOutcome {
        Err(ActError::Forbidden { reason })
    }

    fn learn(&mut self, effect: InfraClusterEffect, outcome: WriteOutcome, report: &mut Report) {
        let outcome = outcome.map(|wrote| report.wrote.extend(wrote));
        match effect {
            InfraClusterEffect::AddFinalizer => self.progress.added = Some(outcome),
            InfraClusterEffect::ReleaseFinalizer => self.progress.released = Some(outcome),
        }
    }

    fn status(&self, conclusion: &InfraClusterConclusion, now: Timestamp) -> Option<Map<String, Value>> {
        status(&self.observed.cluster, conclusion, now)
    }

    fn events(&self, conclusion: &InfraClusterConclusion) -> Vec<Event> {
        let cluster = &self.observed.cluster;
        let old = cluster.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
        let reason = conclusion.reason.as_str();
        let is_known =
            old.iter().any(|condition| condition.reason == reason && condition.message == conclusion.message);
        let severity = match conclusion.reason {
            InfraClusterReason::WriteFailed => Severity::Warning,
            InfraClusterReason::Provisioned
            | InfraClusterReason::WaitingForCluster
            | InfraClusterReason::WaitingForMachines
            | InfraClusterReason::Deleted
            | InfraClusterReason::Paused
            | InfraClusterReason::ManagedElsewhere => Severity::Normal,
        };
        let is_implied = conclusion.reason == InfraClusterReason::Deleted;
        let about = About::of_infrastructure("MachinistCluster", &cluster.metadata);
        let event = Event::normal(about, "state", reason, conclusion.message.clone());
        vec![Event { severity, is_known, is_implied, ..event }]
    }
}

/// `None` without differences. A cluster that others provide has a status of theirs.
fn status(
    cluster: &MachinistCluster,
    conclusion: &InfraClusterConclusion,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    if conclusion.reason == InfraClusterReason::ManagedElsewhere {
        return None;
    }
    let current = cluster.status.clone().unwrap_or_default();
    let old = current.conditions.as_slice();
    let generation = cluster.metadata.generation;
    let text = (conclusion.reason.as_str(), conclusion.message.as_str());
    let ready = match conclusion.reason {
        InfraClusterReason::Paused => None,
        InfraClusterReason::Provisioned => Some("True"),
        _ => Some("False"),
    };
    let changed = conditions::of_contract(old, ready, text, generation, now);
    let mut patch = Map::new();
    if conclusion.reason == InfraClusterReason::Provisioned {
        let provisioned =
            current.initialization.as_ref().and_then(|initialization| initialization.provisioned);
        if provisioned != Some(true) {
            patch.insert("initialization".to_owned(), json!({ "provisioned": true }));
        }
        if current.failure_domains != cluster.spec.failure_domains {
            patch.insert("failureDomains".to_owned(), json!(cluster.spec.failure_domains));
        }
    }
    if !changed.iter().all(|new| conditions::is_reported(old, new, false)) {
        patch.insert("conditions".to_owned(), json!(conditions::merged(old, &changed)));
    }
    (!patch.is_empty()).then_some(patch)
}

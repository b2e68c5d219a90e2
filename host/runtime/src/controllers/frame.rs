//! The frame of every reconcile: steps of the core in turn, each batch of effects in parallel, then one status write
//! and its Events.

use std::fmt::Debug;
use std::future::Future;

use futures::future::join_all;
use jiff::{SignedDuration, Timestamp};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use machinist_core::machine::Requeue;
use machinist_core::scheduling::gate::{EffectKind, permits};
use machinist_core::scheduling::retry::RetryPolicy;
use machinist_core::scheduling::step::Step;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::{Instrument, debug, info_span, warn};

use crate::client::writes::merge;
use crate::context::Context;
use crate::context::key::Kind;
use crate::context::own_status::OwnStatus;
use crate::events::Event;
use crate::message::Report;

use super::objects::status_write::{Published, StatusTarget, send};

/// A kind that has reconciles, and a status of ours.
pub(crate) trait ReconciledKind:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned + Send + Sync
{
    const KIND: Kind;

    /// Whether the API server keeps `status.machinist` of this kind; `None` for a kind without it.
    fn own_status(_context: &Context) -> Option<&OwnStatus> {
        None
    }

    fn has_own_status(&self) -> bool {
        false
    }
}

/// The end of a reconcile, as the core concludes it.
pub(crate) trait Conclusion: Send + Sync {
    fn reason(&self) -> &'static str;
    fn message(&self) -> &str;
    fn wake(&self) -> Requeue;

    /// The kind of the status write for the gate.
    fn status_kind(&self) -> EffectKind;
}

/// One reconcile of one object, from its facts on.
pub(crate) trait Reconcile: Send + Sync {
    type Object: ReconciledKind;
    type Effect: Send + Sync;
    /// The outcome of an effect, and the facts that it adds to the reconcile.
    type Outcome: Send;
    type Conclusion: Conclusion;

    /// A reconcile is short. More batches than these are a bug, not a slow cloud.
    const BATCHES: usize;

    /// Returns the object, as it was observed.
    fn object(&self) -> &Self::Object;

    /// Asks the core for the next step, and checks the step against the invariants.
    fn step(&self) -> Step<Self::Effect, Self::Conclusion>;

    /// Returns when to reconcile again, if these effects cannot begin now.
    fn postponed(&mut self, _effects: &[Self::Effect], _is_first: bool) -> Option<Requeue> {
        None
    }

    fn effect_name(effect: &Self::Effect) -> &'static str;

    /// The kind of the effect for the gate.
    fn effect_kind(&self, effect: &Self::Effect) -> EffectKind;

    /// Does an effect. `so_far` has what this reconcile has written.
    fn perform(&self, effect: &Self::Effect, so_far: &Report) -> impl Future<Output = Self::Outcome> + Send;

    /// The outcome of an effect that may not be done.
    fn refused(&self, effect: &Self::Effect, reason: &'static str) -> Self::Outcome;

    fn learn(&mut self, effect: Self::Effect, outcome: Self::Outcome, report: &mut Report);

    /// Acts on the conclusion before the status is written.
    fn conclude(&mut self, _conclusion: &Self::Conclusion, _report: &mut Report) {}

    /// Returns a merge patch of the rest of the object, which is written before the status.
    fn metadata(&self, _conclusion: &Self::Conclusion) -> Option<Value> {
        None
    }

    /// Returns the merge patch of the status: the differences from the observed one. `None` without any; times alone
    /// are no difference.
    fn status(&self, conclusion: &Self::Conclusion, now: Timestamp) -> Option<Map<String, Value>>;

    /// Returns the Events of the conclusion.
    fn events(&self, conclusion: &Self::Conclusion) -> Vec<Event>;

    /// Acts on the conclusion after the status is written, or, if the gate froze meanwhile, is not.
    fn concluded(&mut self, _conclusion: &Self::Conclusion, _is_frozen: bool, _report: &mut Report) {}
}

/// Runs a reconcile to its end.
pub(crate) async fn run<R: Reconcile>(context: &Context, mut reconcile: R) -> Report {
    let mut report = Report::only(Requeue::Resync);
    for batch in 0..R::BATCHES {
        match reconcile.step() {
            Step::Act(effects) => {
                if let Some(wake) = reconcile.postponed(&effects, batch == 0) {
                    return Report { wake, ..report };
                }
                let performed = effects.iter().map(|effect| perform(context, &reconcile, effect, &report));
                let outcomes = join_all(performed).await;
                for (effect, outcome) in effects.into_iter().zip(outcomes) {
                    reconcile.learn(effect, outcome, &mut report);
                }
            }
            Step::Finish(conclusion) => return finish(context, reconcile, &conclusion, report).await,
        }
    }
    warn!("reconcile cut off: the steps do not come to an end");
    Report { wake: Requeue::Retry { policy: RetryPolicy::LONG, hint: None }, ..report }
}

/// Does an effect, unless leadership is lost or the gate forbids it.
async fn perform<R: Reconcile>(
    context: &Context,
    reconcile: &R,
    effect: &R::Effect,
    so_far: &Report,
) -> R::Outcome {
    let span = info_span!("act", effect = R::effect_name(effect));
    async {
        if !*context.leads.borrow() {
            return reconcile.refused(effect, "this process does not lead");
        }
        // Again, since the gate may have frozen after the facts were taken.
        if !permits(context.gate_state.borrow().gate, reconcile.effect_kind(effect)) {
            return reconcile.refused(effect, "dangerous work is held");
        }
        reconcile.perform(effect, so_far).await
    }
    .instrument(span)
    .await
}

async fn finish<R: Reconcile>(
    context: &Context,
    mut reconcile: R,
    conclusion: &R::Conclusion,
    mut report: Report,
) -> Report {
    let (reason, message, wake) = (conclusion.reason(), conclusion.message(), conclusion.wake());
    debug!(reason, message, ?wake, "reconcile ends");
    reconcile.conclude(conclusion, &mut report);
    let wake = if note(context, &reconcile, conclusion, &mut report).await { wake } else { AGAIN };
    let published = publish(context, &reconcile, conclusion, &report).await;
    let published = published.finish(wake, R::Object::own_status(context));
    report.wrote.extend(published.wrote.map(|version| (R::Object::KIND, version)));
    report.wake = published.wake;
    if report.wake == Requeue::Gone {
        report.ended.clone_from(&reconcile.object().meta().uid);
    }
    if !published.is_frozen {
        let events = reconcile.events(conclusion).into_iter();
        report.events.extend(events.map(|event| Event { is_unsupported: published.is_unsupported, ..event }));
    }
    reconcile.concluded(conclusion, published.is_frozen, &mut report);
    report
}

/// The end of a reconcile whose note on the object failed.
const AGAIN: Requeue = Requeue::Retry { policy: RetryPolicy::SHORT, hint: None };

/// A reconcile without a call slot is requeued when one is free. This is for a message that gets lost.
pub(crate) const UNTIL_CALLED: SignedDuration = SignedDuration::from_mins(2);

/// Writes what the reconcile notes on the object beside its status. False if that failed.
async fn note<R: Reconcile>(
    context: &Context,
    reconcile: &R,
    conclusion: &R::Conclusion,
    report: &mut Report,
) -> bool {
    let may_write =
        *context.leads.borrow() && permits(context.gate_state.borrow().gate, EffectKind::ObjectWrite);
    let is_over = conclusion.wake() == Requeue::Gone || !may_write;
    let Some(patch) = reconcile.metadata(conclusion).filter(|_| !is_over) else { return true };
    let meta = reconcile.object().meta();
    let namespace = meta.namespace.as_deref().unwrap_or_default();
    let api: Api<R::Object> = Api::namespaced(context.control.clone(), namespace);
    match merge(&api, R::Object::KIND, meta.name.as_deref().unwrap_or_default(), patch).await {
        Ok(wrote) => report.wrote.extend(wrote),
        Err(error) => {
            debug!(error = %error, "note not written");
            return false;
        }
    }
    true
}

/// The one status write of a reconcile, only if the status differs.
async fn publish<R: Reconcile>(
    context: &Context,
    reconcile: &R,
    conclusion: &R::Conclusion,
    report: &Report,
) -> Published {
    let wake = conclusion.wake();
    if wake == Requeue::Gone || !*context.leads.borrow() {
        return Published::Nothing;
    }
    // Again, since a reconcile may have waited for its cloud for minutes after it took the facts.
    if !permits(context.gate_state.borrow().gate, conclusion.status_kind()) {
        return Published::Frozen;
    }
    let (object, own_status) = (reconcile.object(), R::Object::own_status(context));
    if let Some(own_status) = own_status.filter(|_| object.has_own_status()) {
        own_status.was_seen();
    }
    let Some(status) = reconcile.status(conclusion, context.clock.now()) else { return Published::Nothing };
    let seen = object.meta();
    let namespace = seen.namespace.as_deref().unwrap_or_default();
    let api: Api<R::Object> = Api::namespaced(context.control.clone(), namespace);
    let version = report.last_written(R::Object::KIND).or(seen.resource_version.as_deref());
    let target = StatusTarget { own_status, api: &api, seen, version, keeps: R::Object::has_own_status };
    send(target, status, wake).await
}

/// Implements [`ReconciledKind`] for a kind of `machinist_api`, and [`Conclusion`] for its conclusion. The last
/// argument returns the kind of a conclusion's status write for the gate. A kind with `status.machinist` names the
/// field of the context that says whether the API server keeps it.
macro_rules! reconciled_kind {
    ($object:ty, $kind:expr, $own_status:ident, $conclusion:ty, $status_kind:expr) => {
        impl $crate::controllers::frame::ReconciledKind for $object {
            const KIND: $crate::context::key::Kind = $kind;

            fn own_status(
                context: &$crate::context::Context,
            ) -> Option<&$crate::context::own_status::OwnStatus> {
                Some(&context.$own_status)
            }

            fn has_own_status(&self) -> bool {
                self.status.as_ref().is_some_and(|status| status.machinist.is_some())
            }
        }

        $crate::controllers::frame::conclusion!($conclusion, $status_kind);
    };
    ($object:ty, $kind:expr, $conclusion:ty, $status_kind:expr) => {
        impl $crate::controllers::frame::ReconciledKind for $object {
            const KIND: $crate::context::key::Kind = $kind;
        }

        $crate::controllers::frame::conclusion!($conclusion, $status_kind);
    };
}
pub(crate) use reconciled_kind;

/// Implements [`Conclusion`] for a type with the fields `reason`, `message` and `wake`.
macro_rules! conclusion {
    ($conclusion:ty, $status_kind:expr) => {
        impl $crate::controllers::frame::Conclusion for $conclusion {
            fn reason(&self) -> &'static str {
                self.reason.as_str()
            }

            fn message(&self) -> &str {
                &self.message
            }

            fn wake(&self) -> ::machinist_core::machine::Requeue {
                self.wake
            }

            fn status_kind(&self) -> ::machinist_core::scheduling::gate::EffectKind {
                let kind: fn(&Self) -> _ = $status_kind;
                kind(self)
            }
        }
    };
}
pub(crate) use conclusion;

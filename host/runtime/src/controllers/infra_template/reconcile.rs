//! One reconcile of a MachinistMachineTemplate.

use jiff::Timestamp;
use machinist_api::infrastructure::MachinistMachineTemplate;
use machinist_core::driver::error::{CallError, Refusal};
use machinist_core::driver::{Architecture, ClassRequest, DriverResult, NodeResources, SecretValues};
use machinist_core::infra_template::{
    InfraTemplateConclusion, InfraTemplateEffect, InfraTemplateProgress, InfraTemplateStep, step,
};
use machinist_core::machine::{DriverFact, Requeue, retry_write};
use machinist_core::scheduling::gate::EffectKind;
use machinist_core::value::id::ObjectKey;
use serde_json::{Map, Value, json};
use tracing::debug;

use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::infra_template::{ObservedTemplate, TemplateObjects};
use crate::controllers::frame::{self, Reconcile, reconciled_kind};
use crate::controllers::infra_machine::secrets;
use crate::controllers::state::TenantState;
use crate::events::{About, Event};
use crate::message::Report;

/// Reconciles a template. Reads credentials only where a driver is asked.
pub(crate) async fn run(tenant: &TenantState, context: &Context, key: &ObjectKey) -> Report {
    let Some(objects) = TemplateObjects::of(tenant, key) else { return Report::only(Requeue::Gone) };
    let driver = objects.driver(tenant);
    let asks = matches!(&driver, DriverFact::Ready(ready) if ready.capabilities.capacity);
    let credentials = if asks {
        let needs_labels = objects.needs_namespace_labels(tenant);
        let named = secrets::namespace_labels(context, key.namespace.as_str(), needs_labels).await;
        let read = match named {
            Ok(labels) => secrets::credentials(tenant, context, objects.identity(tenant, &labels)).await,
            Err(error) => Err(error),
        };
        match read {
            Ok(read) => Some(read),
            Err(error) => {
                debug!(error = %error, "a Secret cannot be read");
                return Report::only(retry_write(&error));
            }
        }
    } else {
        None
    };
    let observed = objects.observe(tenant, driver, credentials);
    let progress = InfraTemplateProgress::default();
    frame::run(context, TemplateReconcile { tenant, observed, progress }).await
}

struct TemplateReconcile<'a> {
    tenant: &'a TenantState,
    observed: ObservedTemplate,
    progress: InfraTemplateProgress,
}

reconciled_kind!(MachinistMachineTemplate, Kind::InfraTemplate, InfraTemplateConclusion, |_| {
    EffectKind::StatusWrite
});

impl Reconcile for TemplateReconcile<'_> {
    type Object = MachinistMachineTemplate;
    type Effect = InfraTemplateEffect;
    type Outcome = DriverResult<NodeResources>;
    type Conclusion = InfraTemplateConclusion;

    const BATCHES: usize = 4;

    fn object(&self) -> &MachinistMachineTemplate {
        &self.observed.template
    }

    fn step(&self) -> InfraTemplateStep {
        step(&self.observed.view, &self.progress)
    }

    fn effect_name(effect: &InfraTemplateEffect) -> &'static str {
        match effect {
            InfraTemplateEffect::AskCapacity => "ask-capacity",
        }
    }

    fn effect_kind(&self, effect: &InfraTemplateEffect) -> EffectKind {
        match effect {
            InfraTemplateEffect::AskCapacity => EffectKind::CloudRead,
        }
    }

    async fn perform(&self, effect: &InfraTemplateEffect, _so_far: &Report) -> Self::Outcome {
        match effect {
            InfraTemplateEffect::AskCapacity => {
                let found = &self.observed.credentials;
                let secrets = SecretValues {
                    values: found.values.clone(),
                    plugins: found.plugins.clone(),
                    ..SecretValues::default()
                };
                let request = ClassRequest { class: self.observed.class.clone(), secrets };
                self.tenant.drivers.node_capacity(request).await
            }
        }
    }

    fn refused(&self, _effect: &InfraTemplateEffect, _reason: &'static str) -> Self::Outcome {
        Err(CallError::Refused(Refusal::ShuttingDown))
    }

    fn learn(&mut self, effect: InfraTemplateEffect, outcome: Self::Outcome, _report: &mut Report) {
        match effect {
            InfraTemplateEffect::AskCapacity => self.progress.capacity = Some(outcome),
        }
    }

    fn status(&self, conclusion: &InfraTemplateConclusion, _now: Timestamp) -> Option<Map<String, Value>> {
        Some(status(&self.observed.view.stored, conclusion.resources.as_ref()?))
    }

    fn events(&self, conclusion: &InfraTemplateConclusion) -> Vec<Event> {
        let severity = conclusion.reason.severity();
        let about = About::of_infrastructure("MachinistMachineTemplate", &self.observed.template.metadata);
        let event = Event::normal(about, "capacity", conclusion.reason.as_str(), conclusion.message.clone());
        let repeats = matches!(conclusion.wake, Requeue::Retry { .. });
        // The status shows what is known, and silence is no news.
        let is_implied = !repeats;
        vec![Event { severity, repeats, is_implied, ..event }]
    }
}

/// A merge patch: a resource that a Node has no more is taken off.
fn status(stored: &NodeResources, found: &NodeResources) -> Map<String, Value> {
    let gone = stored.resources.keys().filter(|name| !found.resources.contains_key(*name));
    let gone = gone.map(|name| (name.clone(), Value::Null));
    let capacity = found.resources.iter().map(|(name, quantity)| (name.clone(), json!(quantity)));
    let mut patch = Map::new();
    patch.insert("capacity".to_owned(), Value::Object(capacity.chain(gone).collect()));
    let architecture = found.architecture.map(Architecture::as_str);
    let info = match (architecture, &found.operating_system) {
        (None, None) => Value::Null,
        (architecture, system) => json!({ "architecture": architecture, "operatingSystem": system }),
    };
    patch.insert("nodeInfo".to_owned(), info);
    patch
}

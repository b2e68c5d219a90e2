//! Effects on the API servers. Each has a deadline, a precondition, and an outcome; none decides anything.

use kube::Api;
use machinist_api::{Machine, MachineDeployment, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine_deployment::{
    DeploymentChange, DeploymentEffect, EffectResult, MachineChange, MachineKey,
};
use serde_json::{Map, Value, json};

use crate::client::writes::{WriteOutcome, merge};
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::facts::UPDATED;
use crate::controllers::objects::metadata::{Metadata, controller, controller_reference};
use crate::controllers::state::TenantState;

use super::{node, sets};
use crate::controllers::facts::machine_deployment::observe::ObservedDeployment;
use crate::controllers::facts::machine_deployment::{NAMES, template};
use crate::controllers::objects::selection::equal_labels;

/// The result of an effect, and the version that it wrote.
pub(super) type DeploymentEffectResult = Result<(EffectResult, Option<(Kind, String)>), ActError>;

pub(super) async fn perform(
    tenant: &TenantState,
    context: &Context,
    observed: &ObservedDeployment,
    effect: &DeploymentEffect,
) -> DeploymentEffectResult {
    let wrote = match effect {
        DeploymentEffect::CreateSet(set) => return sets::create(context, observed, set).await,
        DeploymentEffect::WriteDeployment(change) => write_deployment(context, observed, change).await,
        DeploymentEffect::AdoptSet(set) => sets::adopt(context, observed, set).await,
        DeploymentEffect::ReleaseSet(set) => sets::release(context, observed, set).await,
        DeploymentEffect::WriteSet { set, change } => sets::write(context, observed, set, change).await,
        DeploymentEffect::DeleteSet(set) => sets::delete(tenant, context, observed, set).await,
        DeploymentEffect::WriteMachine { machine, change } => {
            write_machine(context, observed, machine, change).await
        }
        DeploymentEffect::WriteNode { node, change } => node::write(context, observed, node, change).await,
    };
    wrote.map(|wrote| (EffectResult::Done, wrote))
}

/// Deployments of the observed one's namespace.
pub(super) fn deployments(context: &Context, observed: &ObservedDeployment) -> Api<MachineDeployment> {
    Api::namespaced(context.control.clone(), observed.view.deployment.key.namespace.as_str())
}

async fn write_deployment(
    context: &Context,
    observed: &ObservedDeployment,
    change: &DeploymentChange,
) -> WriteOutcome {
    let patch = deployment_patch(observed, change)?;
    let (api, name) = (deployments(context, observed), observed.view.deployment.key.name.as_str());
    match merge(&api, Kind::Deployment, name, patch).await {
        // The object is deleted with its last finalizer, so there is no version to wait for.
        Ok(_) | Err(ActError::Gone) if change.finalizer == Some(false) => Ok(None),
        done => done,
    }
}

fn deployment_patch(observed: &ObservedDeployment, change: &DeploymentChange) -> Result<Value, ActError> {
    let meta = &observed.deployment.metadata;
    let finalizers = change.finalizer.map(|is_wanted| {
        let others = meta.finalizers.iter().flatten().filter(|name| *name != names::finalizers::MACHINE);
        let ours = is_wanted.then_some(names::finalizers::MACHINE);
        json!(others.map(String::as_str).chain(ours).collect::<Vec<&str>>())
    });
    let freeze = change.freeze.map(|is_frozen| is_frozen.then_some(names::labels::TRUE));
    let metadata = Metadata::of(meta)
        .in_version(meta)
        .with_some("finalizers", finalizers)
        .with_some("labels", freeze.map(|value| json!({ names::labels::FREEZE: value })))
        .with_some("annotations", (!change.annotations.is_empty()).then(|| json!(change.annotations)));
    let Some(rollback) = &change.rollback else { return Ok(metadata.patch()) };
    let mut spec = Map::from_iter([("rollbackTo".to_owned(), Value::Null)]);
    if let Some(set) = rollback {
        let set = sets::observed(observed, set)?;
        let earlier = set.spec.template.as_ref().ok_or(ActError::Conflict)?;
        let back = template::return_patch(&observed.deployment.spec.template, earlier);
        spec.extend(back.map(|back| ("template".to_owned(), back)));
    }
    Ok(metadata.patch_with_spec(&Value::Object(spec)))
}

async fn write_machine(
    context: &Context,
    observed: &ObservedDeployment,
    key: &MachineKey,
    change: &MachineChange,
) -> WriteOutcome {
    let seen = observed.machines.get(&key.name);
    let seen = seen.filter(|machine| machine.metadata.uid.as_deref() == Some(key.uid.as_str()));
    let machine = seen.ok_or(ActError::Gone)?;
    let patch = machine_patch(observed, machine, change)?;
    let api: Api<Machine> =
        Api::namespaced(context.control.clone(), observed.view.deployment.key.namespace.as_str());
    merge(&api, Kind::Machine, key.name.as_str(), patch).await
}

fn machine_patch(
    observed: &ObservedDeployment,
    machine: &Machine,
    change: &MachineChange,
) -> Result<Value, ActError> {
    let meta = &machine.metadata;
    let metadata = Metadata::of(meta);
    Ok(match change {
        MachineChange::Mark { at } => {
            let first = names::annotations::FIRST_PRIORITY;
            let mut annotations = Map::from_iter([(names::annotations::PRIORITY.to_owned(), json!(first))]);
            if let Some(at) = at {
                let at = json!(machinist_api::value::time(*at));
                annotations.insert(names::annotations::MARKED_FOR_DELETION_TIME.to_owned(), at);
            }
            metadata.with("annotations", Value::Object(annotations)).patch()
        }
        MachineChange::Hash(hash) => metadata.with("labels", json!({ NAMES.template_hash: hash })).patch(),
        MachineChange::Unlabel => {
            metadata.with("labels", json!({ names::labels::UPDATE_RESULT: null })).patch()
        }
        MachineChange::Transfer { from, to } => {
            let (from, to) = (sets::observed(observed, from)?, sets::observed(observed, to)?);
            if controller(meta).map(|owner| &owner.uid) != from.metadata.uid.as_ref() {
                return Err(ActError::Conflict);
            }
            let others =
                meta.owner_references.iter().flatten().filter(|owner| owner.controller != Some(true));
            let owner = controller_reference("MachineSet", &to.metadata);
            let owners: Vec<_> = others.cloned().chain([owner]).collect();
            let left = equal_labels(from.spec.selector.as_ref()).into_keys();
            let mut labels: Map<String, Value> = left.map(|label| (label, Value::Null)).collect();
            let taken = equal_labels(to.spec.selector.as_ref()).into_iter();
            labels.extend(taken.map(|(label, value)| (label, json!(value))));
            labels.insert(names::labels::UPDATE_RESULT.to_owned(), json!(UPDATED));
            // The list of owners is written whole.
            let metadata = metadata.in_version(meta).with("ownerReferences", json!(owners));
            metadata.with("labels", Value::Object(labels)).patch()
        }
    })
}

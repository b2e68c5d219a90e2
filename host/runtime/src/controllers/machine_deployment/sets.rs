//! Effects on the sets of a deployment.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kube::Api;
use kube::core::ObjectMeta;
use machinist_api::machine_set::MachineSetSpec;
use machinist_api::{MachineSet, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine_deployment::{EffectResult, ExistingSet, NewSet, SetChange, SetKey};
use machinist_core::value::id::ObjectKey;
use serde_json::{Map, Value, json};

use crate::client::errors::within_deadline;
use crate::client::writes::{self, WriteOutcome, merge, only, version_of};
use crate::context::Context;
use crate::context::key::{Key, Kind};
use crate::controllers::objects::metadata::{Metadata, controller, controller_reference};
use crate::controllers::objects::selection::equal_labels;
use crate::controllers::state::TenantState;

use super::act::{DeploymentEffectResult, deployments};
use crate::controllers::facts::machine_deployment::observe::ObservedDeployment;
use crate::controllers::facts::machine_deployment::{NAMES, template};

fn api(context: &Context, observed: &ObservedDeployment) -> Api<MachineSet> {
    Api::namespaced(context.control.clone(), observed.view.deployment.key.namespace.as_str())
}

/// The set as it was seen. Another one of its name is not it.
pub(super) fn observed<'a>(
    observed: &'a ObservedDeployment,
    key: &SetKey,
) -> Result<&'a Arc<MachineSet>, ActError> {
    let seen = observed.sets.get(&key.name);
    seen.filter(|set| set.metadata.uid.as_deref() == Some(key.uid.as_str())).ok_or(ActError::Gone)
}

/// Makes a set. Where its name is taken, by whom.
pub(super) async fn create(
    context: &Context,
    observed: &ObservedDeployment,
    wanted: &NewSet,
) -> DeploymentEffectResult {
    let set = made_of(observed, wanted);
    let namespace = observed.view.deployment.key.namespace.as_str();
    match writes::create::<MachineSet>(&context.control, namespace, &set).await {
        Ok(set) => Ok((EffectResult::Done, version_of(Kind::Set, &set))),
        Err(ActError::Conflict) => {
            let found = within_deadline(api(context, observed).get_opt(wanted.name.as_str())).await?;
            // Gone again: the next reconcile creates it.
            let taken = found.map(|set| taken(observed, &set)).ok_or(ActError::Conflict)?;
            Ok((EffectResult::Taken(taken), None))
        }
        Err(error) => Err(error),
    }
}

fn taken(observed: &ObservedDeployment, set: &MachineSet) -> ExistingSet {
    let uid = observed.view.deployment.uid.as_str();
    ExistingSet {
        is_own: controller(&set.metadata).is_some_and(|owner| owner.uid == uid),
        is_deleting: set.metadata.deletion_timestamp.is_some(),
        template: set.spec.template.as_ref().map(template::fact).unwrap_or_default(),
    }
}

fn made_of(observed: &ObservedDeployment, wanted: &NewSet) -> MachineSet {
    let (meta, spec) = (&observed.deployment.metadata, &observed.deployment.spec);
    let hash = (NAMES.template_hash.to_owned(), wanted.hash.clone());
    let mut selector = spec.selector.clone().unwrap_or_default();
    selector.match_labels.get_or_insert_default().extend([hash.clone()]);
    let mut labels = template::fact(&observed.template).labels;
    labels.extend([hash]);
    MachineSet {
        metadata: ObjectMeta {
            namespace: meta.namespace.clone(),
            name: Some(wanted.name.to_string()),
            labels: Some(labels),
            annotations: Some(wanted.annotations.clone()),
            finalizers: Some(vec![names::finalizers::MACHINE.to_owned()]),
            owner_references: Some(vec![controller_reference("MachineDeployment", meta)]),
            ..ObjectMeta::default()
        },
        spec: MachineSetSpec {
            replicas: i32::try_from(wanted.replicas).ok(),
            selector: Some(selector),
            template: Some(template::with_label(&observed.template, NAMES.template_hash, &wanted.hash)),
            min_ready_seconds: spec.min_ready_seconds,
            auto_preserve_failed_machine_max: spec.auto_preserve_failed_machine_max,
            ..MachineSetSpec::default()
        },
        status: None,
    }
}

/// Adopts a set, unless the deployment is being deleted or replaced on the server, whatever the cache says.
pub(super) async fn adopt(context: &Context, seen: &ObservedDeployment, key: &SetKey) -> WriteOutcome {
    let set = observed(seen, key)?;
    let name = seen.view.deployment.key.name.as_str();
    let live = within_deadline(deployments(context, seen).get_metadata_opt(name)).await?;
    let is_it = live.is_some_and(|live| {
        live.metadata.uid == seen.deployment.metadata.uid && live.metadata.deletion_timestamp.is_none()
    });
    if !is_it {
        return Err(ActError::Conflict);
    }
    let owners = set.metadata.owner_references.iter().flatten().cloned();
    let owner = controller_reference("MachineDeployment", &seen.deployment.metadata);
    let others = owners.filter(|other| other.uid != owner.uid);
    let owners: Vec<OwnerReference> = others.chain([owner.clone()]).collect();
    own(context, seen, set, &owners).await
}

/// The deployment controls it no more.
pub(super) async fn release(context: &Context, seen: &ObservedDeployment, key: &SetKey) -> WriteOutcome {
    let set = observed(seen, key)?;
    let owners = set.metadata.owner_references.iter().flatten();
    let uid = seen.view.deployment.uid.as_str();
    let owners: Vec<OwnerReference> = owners.filter(|owner| owner.uid != uid).cloned().collect();
    own(context, seen, set, &owners).await
}

async fn own(
    context: &Context,
    seen: &ObservedDeployment,
    set: &MachineSet,
    owners: &[OwnerReference],
) -> WriteOutcome {
    let meta = &set.metadata;
    let metadata = Metadata::of(meta).in_version(meta).with("ownerReferences", json!(owners));
    patch(context, seen, meta, metadata.patch()).await
}

pub(super) async fn write(
    context: &Context,
    seen: &ObservedDeployment,
    key: &SetKey,
    change: &SetChange,
) -> WriteOutcome {
    let set = observed(seen, key)?;
    let meta = &set.metadata;
    let metadata = Metadata::of(meta).in_version(meta).with_change(&change.labels, &change.annotations);
    let spec = spec_patch(seen, set, change);
    let value =
        if spec.is_empty() { metadata.patch() } else { metadata.patch_with_spec(&Value::Object(spec)) };
    patch(context, seen, meta, value).await
}

fn spec_patch(seen: &ObservedDeployment, set: &MachineSet, change: &SetChange) -> Map<String, Value> {
    let mut spec = Map::new();
    let mut of_template = Map::new();
    if let Some((_, replicas)) = change.replicas {
        spec.insert("replicas".to_owned(), json!(replicas));
    }
    if change.takes_settings {
        let wanted = &seen.deployment.spec;
        let has = set.spec.template.as_ref().map(|template| template.spec.clone()).unwrap_or_default();
        let settings = template::settings_patch(&has, &seen.template.spec);
        of_template.extend(settings.map(|settings| ("spec".to_owned(), settings)));
        spec.insert("minReadySeconds".to_owned(), json!(wanted.min_ready_seconds));
        spec.insert(
            "autoPreserveFailedMachineMax".to_owned(),
            json!(wanted.auto_preserve_failed_machine_max),
        );
    }
    if let Some((label, value)) = &change.template_label {
        of_template.insert("metadata".to_owned(), json!({ "labels": { label: value } }));
    }
    if !of_template.is_empty() {
        spec.insert("template".to_owned(), Value::Object(of_template));
    }
    if let Some((label, value)) = &change.selector_label {
        let labels: LabelSelector = LabelSelector {
            match_labels: Some(
                equal_labels(set.spec.selector.as_ref())
                    .into_iter()
                    .chain([(label.clone(), value.clone())])
                    .collect(),
            ),
            match_expressions: None,
        };
        spec.insert("selector".to_owned(), json!(labels));
    }
    spec
}

async fn patch(
    context: &Context,
    seen: &ObservedDeployment,
    meta: &ObjectMeta,
    patch: Value,
) -> WriteOutcome {
    let name = meta.name.as_deref().unwrap_or_default();
    merge(&api(context, seen), Kind::Set, name, patch).await
}

/// Deletes only this set. A surplus set must be unchanged since it was read; a set of a deleted deployment is deleted
/// in any case.
pub(super) async fn delete(
    tenant: &TenantState,
    context: &Context,
    seen: &ObservedDeployment,
    key: &SetKey,
) -> WriteOutcome {
    let meta = &observed(seen, key)?.metadata;
    let is_whole = seen.view.deployment.deletion.is_some();
    let version = meta.resource_version.clone().filter(|_| !is_whole);
    let (api, params) = (api(context, seen), only(meta.uid.clone(), version));
    let set = ObjectKey { namespace: seen.view.deployment.key.namespace.clone(), name: key.name.clone() };
    let on_gone = || tenant.note_deleted(&Key::Set(set), &key.uid);
    writes::delete(&api, Kind::Set, key.name.as_str(), &params, on_gone).await
}

//! Effects on the sets of a deployment.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, OwnerReference};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{ObjectMeta, Request};
use kube::{Api, Resource, ResourceExt};
use machinist_api::machine_set::MachineSetSpec;
use machinist_api::{MachineSet, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine_deployment::{EffectResult, ExistingSet, NewSet, SetChange, SetKey};
use machinist_core::value::id::ObjectKey;
use serde_json::{Map, Value, json};

use crate::client::errors::within_deadline;
use crate::client::field_manager::FIELD_MANAGER;
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::objects::WriteOutcome;
use crate::controllers::objects::metadata::Metadata;
use crate::controllers::state::TenantState;

use super::act::{DeploymentEffectResult, deployments};
use super::names::NAMES;
use crate::controllers::facts::machine_deployment::observe::{ObservedDeployment, controller};
use crate::controllers::facts::machine_deployment::{selector, template};

/// The server gives up a creation after this, so that none arrives after its deployment is gone.
const CREATION_SECONDS: u32 = 10;

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

/// As controller of another object.
pub(super) fn reference(kind: &str, meta: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: names::API_VERSION.to_owned(),
        kind: kind.to_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Makes a set. Where its name is taken, by whom.
pub(super) async fn create(
    context: &Context,
    observed: &ObservedDeployment,
    wanted: &NewSet,
) -> DeploymentEffectResult {
    let set = made_of(observed, wanted);
    let namespace = observed.view.deployment.key.namespace.as_str();
    let posted = within_deadline(async {
        let request = post(namespace, &set)?;
        context.control.request::<MachineSet>(request).await
    });
    match posted.await {
        Ok(set) => Ok((EffectResult::Done, Some((Kind::Set, set.resource_version().unwrap_or_default())))),
        Err(ActError::Conflict) => {
            let found = within_deadline(api(context, observed).get_opt(wanted.name.as_str())).await?;
            // Gone again: the next reconcile creates it.
            let taken = found.map(|set| taken(observed, &set)).ok_or(ActError::Conflict)?;
            Ok((EffectResult::Taken(taken), None))
        }
        Err(error) => Err(error),
    }
}

fn post(namespace: &str, set: &MachineSet) -> Result<http::Request<Vec<u8>>, kube::Error> {
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let body = serde_json::to_vec(set).map_err(kube::Error::SerdeError)?;
    let request = Request::new(MachineSet::url_path(&(), Some(namespace)));
    let mut request = request.create(&params, body).map_err(kube::Error::BuildRequest)?;
    let uri = format!("{}&timeout={CREATION_SECONDS}s", request.uri());
    *request.uri_mut() = uri
        .parse()
        .map_err(|error: http::uri::InvalidUri| kube::Error::HttpError(http::Error::from(error)))?;
    Ok(request)
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
            owner_references: Some(vec![reference("MachineDeployment", meta)]),
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
    let owner = reference("MachineDeployment", &seen.deployment.metadata);
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
    let metadata = Metadata::of(meta)
        .in_version(meta)
        .with_some("labels", (!change.labels.is_empty()).then(|| json!(change.labels)))
        .with_some("annotations", (!change.annotations.is_empty()).then(|| json!(change.annotations)));
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
                selector::equal_labels(set.spec.selector.as_ref())
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
    let params = PatchParams::apply(FIELD_MANAGER);
    let patched = within_deadline(api(context, seen).patch(name, &params, &Patch::Merge(patch))).await?;
    Ok(Some((Kind::Set, patched.resource_version().unwrap_or_default())))
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
    let preconditions = Preconditions { uid: meta.uid.clone(), resource_version: version };
    let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    match within_deadline(api(context, seen).delete(key.name.as_str(), &params)).await {
        // The answer to a deletion that completed at once has no version; its event has it.
        Ok(answer) => {
            let remaining = answer.left().filter(|set| set.metadata.deletion_timestamp.is_some());
            if remaining.is_none() {
                note_deleted(tenant, seen, key);
            }
            Ok(remaining.map(|set| (Kind::Set, set.resource_version().unwrap_or_default())))
        }
        Err(error) => {
            if error == ActError::Gone {
                note_deleted(tenant, seen, key);
            }
            Err(error)
        }
    }
}

fn note_deleted(tenant: &TenantState, seen: &ObservedDeployment, key: &SetKey) {
    let set = ObjectKey { namespace: seen.view.deployment.key.namespace.clone(), name: key.name.clone() };
    let cached = || tenant.sets.get(&set).and_then(|object| object.metadata.uid.clone());
    tenant.deleted.add(&key.uid, || cached().as_deref() == Some(key.uid.as_str()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_asked_for_with_a_time_after_which_the_server_gives_up() {
        let request = post("n", &MachineSet::default()).unwrap();
        let uri = request.uri().to_string();
        assert!(uri.starts_with("/apis/machine.sapcloud.io/v1alpha1/namespaces/n/machinesets?"), "{uri}");
        assert!(uri.ends_with("&timeout=10s") && uri.contains("fieldManager=machinist"), "{uri}");
    }
}

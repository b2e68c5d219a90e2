//! Effects of sets. Each has a deadline, a precondition, and an outcome; none decides anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::core::{DeserializeGuard, ObjectMeta, Request};
use kube::{Api, Resource, ResourceExt};
use machinist_api::{Machine, MachineSet, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::MetaChange;
use machinist_core::machine::node::preservation::AUTO_PRESERVED;
use machinist_core::machine_set::{
    CreateMode, CurrentSet, DeleteReason, MachineRef, NameTakenBy, PreserveChange, SetEffect, SetOutcome,
};
use machinist_core::value::id::{Name, ObjectKey, Uid};
use serde_json::{Value, json};

use crate::client::errors::within_deadline;
use crate::client::field_manager::FIELD_MANAGER;
use crate::context::Context;
use crate::context::key::Kind;
use crate::controllers::objects::WriteOutcome;
use crate::controllers::objects::metadata::Metadata;
use crate::controllers::state::TenantState;

use super::body;
use super::listing::list;
use crate::controllers::facts::machine_set::observe::{self, ObservedSet};

/// How long the server may take to create a Machine: it does not begin after this. Shorter than the time after which
/// the next reconcile, or the next leader, assumes that nothing arrives any more
/// ([`machinist_core::scheduling::barrier::LANDING`]).
const CREATION_SECONDS: u32 = 10;

/// The outcome of an effect, and the facts that it adds to the reconcile.
pub(super) struct SetEffectResult {
    pub(super) outcome: SetOutcome,
    /// The version that it wrote.
    pub(super) wrote: Option<(Kind, String)>,
    /// The Machines as they were listed, and the version of the listing.
    pub(super) listed: Option<(BTreeMap<Uid, Arc<Machine>>, String)>,
}

impl SetEffectResult {
    pub(super) fn of(outcome: SetOutcome) -> Self {
        Self { outcome, wrote: None, listed: None }
    }

    fn write(result: WriteOutcome, outcome: impl FnOnce(Result<(), ActError>) -> SetOutcome) -> Self {
        match result {
            Ok(wrote) => Self { wrote, ..Self::of(outcome(Ok(()))) },
            Err(error) => Self::of(outcome(Err(error))),
        }
    }
}

/// The surroundings of the effects of one reconcile.
pub(super) struct SetEffectContext<'a> {
    pub(super) tenant: &'a TenantState,
    pub(super) context: &'a Context,
    pub(super) observed: &'a ObservedSet,
    /// The Machines as they are known best.
    pub(super) machines: &'a BTreeMap<Uid, Arc<Machine>>,
    /// The set as this reconcile has written it, or as it was observed.
    pub(super) set: &'a ObjectMeta,
}

pub(super) async fn perform(effect_context: &SetEffectContext<'_>, effect: &SetEffect) -> SetEffectResult {
    match effect {
        SetEffect::AddFinalizer => {
            SetEffectResult::write(effect_context.add_finalizer().await, SetOutcome::AddFinalizer)
        }
        SetEffect::ReleaseFinalizer => {
            SetEffectResult::write(effect_context.remove_finalizer().await, SetOutcome::ReleaseFinalizer)
        }
        SetEffect::ListMachines => match list(&effect_context.lenient_machines_api()).await {
            Ok(listing) => {
                let (facts, machines) = observe::listed(
                    effect_context.tenant,
                    effect_context.observed,
                    listing.machines,
                    listing.unreadable,
                );
                let listed = Some((machines, listing.version));
                SetEffectResult { listed, ..SetEffectResult::of(SetOutcome::ListMachines(Ok(facts))) }
            }
            Err(error) => SetEffectResult::of(SetOutcome::ListMachines(Err(error))),
        },
        SetEffect::GetSet => SetEffectResult::of(SetOutcome::GetSet(effect_context.get_set().await)),
        SetEffect::GetMachine { name } => {
            SetEffectResult::of(SetOutcome::GetMachine(name.clone(), effect_context.get_machine(name).await))
        }
        SetEffect::Adopt(machine) => {
            let wrote = effect_context.set_owner(machine, true).await;
            SetEffectResult::write(wrote, |result| SetOutcome::Adopt(machine.uid.clone(), result))
        }
        SetEffect::Release(machine) => {
            let wrote = effect_context.set_owner(machine, false).await;
            SetEffectResult::write(wrote, |result| SetOutcome::Release(machine.uid.clone(), result))
        }
        SetEffect::Preserve(machine, keep) => {
            let wrote = effect_context.preserve(machine, *keep).await;
            SetEffectResult::write(wrote, |result| SetOutcome::Preserve(machine.uid.clone(), *keep, result))
        }
        SetEffect::Sync(machine, parts) => {
            let spec = match (effect_context.machines.get(&machine.uid), &effect_context.observed.template) {
                (Some(object), Some(template)) => body::sync(object, template, parts),
                (None, _) | (_, None) => json!({}),
            };
            let patch = Metadata::of(&meta_of(machine)).patch_with_spec(&spec);
            let wrote = effect_context.patch_machine(machine, patch).await;
            SetEffectResult::write(wrote, |result| SetOutcome::Sync(machine.uid.clone(), result))
        }
        SetEffect::Create { name, ordinal, birth, class } => {
            let wrote = effect_context.create(name, *ordinal, *birth, class.as_ref()).await;
            SetEffectResult::write(wrote, |result| SetOutcome::Create(*ordinal, name.clone(), result))
        }
        SetEffect::Delete(machine, why) => {
            let wrote = effect_context.delete(machine, *why).await;
            SetEffectResult::write(wrote, |result| SetOutcome::Delete(machine.uid.clone(), *why, result))
        }
        SetEffect::WriteSet(change) => {
            SetEffectResult::write(effect_context.write_set(change).await, SetOutcome::WriteSet)
        }
    }
}

impl SetEffectContext<'_> {
    fn namespace(&self) -> &str {
        self.set.namespace.as_deref().unwrap_or_default()
    }

    fn machines_api(&self) -> Api<Machine> {
        Api::namespaced(self.context.control.clone(), self.namespace())
    }

    fn lenient_machines_api(&self) -> Api<DeserializeGuard<Machine>> {
        Api::namespaced(self.context.control.clone(), self.namespace())
    }

    fn sets_api(&self) -> Api<MachineSet> {
        Api::namespaced(self.context.control.clone(), self.namespace())
    }

    async fn patch_set(&self, patch: Value) -> WriteOutcome {
        let name = self.set.name.as_deref().unwrap_or_default();
        let params = PatchParams::apply(FIELD_MANAGER);
        let patched = within_deadline(self.sets_api().patch(name, &params, &Patch::Merge(patch))).await?;
        Ok(Some((Kind::Set, patched.resource_version().unwrap_or_default())))
    }

    async fn patch_machine(&self, machine: &MachineRef, patch: Value) -> WriteOutcome {
        let params = PatchParams::apply(FIELD_MANAGER);
        let request = self.machines_api();
        let patched =
            within_deadline(request.patch(machine.name.as_str(), &params, &Patch::Merge(patch))).await?;
        Ok(Some((Kind::Machine, patched.resource_version().unwrap_or_default())))
    }

    /// The list of finalizers is written whole, so it must be the list that was seen.
    async fn add_finalizer(&self) -> WriteOutcome {
        let mut finalizers = self.set.finalizers.clone().unwrap_or_default();
        finalizers.push(names::finalizers::MACHINE.to_owned());
        let metadata = Metadata::of(self.set).in_version(self.set).with("finalizers", json!(finalizers));
        self.patch_set(metadata.patch()).await
    }

    async fn remove_finalizer(&self) -> WriteOutcome {
        let finalizers = self.set.finalizers.iter().flatten();
        let others: Vec<&String> = finalizers.filter(|name| *name != names::finalizers::MACHINE).collect();
        let metadata = Metadata::of(self.set).in_version(self.set).with("finalizers", json!(others));
        match self.patch_set(metadata.patch()).await {
            // The object is deleted with its last finalizer, so there is no version to wait for.
            Ok(_) | Err(ActError::Gone) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// In the version that was observed: a reconcile never reopens an ordinal that it has not seen closed.
    async fn write_set(&self, change: &MetaChange) -> WriteOutcome {
        let metadata = Metadata::of(self.set)
            .in_version(self.set)
            .with_some("labels", (!change.labels.is_empty()).then(|| json!(change.labels)))
            .with_some("annotations", (!change.annotations.is_empty()).then(|| json!(change.annotations)));
        self.patch_set(metadata.patch()).await
    }

    async fn get_set(&self) -> Result<CurrentSet, ActError> {
        let name = self.set.name.as_deref().unwrap_or_default();
        let look = within_deadline(self.sets_api().get_metadata_opt(name)).await?.ok_or(ActError::Gone)?;
        Ok(CurrentSet {
            uid: Uid::new(look.metadata.uid.as_deref().unwrap_or_default()),
            is_deleting: look.metadata.deletion_timestamp.is_some(),
        })
    }

    async fn get_machine(&self, name: &Name) -> Result<NameTakenBy, ActError> {
        let look = within_deadline(self.machines_api().get_metadata_opt(name.as_str())).await?;
        let look = look.ok_or(ActError::Gone)?;
        let mut owners = look.metadata.owner_references.iter().flatten();
        let is_own =
            owners.any(|owner| owner.controller == Some(true) && Some(&owner.uid) == self.set.uid.as_ref());
        Ok(if is_own { NameTakenBy::This } else { NameTakenBy::Other })
    }

    /// Adds the set to the owners of a Machine, or removes it. The list is written whole, so it must be the list that
    /// was read.
    async fn set_owner(&self, machine: &MachineRef, owns: bool) -> WriteOutcome {
        let object = self.machines.get(&machine.uid).ok_or(ActError::Gone)?;
        let owners = serde_json::to_value(&object.metadata.owner_references).unwrap_or_default();
        let mut owners: Vec<Value> = owners.as_array().cloned().unwrap_or_default();
        owners.retain(|owner| owner.get("uid").and_then(Value::as_str) != self.set.uid.as_deref());
        if owns {
            owners.push(body::owner_reference(&self.observed.set));
        }
        let metadata = Metadata::of(&object.metadata)
            .in_version(&object.metadata)
            .with("ownerReferences", Value::Array(owners));
        self.patch_machine(machine, metadata.patch()).await
    }

    async fn preserve(&self, machine: &MachineRef, keep: PreserveChange) -> WriteOutcome {
        let wish = match keep {
            PreserveChange::Begin => json!(AUTO_PRESERVED),
            PreserveChange::End => Value::Null,
        };
        let annotations = json!({ names::annotations::PRESERVE: wish });
        let metadata = Metadata::of(&meta_of(machine)).with("annotations", annotations);
        self.patch_machine(machine, metadata.patch()).await
    }

    async fn create(
        &self,
        name: &Name,
        ordinal: u32,
        birth: CreateMode,
        class: Option<&Name>,
    ) -> WriteOutcome {
        let Some(template) = &self.observed.template else {
            return Err(ActError::Invalid { message: "spec.template is missing".to_owned() });
        };
        let body = body::machine(&self.observed.set, &body::of_class(template, class), name, ordinal, birth);
        let request =
            create_request(self.namespace(), &body).map_err(|message| ActError::Invalid { message })?;
        let key = ObjectKey::new(self.namespace(), name.as_str());
        let expected = (birth == CreateMode::Claimed).then(|| self.tenant.unstarted.expect(key));
        let made: Machine = within_deadline(self.context.control.request(request)).await?;
        if let Some(expected) = expected {
            expected.created(Uid::new(made.metadata.uid.as_deref().unwrap_or_default()));
        }
        Ok(Some((Kind::Machine, made.resource_version().unwrap_or_default())))
    }

    /// Deletes a chosen Machine only in the observed version; one that is deleted with its set, in any version. A
    /// Machine that the server has no more, or that has gone at once, is not asked about again while the cache shows
    /// it.
    async fn delete(&self, machine: &MachineRef, why: DeleteReason) -> WriteOutcome {
        let observed =
            self.machines.get(&machine.uid).and_then(|object| object.metadata.resource_version.clone());
        let resource_version = match why {
            DeleteReason::SetDeleted => None,
            DeleteReason::Surplus
            | DeleteReason::Marked
            | DeleteReason::Failed
            | DeleteReason::Unhealthy
            | DeleteReason::Exhausted => observed,
        };
        let preconditions = Preconditions { uid: Some(machine.uid.to_string()), resource_version };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        match within_deadline(self.machines_api().delete(machine.name.as_str(), &params)).await {
            Ok(answer) => {
                let remaining = answer.left().filter(|object| object.metadata.deletion_timestamp.is_some());
                if remaining.is_none() {
                    self.note_deleted(machine);
                }
                Ok(remaining
                    .and_then(|object| object.metadata.resource_version)
                    .map(|version| (Kind::Machine, version)))
            }
            Err(error) => {
                if error == ActError::Gone {
                    self.note_deleted(machine);
                }
                Err(error)
            }
        }
    }

    fn note_deleted(&self, machine: &MachineRef) {
        let key = ObjectKey::new(self.namespace(), machine.name.as_str());
        let cached = || self.tenant.machines.get(&key).and_then(|object| object.metadata.uid.clone());
        self.tenant.deleted.add(&machine.uid, || cached().as_deref() == Some(machine.uid.as_str()));
    }
}

fn meta_of(machine: &MachineRef) -> ObjectMeta {
    ObjectMeta { uid: Some(machine.uid.to_string()), ..ObjectMeta::default() }
}

/// A request to make a Machine that the server gives up in time. The client has no parameter for that.
fn create_request(namespace: &str, body: &Value) -> Result<http::Request<Vec<u8>>, String> {
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let request = Request::new(Machine::url_path(&(), Some(namespace)));
    let mut request =
        request.create(&params, body.to_string().into_bytes()).map_err(|error| error.to_string())?;
    let uri = format!("{}&timeout={CREATION_SECONDS}s", request.uri());
    *request.uri_mut() = uri.parse().map_err(|error: http::uri::InvalidUri| error.to_string())?;
    Ok(request)
}

#[cfg(test)]
mod tests {
    use machinist_core::scheduling::barrier::LANDING;

    use super::*;

    #[test]
    fn a_machine_is_asked_for_with_a_time_after_which_the_server_does_not_begin() {
        let request = create_request("shoot", &json!({ "a": 1 })).unwrap();
        let uri = request.uri().to_string();
        assert!(uri.starts_with("/apis/machine.sapcloud.io/v1alpha1/namespaces/shoot/machines?"), "{uri}");
        assert!(uri.contains("fieldManager=machinist") && uri.ends_with("&timeout=10s"), "{uri}");
        assert_eq!(
            (request.method().as_str(), request.body().as_slice()),
            ("POST", br#"{"a":1}"#.as_slice())
        );
        assert!(i64::from(CREATION_SECONDS) < LANDING.as_secs());
    }
}

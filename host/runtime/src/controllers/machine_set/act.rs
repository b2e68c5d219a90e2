//! Effects of sets. Each has a deadline, a precondition, and an outcome; none decides anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::Api;
use kube::api::ListParams;
use kube::core::{DeserializeGuard, ObjectMeta};
use machinist_api::{Machine, MachineSet, names};
use machinist_core::driver::write_error::ActError;
use machinist_core::machine::MetaChange;
use machinist_core::machine::node::preservation::AUTO_PRESERVED;
use machinist_core::machine_set::{
    CreateMode, CurrentSet, DeleteReason, MachineRef, NameTakenBy, PreserveChange, SetEffect, SetOutcome,
};
use machinist_core::value::id::{Name, ObjectKey, Uid};
use serde_json::{Value, json};

use super::body;
use crate::client::errors::within_deadline;
use crate::client::writes;
use crate::client::writes::{WriteOutcome, merge, only, version_of};
use crate::context::Context;
use crate::context::key::{Key, Kind};
use crate::controllers::facts::machine_set::observe;
use crate::controllers::facts::machine_set::observe::ObservedSet;
use crate::controllers::objects::metadata::{Metadata, controller_reference, is_controlled_by};
use crate::controllers::state::TenantState;

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
                    effect_context.tenant, effect_context.observed, listing.machines, listing.unreadable,
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
        merge(&self.sets_api(), Kind::Set, name, patch).await
    }

    async fn patch_machine(&self, machine: &MachineRef, patch: Value) -> WriteOutcome {
        merge(&self.machines_api(), Kind::Machine, machine.name.as_str(), patch).await
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
        let metadata =
            Metadata::of(self.set).in_version(self.set).with_change(&change.labels, &change.annotations);
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
        let is_own = is_controlled_by(&look.ok_or(ActError::Gone)?.metadata, self.set);
        Ok(if is_own { NameTakenBy::This } else { NameTakenBy::Other })
    }

    /// Adds the set to the owners of a Machine, or removes it. The list is written whole, so it must be the list that
    /// was read.
    async fn set_owner(&self, machine: &MachineRef, owns: bool) -> WriteOutcome {
        let object = self.machines.get(&machine.uid).ok_or(ActError::Gone)?;
        let mut owners = object.metadata.owner_references.clone().unwrap_or_default();
        owners.retain(|owner| Some(&owner.uid) != self.set.uid.as_ref());
        if owns {
            owners.push(controller_reference("MachineSet", self.set));
        }
        let metadata = Metadata::of(&object.metadata)
            .in_version(&object.metadata)
            .with("ownerReferences", json!(owners));
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
        let key = ObjectKey::new(self.namespace(), name.as_str());
        let expected = (birth == CreateMode::Claimed).then(|| self.tenant.unstarted.expect(key));
        let made: Machine = writes::create(&self.context.control, self.namespace(), &body).await?;
        if let Some(expected) = expected {
            expected.created(Uid::new(made.metadata.uid.as_deref().unwrap_or_default()));
        }
        Ok(version_of(Kind::Machine, &made))
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
        let params = only(Some(machine.uid.to_string()), resource_version);
        let key = ObjectKey::new(self.namespace(), machine.name.as_str());
        let on_gone = || self.tenant.note_deleted(&Key::Machine(key), &machine.uid);
        writes::delete(&self.machines_api(), Kind::Machine, machine.name.as_str(), &params, on_gone).await
    }
}

fn meta_of(machine: &MachineRef) -> ObjectMeta {
    ObjectMeta { uid: Some(machine.uid.to_string()), ..ObjectMeta::default() }
}

/// Of one page: small enough that no server stumbles over it.
const PAGE: u32 = 500;

/// The Machines of a namespace, and the version that they are of.
pub(super) struct MachineListing {
    pub(super) machines: Vec<Machine>,
    /// Those that cannot be decoded: they are there, and nothing else is known of them.
    pub(super) unreadable: Vec<ObjectMeta>,
    pub(super) version: String,
}

/// Lists Machines. Without a version in the request, so that the server reads its storage and not its cache. All pages
/// have the version of the first. A Machine that cannot be decoded affects only itself.
pub(super) async fn list(api: &Api<DeserializeGuard<Machine>>) -> Result<MachineListing, ActError> {
    let (mut machines, mut unreadable) = (Vec::new(), Vec::new());
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = within_deadline(api.list(&params)).await?;
        for item in page.items {
            match item.0 {
                Ok(machine) => machines.push(machine),
                Err(invalid) => unreadable.push(invalid.metadata),
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => {
                let version = page.metadata.resource_version.unwrap_or_default();
                return Ok(MachineListing { machines, unreadable, version });
            }
        }
    }
}

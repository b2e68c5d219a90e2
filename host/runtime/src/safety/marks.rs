//! Stores the cluster's mark on Machines and classes that have none, as listings prove it.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

use kube::api::{Patch, PatchParams};
use kube::core::ObjectMeta;
use kube::{Api, Resource};
use machinist_api::{Machine, MachineClass, names};
use machinist_core::safety::marks::{StoredMark, proof};
use machinist_core::safety::orphans::ClassListing;
use machinist_core::value::id::{ClassName, Name};
use serde::de::DeserializeOwned;
use serde_json::json;
use tracing::debug;

use crate::cache::fields::cluster_mark;
use crate::client::errors::within_deadline;
use crate::client::field_manager::FIELD_MANAGER;
use crate::controllers::objects::metadata::Metadata;

use super::SafetyWatch;
use super::owners::{Cached, named};

/// Machines that one round writes at most. New Machines get their mark with the id of their VM, so that these are
/// older ones.
const MACHINES: usize = 200;

/// Takes note of a round of believed listings. A write that fails comes again with the next round.
pub(super) async fn store(
    watch: &SafetyWatch,
    listings: &[ClassListing],
    classes: &BTreeMap<ClassName, Arc<MachineClass>>,
    machines: &Cached,
) {
    let machine = |name: &Name| {
        named(machines, name.as_str()).map(|machine| StoredMark {
            provider_id: machine.provider_id(),
            has_mark: cluster_mark(&machine.metadata).is_some(),
        })
    };
    let mut left = MACHINES;
    for listing in listings {
        let proof = proof(&listing.vms, machine);
        let class = classes.get(&listing.class).filter(|class| cluster_mark(&class.metadata).is_none());
        if let Some(class) = class.filter(|_| proof.is_class_proven) {
            write::<MachineClass>(watch, &class.metadata).await;
        }
        for name in proof.machines.iter().take(left) {
            if let Some(machine) = named(machines, name.as_str()) {
                write::<Machine>(watch, &machine.metadata).await;
            }
        }
        left = left.saturating_sub(proof.machines.len());
    }
}

async fn write<T>(watch: &SafetyWatch, meta: &ObjectMeta)
where
    T: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + Debug,
{
    if !watch.may_act() {
        return;
    }
    let name = meta.name.as_deref().unwrap_or_default();
    let mark = json!({ names::annotations::CLUSTER_MARK: watch.tenant.settings.cluster });
    // In this version: nobody else's mark is overwritten.
    let patch = Metadata::of(meta).in_version(meta).with("annotations", mark).patch();
    let api: Api<T> = Api::namespaced(watch.context.control.clone(), &watch.namespace);
    if let Err(error) =
        within_deadline(api.patch(name, &PatchParams::apply(FIELD_MANAGER), &Patch::Merge(patch))).await
    {
        debug!(name, error = %error, "mark of the cluster not stored; the next round tries again");
    }
}

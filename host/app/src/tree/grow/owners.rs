//! Which objects belong to which, by their controllers. Pure.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kube::Resource;
use kube::core::ObjectMeta;

use crate::owner_tree::controller_uid;

/// Objects by the uid of their controller.
pub(super) struct Owners<'a, K> {
    by_uid: BTreeMap<&'a str, Vec<&'a K>>,
}

impl<'a, K: Resource> Owners<'a, K> {
    pub(super) fn of(objects: &'a [K]) -> Self {
        let mut by_uid: BTreeMap<&str, Vec<&K>> = BTreeMap::new();
        for object in objects {
            if let Some(uid) = controller_uid(object.meta()) {
                by_uid.entry(uid).or_default().push(object);
            }
        }
        Self { by_uid }
    }

    /// Those that this object controls.
    pub(super) fn owned_by(&self, owner: &ObjectMeta) -> impl Iterator<Item = &'a K> {
        let uid = owner.uid.as_deref().unwrap_or_default();
        self.by_uid.get(uid).into_iter().flatten().copied()
    }
}

pub(super) fn uids<K: Resource>(objects: &[K]) -> BTreeSet<String> {
    objects.iter().filter_map(|object| object.meta().uid.clone()).collect()
}

/// Its controller is one of these.
pub(super) fn is_among(uids: &BTreeSet<String>, meta: &ObjectMeta) -> bool {
    controller_uid(meta).is_some_and(|uid| uids.contains(uid))
}

/// Its controller, by kind and name.
pub(super) fn controller(meta: &ObjectMeta) -> Option<(&str, &str)> {
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    Some((owner.kind.as_str(), owner.name.as_str()))
}

/// Its controller, which is not there, in words.
pub(super) fn lost_owner(meta: &ObjectMeta) -> Option<String> {
    controller(meta).map(|(kind, name)| format!("{kind} {name}"))
}

pub(super) fn created(meta: &ObjectMeta) -> Option<Timestamp> {
    meta.creation_timestamp.as_ref().map(|time| time.0)
}

pub(super) fn deletion_asked(meta: &ObjectMeta) -> Option<Timestamp> {
    meta.deletion_timestamp.as_ref().map(|time| time.0)
}

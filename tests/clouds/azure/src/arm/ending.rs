//! The effect of an operation at its end.

use crate::cloud::Cloud;
use crate::state::{Action, Key, Kind, Operation, State};

/// Does what an operation does in the end.
pub(super) fn finish(cloud: &mut Cloud, operation: &Operation, now_ms: u64) {
    match (operation.action, &operation.failure) {
        (Action::Create, Some(failure)) => fail(cloud, &operation.key, failure, now_ms),
        (Action::Create, None) => succeed(cloud, &operation.key, true),
        (Action::Update | Action::Restart, None) => succeed(cloud, &operation.key, false),
        (Action::Update | Action::Restart, Some(_)) => cloud.set_state(&operation.key, State::Failed),
        (Action::Delete { .. }, Some(failure)) => {
            if let Some(resource) = cloud.resources.get_mut(&operation.key) {
                resource.state = State::Failed;
                resource.failure = Some(failure.clone());
            }
        }
        (Action::Delete { leaves_parts }, None) => delete(cloud, &operation.key, leaves_parts),
    }
}

fn succeed(cloud: &mut Cloud, key: &Key, starts: bool) {
    if let Some(resource) = cloud.resources.get_mut(key)
        && resource.state != State::Deleting
    {
        resource.state = State::Succeeded;
        resource.is_running |= starts;
    }
    if key.kind == Kind::Vm && starts {
        for part in parts_of(cloud, key) {
            cloud.set_state(&part, State::Succeeded);
        }
    }
}

/// A VM that could not be made stays, with its parts, until somebody deletes it.
fn fail(cloud: &mut Cloud, key: &Key, failure: &(String, String), now_ms: u64) {
    if let Some(resource) = cloud.resources.get_mut(key) {
        resource.state = State::Failed;
        resource.failure = Some(failure.clone());
    }
    let until = now_ms + cloud.options.nic_reserved_ms;
    for part in parts_of(cloud, key) {
        if let Some(resource) = cloud.resources.get_mut(&part) {
            resource.state = State::Succeeded;
            resource.reserved_until_ms = until;
        }
    }
}

fn parts_of(cloud: &Cloud, vm: &Key) -> Vec<Key> {
    let id = cloud.id_of(vm);
    let is_part = |attached: Option<&String>| attached.is_some_and(|vm| vm.eq_ignore_ascii_case(&id));
    let own = cloud.resources.iter().filter(|(_, resource)| is_part(resource.attached_to.as_ref()));
    own.map(|(key, _)| key.clone()).collect()
}

/// Deletes a resource; with a VM those parts for which it says so. The others are free again.
pub(crate) fn delete(cloud: &mut Cloud, key: &Key, leaves_parts: bool) {
    if key.kind == Kind::Vm {
        let parts = parts_of(cloud, key);
        let Some(vm) = cloud.resources.get(key).cloned() else { return };
        for part in parts {
            let id = cloud.id_of(&part);
            if super::vms::goes_with_vm(&vm, &id) && !leaves_parts {
                cloud.remove(&part);
            } else if let Some(resource) = cloud.resources.get_mut(&part) {
                resource.attached_to = None;
            }
        }
    }
    cloud.remove(key);
}

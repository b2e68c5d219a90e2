//! Nodes by the VM that they name, and by the Machine that has marked them.
//!
//! For Machines whose label does not lead to their Node. Follows the cache of Nodes; callers read the named Nodes
//! there.

use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::Node;
use machinist_api::names;
use machinist_core::value::id::ProviderId;
use machinist_core::value::same_vm::vm_name;

use super::groups::Groups;

#[derive(Debug, Default)]
struct Maps {
    by_vm: Groups<String, String>,
    by_mark: Groups<String, String>,
}

/// Names of Nodes. Never locked across an await.
#[derive(Debug, Default)]
pub(crate) struct NodeIndex(Mutex<Maps>);

impl NodeIndex {
    /// The Node of this name changed from `old` to `new`.
    pub(crate) fn changed(&self, name: &str, old: Option<&Node>, new: Option<&Node>) {
        // A panic of another holder leaves a candidate too many or too few, and later changes correct it.
        let mut maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let vm = |node: Option<&Node>| node.and_then(vm_of);
        let mark = |node: Option<&Node>| node.and_then(mark_of).map(str::to_owned);
        let name = name.to_owned();
        maps.by_vm.change(&name, vm(old), vm(new));
        maps.by_mark.change(&name, mark(old), mark(new));
    }

    /// Nodes that may be of this VM: their ids have to be compared.
    pub(crate) fn of_vm(&self, id: &ProviderId) -> Vec<String> {
        let maps = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        vm_name(id.as_str()).map(|vm| maps.by_vm.of(&vm)).unwrap_or_default()
    }

    /// Nodes that carry the label of this Machine.
    pub(crate) fn marked(&self, machine: &str) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_mark.of(machine)
    }
}

/// The part by which a Node's provider id names its VM.
pub(crate) fn vm_of(node: &Node) -> Option<String> {
    vm_name(node.spec.as_ref()?.provider_id.as_deref()?)
}

/// The label with which its Machine marked the Node.
pub(crate) fn mark_of(node: &Node) -> Option<&str> {
    node.metadata.labels.as_ref()?.get(names::labels::MACHINE_NAME).map(String::as_str)
}

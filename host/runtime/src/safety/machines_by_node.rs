//! Which Machines answer for which Node.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use machinist_api::names;
use machinist_core::value::id::Name;
use machinist_core::value::same_vm::{Vms, vm_name};

/// A Machine, as far as it can claim a Node.
pub(super) struct MachineEntry<'a> {
    pub(super) name: &'a str,
    /// By its label.
    pub(super) node: Option<&'a str>,
    pub(super) provider_id: Option<&'a str>,
}

/// A Machine's name and its VM.
type MachineVm<'a> = (&'a str, Option<&'a str>);

/// Who claims which Node.
#[derive(Default)]
pub(super) struct MachinesByNode<'a> {
    by_node: BTreeMap<&'a str, Vec<MachineVm<'a>>>,
    by_vm: BTreeMap<String, Vec<MachineVm<'a>>>,
    by_name: BTreeMap<&'a str, MachineVm<'a>>,
}

impl<'a> MachinesByNode<'a> {
    pub(super) fn of(machines: impl Iterator<Item = MachineEntry<'a>>) -> Self {
        let mut machines_by_node = Self::default();
        for MachineEntry { name, node, provider_id } in machines {
            let machine_vm = (name, provider_id);
            machines_by_node.by_name.insert(name, machine_vm);
            if let Some(node) = node.filter(|node| !node.is_empty()) {
                machines_by_node.by_node.entry(node).or_default().push(machine_vm);
            }
            if let Some(vm) = provider_id.and_then(vm_name) {
                machines_by_node.by_vm.entry(vm).or_default().push(machine_vm);
            }
        }
        machines_by_node
    }

    /// Machines that claim the Node by label, or whose VM it is, or that it names itself. Whoever names it and has another VM
    /// does not count beside others; and it does not count at all for a Node that is being deleted, since it leaves that Node
    /// alone, and waits until it is gone.
    pub(super) fn of_node(&self, node: &Node) -> Vec<Name> {
        let vm = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).unwrap_or_default();
        let vms = |machine_vm: &&MachineVm<'_>| Vms::of_texts(vm, machine_vm.1.unwrap_or_default());
        let may_be = |machine_vm: &&MachineVm<'_>| vms(machine_vm) != Vms::Different;
        let by_label = self.by_node.get(node.name_any().as_str()).map(Vec::as_slice).unwrap_or_default();
        let by_vm = vm_name(vm).and_then(|vm| self.by_vm.get(&vm)).map(Vec::as_slice).unwrap_or_default();
        let named = node.labels().get(names::labels::MACHINE_NAME);
        let named = named.and_then(|name| self.by_name.get(name.as_str()));
        let is_deleting = node.metadata.deletion_timestamp.is_some();

        let mut all = names_of(by_vm.iter().filter(|machine_vm| vms(machine_vm) == Vms::Same));
        all.extend(names_of(by_label.iter().filter(may_be)));
        if all.is_empty() && !is_deleting {
            all = names_of(by_label.iter());
        }
        if all.is_empty() {
            all = names_of(named.into_iter().filter(|machine_vm| !is_deleting || may_be(machine_vm)));
        }
        all.into_iter().collect()
    }
}

fn names_of<'c, 'a: 'c>(machines_of: impl Iterator<Item = &'c MachineVm<'a>>) -> BTreeSet<Name> {
    machines_of.map(|(name, _)| Name::new(name)).collect()
}

#[cfg(test)]
mod tests {
    use machinist_api::Machine;
    use serde_json::{Value, json};

    use super::*;

    /// Who claims Node `n` of this VM, of Machines given by name, Node and VM.
    fn machines_of(vm: &str, node: &Value, machines: &[(&str, &str, &str)]) -> Vec<String> {
        let mut object = json!({ "metadata": { "name": "n" }, "spec": { "providerID": vm } });
        for (key, value) in node.as_object().into_iter().flatten() {
            object["metadata"][key.as_str()] = value.clone();
        }
        let node: Node = serde_json::from_value(object).unwrap();
        let machines: Vec<Machine> = machines
            .iter()
            .map(|(name, node, vm)| {
                let labels = json!({ "node": node });
                let spec = json!({ "class": { "kind": "MachineClass", "name": "c" }, "providerID": vm });
                serde_json::from_value(
                    json!({ "metadata": { "name": name, "labels": labels }, "spec": spec }),
                )
                .unwrap()
            })
            .collect();
        let machines_by_node =
            MachinesByNode::of(
                machines.iter().map(|machine| MachineEntry {
                    name: machine.metadata.name.as_deref().unwrap_or_default(),
                    node: machine
                        .metadata
                        .labels
                        .as_ref()
                        .and_then(|labels| labels.get("node"))
                        .map(String::as_str),
                    provider_id: machine.provider_id(),
                }),
            );
        machines_by_node.of_node(&node).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_node_is_that_of_the_machine_whose_vm_it_is_in_whatever_form_it_says_so() {
        let none = json!({});
        for vm in ["aws:///eu-west-1/i-0a1", "aws:///eu-west-1a/i-0a1"] {
            assert_eq!(machines_of(vm, &none, &[("a", "", "aws:///eu-west-1/i-0a1")]), ["a"]);
            assert_eq!(machines_of(vm, &none, &[("a", "n", "aws:///eu-west-1/i-0a1")]), ["a"]);
        }
        let others = [("a", "n", "hcloud:///fsn1/1"), ("b", "n", "hcloud:///fsn1/2")];
        assert_eq!(machines_of("hcloud://1", &none, &others), ["a"], "the other one has another VM");
        assert_eq!(machines_of("hcloud://3", &none, &others), ["a", "b"], "they name it, so it is no stray");
        assert_eq!(machines_of("hcloud://3", &none, &[("a", "m", "hcloud:///fsn1/1")]), [""; 0]);
        assert_eq!(machines_of("other://x", &none, &[("a", "n", "hcloud:///fsn1/1")]), ["a"], "by its label");
    }

    #[test]
    fn the_name_that_a_node_carries_counts_when_nobody_else_claims_it() {
        let marked = json!({ "labels": { "node.gardener.cloud/machine-name": "a" } });
        assert_eq!(machines_of("", &marked, &[("a", "", "")]), ["a"]);
        assert_eq!(machines_of("", &marked, &[("a", "", ""), ("b", "n", "")]), ["b"]);
        assert_eq!(machines_of("", &marked, &[("b", "", "")]), [""; 0], "a is gone");
    }

    #[test]
    fn a_machine_with_another_vm_does_not_hold_a_node_that_is_being_deleted() {
        let going = json!({
            "deletionTimestamp": "2026-01-01T00:00:00Z", "labels": { "node.gardener.cloud/machine-name": "a" },
        });
        let of_node = "aws:///eu-west-1a/i-0a1";
        assert_eq!(machines_of(of_node, &going, &[("a", "n", "aws:///eu-west-1/i-0a2")]), [""; 0]);
        assert_eq!(machines_of(of_node, &going, &[("a", "n", "aws:///eu-west-1/i-0a1")]), ["a"]);
        assert_eq!(machines_of(of_node, &going, &[("a", "", "")]), ["a"], "it may be its own");
    }
}

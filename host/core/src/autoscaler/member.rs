//! The Machines of a group as instances, and the Machine of a Node.

use std::fmt;

use crate::value::id::{Name, Namespace, NodeName, ObjectKey, ProviderId};
use crate::value::same_vm::SameVm;

use super::creation_error::CreationError;
use super::group::{self, Api, GroupId};

/// A Machine of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    pub name: Name,
    /// The id of its VM as the driver wrote it.
    pub provider_id: Option<ProviderId>,
    /// The name of its Node, which may not have joined yet.
    pub node: Option<NodeName>,
    pub has_joined: bool,
    /// The id that the Node has, where Nodes are known. Clouds write one VM in several forms.
    pub node_provider_id: Option<ProviderId>,
    /// Somebody has deleted it.
    pub is_terminating: bool,
    pub error: Option<CreationError>,
}

/// A Node, or the placeholder of a Machine, as the autoscaler names it.
#[derive(Clone, Copy, Debug)]
pub struct NamedNode<'a> {
    pub provider_id: &'a str,
    pub name: &'a str,
}

impl NamedNode<'_> {
    /// The id, or the name of a Node without one.
    pub fn text(&self) -> &str {
        if self.provider_id.is_empty() { self.name } else { self.provider_id }
    }
}

/// The id of a Machine that has no VM yet. The autoscaler counts it by this id, and may delete the Machine by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedId {
    pub api: Api,
    pub machine: ObjectKey,
}

const SCHEME: &str = "requested://";

impl fmt::Display for RequestedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}/{}/{}", self.api.word(), self.machine.namespace, self.machine.name)
    }
}

impl RequestedId {
    /// The autoscaler uses an id without a Node as the name of a Node as well.
    pub fn parse(node: &NamedNode<'_>) -> Option<Self> {
        let (api, machine) = group::parse(node.text().strip_prefix(SCHEME)?)?;
        Some(Self { api, machine })
    }

    fn of(group: &GroupId, machine: &Name) -> Self {
        let namespace: &Namespace = &group.deployment.namespace;
        Self { api: group.api, machine: ObjectKey::new(namespace.as_str(), machine.as_str()) }
    }
}

/// The states of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    Running,
    Creating,
    Deleting,
}

/// A Machine as the autoscaler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The provider id of its Node, or a placeholder.
    pub id: String,
    pub state: InstanceState,
    pub error: Option<CreationError>,
}

impl GroupMember {
    /// Returns whether a VM is known.
    pub fn has_vm(&self) -> bool {
        self.provider_id.is_some() || self.node_provider_id.is_some()
    }

    /// Its instance. A Machine that was chosen for deletion counts as being deleted before it is.
    pub fn instance(&self, group: &GroupId, is_chosen: bool) -> Instance {
        let id = self
            .node_provider_id
            .as_ref()
            .or(self.provider_id.as_ref())
            .map_or_else(|| RequestedId::of(group, &self.name).to_string(), |id| id.as_str().to_owned());
        let state = match () {
            () if self.is_terminating || is_chosen => InstanceState::Deleting,
            () if self.has_vm() && self.has_joined => InstanceState::Running,
            () => InstanceState::Creating,
        };
        let is_created = state == InstanceState::Creating && !self.has_vm();
        Instance { id, state, error: self.error.clone().filter(|_| is_created) }
    }

    /// Returns whether this Machine's Node, or its placeholder, is meant. A Node's name counts only where no id
    /// contradicts it.
    pub fn is_named(&self, api: Api, namespace: &str, node: &NamedNode<'_>) -> bool {
        if let Some(placeholder) = RequestedId::parse(node) {
            let RequestedId { api: of, machine } = placeholder;
            return of == api && machine.namespace.as_str() == namespace && machine.name == self.name;
        }
        let has_name = self.node.as_ref().is_some_and(|own| own.as_str() == node.name);
        let ids = [&self.node_provider_id, &self.provider_id].into_iter().flatten();
        let id = (!node.provider_id.is_empty()).then(|| ProviderId::new(node.provider_id));
        let compared: Vec<SameVm> = ids.map(|own| SameVm::of(Some(own), id.as_ref())).collect();
        compared.contains(&SameVm::Same) || (has_name && !compared.contains(&SameVm::Different))
    }
}

#[cfg(test)]
mod tests {
    use super::super::creation_error::ErrorClass;
    use super::*;

    fn member(provider_id: Option<&str>, node: Option<&str>) -> GroupMember {
        GroupMember {
            name: Name::new("m"),
            provider_id: provider_id.map(ProviderId::new),
            node: node.map(NodeName::new),
            has_joined: node.is_some(),
            node_provider_id: None,
            is_terminating: false,
            error: None,
        }
    }

    fn group() -> GroupId {
        "mcm/shoot/pool".parse().unwrap()
    }

    #[test]
    fn an_instance_has_the_id_of_its_node_and_without_a_vm_a_placeholder() {
        let check = |member: &GroupMember, is_chosen, id: &str, state| {
            let instance = member.instance(&group(), is_chosen);
            assert_eq!((instance.id.as_str(), instance.state), (id, state));
        };
        let (vm, node) = (Some("aws:///eu-west-1/i-0a1"), Some("node"));
        check(&member(None, None), false, "requested://mcm/shoot/m", InstanceState::Creating);
        check(&member(vm, None), false, "aws:///eu-west-1/i-0a1", InstanceState::Creating);
        check(&member(vm, node), false, "aws:///eu-west-1/i-0a1", InstanceState::Running);
        let booting = GroupMember { has_joined: false, ..member(vm, node) };
        check(&booting, false, "aws:///eu-west-1/i-0a1", InstanceState::Creating);
        check(&member(vm, node), true, "aws:///eu-west-1/i-0a1", InstanceState::Deleting);
        let terminating = GroupMember { is_terminating: true, ..member(None, None) };
        check(&terminating, false, "requested://mcm/shoot/m", InstanceState::Deleting);
        let node_provider_id = Some(ProviderId::new("aws:///eu-west-1a/i-0a1"));
        let joined = GroupMember { node_provider_id, ..member(vm, node) };
        check(&joined, false, "aws:///eu-west-1a/i-0a1", InstanceState::Running);
    }

    #[test]
    fn only_a_machine_that_is_being_created_has_an_error() {
        let error = CreationError { class: ErrorClass::Other, code: "Internal", message: "m".into() };
        let failed = GroupMember { error: Some(error.clone()), ..member(None, None) };
        assert_eq!(failed.instance(&group(), false).error, Some(error.clone()));
        assert_eq!(failed.instance(&group(), true).error, None);
        let created = GroupMember { error: Some(error), ..member(Some("sim:///a/1"), None) };
        assert_eq!(created.instance(&group(), false).error, None);
    }

    #[test]
    fn a_node_is_found_by_its_id_in_any_form_and_by_its_name_unless_the_ids_differ() {
        let check = |member: &GroupMember, provider_id, name, expected| {
            let node = NamedNode { provider_id, name };
            assert_eq!(member.is_named(Api::Mcm, "shoot", &node), expected, "{node:?}");
        };
        let joined = member(Some("aws:///eu-west-1/i-0a1"), Some("node"));
        check(&joined, "aws:///eu-west-1/i-0a1", "other", true);
        check(&joined, "aws:///eu-west-1a/i-0a1", "", true);
        check(&joined, "aws:///eu-west-1a/i-0a2", "node", false);
        check(&joined, "", "node", true);
        check(&joined, "", "other", false);
        check(&joined, "", "", false);
        let without_id = member(None, Some("node"));
        check(&without_id, "aws:///eu-west-1a/i-0a2", "node", true);
        check(&without_id, "aws:///eu-west-1a/i-0a2", "other", false);
        check(&member(None, None), "", "", false);
    }

    #[test]
    fn a_placeholder_names_one_machine_of_one_api_and_namespace() {
        let (id, joined) = ("requested://mcm/shoot/m", member(Some("sim:///a/1"), Some("node")));
        let is_named =
            |api, namespace, id| joined.is_named(api, namespace, &NamedNode { provider_id: id, name: id });
        assert!(is_named(Api::Mcm, "shoot", id));
        assert!(!is_named(Api::Capi, "shoot", id) && !is_named(Api::Mcm, "other", id));
        assert!(!is_named(Api::Mcm, "shoot", "requested://mcm/shoot/n"));
        assert!(joined.is_named(Api::Mcm, "shoot", &NamedNode { provider_id: "", name: id }));
    }
}

//! The sets of a deployment, and their templates.

use std::collections::BTreeMap;

use jiff::Timestamp;
use machinist_api::template::MachineTemplate;
use machinist_api::{MachineDeployment, MachineSet, names};
use machinist_core::machine_deployment::{SetCandidate, current, find_revision, parse_revision};
use machinist_core::value::id::Name;
use machinist_runtime::template_fact;
use serde_json::Value;

use super::{annotation, controller_uid, name};

/// Those that a deployment controls.
#[derive(Debug)]
pub(crate) struct Sets<'a> {
    /// The one of its template.
    pub(crate) new: Option<&'a MachineSet>,
    /// All others that stay, the oldest first.
    pub(crate) old: Vec<&'a MachineSet>,
    /// Those that are being deleted.
    pub(crate) leaving: Vec<&'a MachineSet>,
}

/// The revision of a deployment or set; 0 where it has none.
pub(crate) fn revision(meta: &kube::core::ObjectMeta) -> i64 {
    parse_revision(annotation(meta, names::annotations::REVISION))
}

impl<'a> Sets<'a> {
    /// Of all sets of the namespace.
    pub(crate) fn of(deployment: &MachineDeployment, sets: impl IntoIterator<Item = &'a MachineSet>) -> Self {
        let uid = deployment.metadata.uid.as_deref();
        let mut owned: Vec<&MachineSet> =
            sets.into_iter().filter(|set| uid.is_some() && controller_uid(&set.metadata) == uid).collect();
        owned.sort_by_key(|set| (created(set), name(&set.metadata)));
        let (leaving, staying): (Vec<_>, Vec<_>) =
            owned.into_iter().partition(|set| set.metadata.deletion_timestamp.is_some());
        let facts: Vec<_> = staying
            .iter()
            .map(|set| (*set, Name::from(name(&set.metadata)), template_fact(&template_of(set))))
            .collect();
        let candidates = facts.iter().map(|(set, name, template)| SetCandidate {
            set: *set,
            created: created(set),
            name,
            template,
        });
        let wanted = template_fact(&deployment.spec.template);
        let new = current(candidates, &wanted, names::labels::TEMPLATE_HASH);
        let is_old = |set: &&MachineSet| new.is_none_or(|new| new.metadata.uid != set.metadata.uid);
        Self { new, old: staying.into_iter().filter(is_old).collect(), leaving }
    }

    /// Those that stay, the current one first.
    pub(crate) fn staying(&self) -> impl Iterator<Item = &'a MachineSet> {
        self.new.into_iter().chain(self.old.iter().copied())
    }

    /// Those that one can return to, by their revision.
    pub(crate) fn kept(&self) -> BTreeMap<i64, &'a MachineSet> {
        let all = self.staying().map(|set| (revision(&set.metadata), set));
        all.filter(|(revision, _)| *revision > 0).collect()
    }

    /// The revision of the deployment's template, where there is a set of it.
    pub(crate) fn current_revision(&self) -> Option<i64> {
        self.new.map(|new| revision(&new.metadata))
    }

    /// The set of a revision; 0 is the one before the current.
    pub(crate) fn of_revision(&self, wished: i64) -> Option<(i64, &'a MachineSet)> {
        find_revision(&self.kept(), self.current_revision(), wished).map(|(revision, set)| (revision, *set))
    }
}

/// The template of its Machines.
pub(crate) fn template_of(set: &MachineSet) -> MachineTemplate {
    set.spec.template.clone().unwrap_or_default()
}

fn created(set: &MachineSet) -> Timestamp {
    set.metadata.creation_timestamp.as_ref().map_or(Timestamp::MIN, |time| time.0)
}

/// Machines of one are good for the other.
pub(crate) fn is_same(one: &MachineTemplate, other: &MachineTemplate) -> bool {
    template_fact(one).makes_the_same_as(&template_fact(other), names::labels::TEMPLATE_HASH)
}

/// As it is shown: without the label of its hash, which sets have and deployments do not.
pub(crate) fn text(template: &MachineTemplate) -> Value {
    let mut value = serde_json::to_value(template).unwrap_or_default();
    if let Some(labels) = value.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(names::labels::TEMPLATE_HASH);
        if labels.is_empty()
            && let Some(metadata) = value.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("labels");
        }
    }
    value
}

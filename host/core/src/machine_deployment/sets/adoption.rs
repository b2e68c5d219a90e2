//! Adopts sets without a controller that the deployment selects, and releases those that it no longer selects.

use std::collections::BTreeSet;

use crate::machine_deployment::effect::{DeploymentEffect, MachineChange, SetChange};
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact, SetOwner};

pub(crate) fn claims(view: &DeploymentView) -> Vec<DeploymentEffect> {
    let sets = view.sets.iter().filter(|set| !set.is_deleting);
    let mut effects: Vec<(&OwnedSetFact, DeploymentEffect)> = sets
        .filter_map(|set| match (&set.owner, set.is_selected) {
            (SetOwner::Nobody, true) => Some((set, DeploymentEffect::AdoptSet(set.into()))),
            (SetOwner::This, false) => Some((set, DeploymentEffect::ReleaseSet(set.into()))),
            (SetOwner::Nobody, false) | (SetOwner::This, true) | (SetOwner::Other(_), _) => None,
        })
        .collect();
    effects.sort_by_key(|(set, _)| (set.created, set.name.clone()));
    effects.into_iter().map(|(_, effect)| effect).collect()
}

/// Labels a set that somebody created by hand with the hash that distinguishes its Machines from those of other
/// templates: first its template, for new Machines, then its existing Machines, then its selector.
pub(crate) fn label_by_hash(view: &DeploymentView) -> Vec<DeploymentEffect> {
    let owned = || view.sets.iter().filter(|set| set.owner == SetOwner::This && !set.is_deleting);
    let taken: BTreeSet<&str> = owned().filter_map(|set| set.selected_hash.as_deref()).collect();
    owned().filter(|set| set.selected_hash.is_none()).flat_map(|set| label(view, set, &taken)).collect()
}

fn label(view: &DeploymentView, set: &OwnedSetFact, taken: &BTreeSet<&str>) -> Vec<DeploymentEffect> {
    let key = view.names.template_hash;
    let write = |change: SetChange| vec![DeploymentEffect::WriteSet { set: set.into(), change }];
    let Some(hash) = set.template.labels.get(key) else {
        let hash = free_hash(view, set, taken);
        return write(SetChange { template_label: Some((key.to_owned(), hash)), ..SetChange::default() });
    };
    let without =
        set.machines.iter().filter(|machine| machine.hash.as_ref() != Some(hash) && !machine.is_unreadable);
    let machines: Vec<DeploymentEffect> = without
        .map(|machine| DeploymentEffect::WriteMachine {
            machine: machine.into(),
            change: MachineChange::Hash(hash.clone()),
        })
        .collect();
    let is_settled = set.observed_generation.is_some_and(|observed| observed >= set.generation);
    if !machines.is_empty() || !is_settled {
        return machines;
    }
    write(SetChange {
        labels: [(key.to_owned(), Some(hash.clone()))].into(),
        selector_label: Some((key.to_owned(), hash.clone())),
        ..SetChange::default()
    })
}

fn free_hash(view: &DeploymentView, set: &OwnedSetFact, taken: &BTreeSet<&str>) -> String {
    let key = view.names.template_hash;
    let tries = std::iter::once(None).chain((1..).map(Some));
    let mut hashes = tries.map(|collisions| set.template.hash(key, collisions).to_string());
    hashes.find(|hash| !taken.contains(hash.as_str())).unwrap_or_default()
}

//! Creates the set of the deployment's template, and copies settings to sets.

use std::collections::BTreeMap;

use crate::machine::template::name_suffix;

use super::group::{SetGroup, Tally};
use super::revision;
use crate::machine_deployment::effect::{DeploymentEffect, NewSet, SetChange};
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact};
use crate::machine_deployment::rollout::strategy::{RolloutBounds, Strategy};

/// Returns the creation of the set. The collision count distinguishes templates whose names would be the same.
pub(crate) fn create(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    replicas: u32,
    bounds: RolloutBounds,
) -> DeploymentEffect {
    let deployment = &view.deployment;
    let collisions = deployment.status.collision_count;
    let hash = deployment.spec.template.hash(view.names.template_hash, collisions);
    let travelling = deployment.annotations.iter().filter(|(key, _)| view.names.travels(key));
    let mut annotations: BTreeMap<String, String> =
        travelling.map(|(key, value)| (key.clone(), value.clone())).collect();
    annotations.insert(view.names.revision.to_owned(), revision::current(view, group).to_string());
    annotations.extend(scaled(view, bounds).map(|(key, value)| (key.to_owned(), value)));
    DeploymentEffect::CreateSet(NewSet {
        name: format!("{}-{}", deployment.key.name, name_suffix(hash)).into(),
        hash: hash.to_string(),
        replicas,
        annotations,
    })
}

/// Returns the annotations that a set gets when it is scaled.
fn scaled(view: &DeploymentView, bounds: RolloutBounds) -> [(&'static str, String); 2] {
    [
        (view.names.desired_replicas, bounds.desired.to_string()),
        (view.names.max_replicas, bounds.most().to_string()),
    ]
}

/// Notes on a set that it follows the deployment's number, if that is missing.
pub(crate) fn note_scaled(
    view: &DeploymentView,
    set: &OwnedSetFact,
    bounds: RolloutBounds,
    change: &mut SetChange,
) {
    for (key, value) in scaled(view, bounds) {
        put(set, key, value, change);
    }
}

/// Adds the metadata and settings of the current set.
pub(crate) fn keep_new(view: &DeploymentView, group: &SetGroup<'_>, new: &Tally<'_>, change: &mut SetChange) {
    let (deployment, set) = (&view.deployment, new.set);
    for (key, value) in deployment.annotations.iter().filter(|(key, _)| view.names.travels(key)) {
        put(set, key, value.clone(), change);
    }
    let current = revision::current(view, group);
    if current != revision::of(view, set) {
        put(set, view.names.revision, current.to_string(), change);
        if let Some(history) = revision::history(view, set) {
            put(set, view.names.revision_history, history, change);
        }
    }
    if set.annotations.contains_key(view.names.prefer_no_schedule) {
        change.annotations.insert(view.names.prefer_no_schedule.to_owned(), None);
    }
    if set.is_scale_up_disabled && has_followed(new, change) {
        change.labels.insert(view.names.scale_up_disabled.to_owned(), None);
    }
    change.takes_settings = !deployment.spec.template.hands_on_the_same_as(&set.template)
        || deployment.spec.min_ready_seconds != set.min_ready_seconds
        || deployment.spec.auto_preserve_max != set.auto_preserve_max;
}

/// Adds the metadata of an old set with Machines.
///
/// The time of the autoscaler's last scale-down goes to all of them, since a marked Machine may be in any.
pub(crate) fn keep_old(view: &DeploymentView, old: &Tally<'_>, strategy: Strategy, change: &mut SetChange) {
    if old.is_empty() {
        return;
    }
    let lowered = view.names.replica_change_time;
    if let Some(value) = view.deployment.annotations.get(lowered) {
        put(old.set, lowered, value.clone(), change);
    }
    if strategy != Strategy::Recreate {
        put(old.set, view.names.prefer_no_schedule, "True".to_owned(), change);
    }
    let is_in_place = matches!(strategy, Strategy::InPlaceUpdate(..));
    if is_in_place != old.set.is_scale_up_disabled && (is_in_place || has_followed(old, change)) {
        let value = is_in_place.then(|| "true".to_owned());
        change.labels.insert(view.names.scale_up_disabled.to_owned(), value);
    }
}

/// Returns whether its number matches its Machines, so that it does not create a Machine again that has changed its
/// set.
fn has_followed(tally: &Tally<'_>, change: &SetChange) -> bool {
    let wanted = change.replicas.map_or(tally.wanted, |(_, to)| to);
    tally.is_settled() && wanted <= tally.live
}

fn put(set: &OwnedSetFact, key: &str, value: String, change: &mut SetChange) {
    if set.annotations.get(key) != Some(&value) {
        change.annotations.insert(key.to_owned(), Some(value));
    }
}

/// Adds the metadata of any set while the deployment is paused, since the autoscaler continues.
pub(crate) fn keep_paused(view: &DeploymentView, tally: &Tally<'_>, change: &mut SetChange) {
    let lowered = view.names.replica_change_time;
    if let Some(value) = view.deployment.annotations.get(lowered).filter(|_| !tally.is_empty()) {
        put(tally.set, lowered, value.clone(), change);
    }
}

//! The set of the deployment's template, and what sets take over from their deployment.

use std::collections::BTreeMap;

use crate::machine::template::name_suffix;

use super::group::{SetGroup, Tally};
use super::revision;
use crate::machine_deployment::effect::{DeploymentEffect, NewSet, SetChange};
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact};
use crate::machine_deployment::rollout::strategy::{RolloutBounds, Strategy};

/// A set that is to be made. Templates whose names would be the same are told apart by how often that has happened.
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

/// What a set notes when it is scaled.
fn scaled(view: &DeploymentView, bounds: RolloutBounds) -> [(&'static str, String); 2] {
    [
        (view.names.desired_replicas, bounds.desired.to_string()),
        (view.names.max_replicas, bounds.most().to_string()),
    ]
}

/// Notes that a set follows the deployment's number, where it does not say so.
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

/// What the set of the deployment's template is to carry.
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

/// What a set of another template is to carry while it has Machines.
///
/// When the autoscaler lowered the number last goes to all of them, since a Machine that it wants to go may be in any.
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

/// Its number says what it has, so that it makes no Machine again that has changed its set.
fn has_followed(tally: &Tally<'_>, change: &SetChange) -> bool {
    let wanted = change.replicas.map_or(tally.wanted, |(_, to)| to);
    tally.is_settled() && wanted <= tally.live
}

fn put(set: &OwnedSetFact, key: &str, value: String, change: &mut SetChange) {
    if set.annotations.get(key) != Some(&value) {
        change.annotations.insert(key.to_owned(), Some(value));
    }
}

/// What any set is to carry while the deployment is paused, since the autoscaler goes on.
pub(crate) fn keep_paused(view: &DeploymentView, tally: &Tally<'_>, change: &mut SetChange) {
    let lowered = view.names.replica_change_time;
    if let Some(value) = view.deployment.annotations.get(lowered).filter(|_| !tally.is_empty()) {
        put(tally.set, lowered, value.clone(), change);
    }
}

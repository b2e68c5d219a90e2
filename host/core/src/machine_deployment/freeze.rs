//! Sets that have too many Machines are frozen; their deployment shows it, and hands on the wish to let them go on.

use super::effect::{DeploymentChange, SetChange};
use super::view::{DeploymentView, Owner, SetFact};

pub(super) fn frozen(view: &DeploymentView) -> impl Iterator<Item = &SetFact> {
    view.sets.iter().filter(|set| set.owner == Owner::This && set.is_frozen)
}

/// The deployment's label follows its sets. The wish to thaw goes once all of them have it or are thawed.
pub(super) fn follow(view: &DeploymentView, change: &mut DeploymentChange) {
    let is_frozen = frozen(view).next().is_some();
    change.freeze = (is_frozen != view.deployment.is_labelled_frozen).then_some(is_frozen);
    let is_wished = view.deployment.annotations.contains_key(view.names.unfreeze);
    if is_wished && frozen(view).all(|set| set.annotations.contains_key(view.names.unfreeze)) {
        change.annotations.insert(view.names.unfreeze.to_owned(), None);
    }
}

/// The wish to thaw, for a set.
pub(super) fn thaw(view: &DeploymentView, set: &SetFact, change: &mut SetChange) {
    let wish = view.deployment.annotations.get(view.names.unfreeze);
    if let Some(wish) = wish.filter(|_| set.is_frozen && !set.annotations.contains_key(view.names.unfreeze)) {
        change.annotations.insert(view.names.unfreeze.to_owned(), Some(wish.clone()));
    }
}

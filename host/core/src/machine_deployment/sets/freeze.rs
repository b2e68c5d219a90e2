//! Shows the freeze of sets that have too many Machines, or whose Machines never join, and passes on the request to
//! thaw.

use crate::machine_deployment::effect::{DeploymentChange, SetChange};
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact, SetOwner};
use crate::machine_deployment::status::waits::listed;

pub(crate) fn frozen(view: &DeploymentView) -> impl Iterator<Item = &OwnedSetFact> {
    view.sets.iter().filter(|set| set.owner == SetOwner::This && set.is_frozen)
}

/// Returns why sets are frozen, by the message of the first frozen set.
pub(crate) fn why(view: &DeploymentView) -> Option<String> {
    let mut sets: Vec<&OwnedSetFact> = frozen(view).collect();
    sets.sort_by_key(|set| (set.status.frozen.is_none(), set.name.clone()));
    let first = sets.first()?;
    let why = match first.status.frozen.as_deref().filter(|why| !why.is_empty()) {
        Some(why) => why.to_owned(),
        None => "its label for that is set, and it has not said why yet".to_owned(),
    };
    let names: Vec<&str> = sets.iter().map(|set| set.name.as_str()).collect();
    let creates = if names.len() == 1 { "creates" } else { "create" };
    Some(format!("MachineSet {} {creates} no Machines: {why}", listed(&names)))
}

/// Updates the deployment's label by its sets. The request to thaw is removed once all of them have it or are thawed.
pub(crate) fn follow(view: &DeploymentView, change: &mut DeploymentChange) {
    let is_frozen = frozen(view).next().is_some();
    change.freeze = (is_frozen != view.deployment.is_labelled_frozen).then_some(is_frozen);
    let is_preserve_requested = view.deployment.annotations.contains_key(view.names.unfreeze);
    if is_preserve_requested && frozen(view).all(|set| set.annotations.contains_key(view.names.unfreeze)) {
        change.annotations.insert(view.names.unfreeze.to_owned(), None);
    }
}

/// Passes the request to thaw to a set.
pub(crate) fn thaw(view: &DeploymentView, set: &OwnedSetFact, change: &mut SetChange) {
    let wish = view.deployment.annotations.get(view.names.unfreeze);
    if let Some(wish) = wish.filter(|_| set.is_frozen && !set.annotations.contains_key(view.names.unfreeze)) {
        change.annotations.insert(view.names.unfreeze.to_owned(), Some(wish.clone()));
    }
}

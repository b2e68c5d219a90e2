//! Revisions of templates: numbers in annotations of sets.

use super::group::Group;
use super::view::{DeploymentView, SetFact};

/// How many earlier revisions of one template are remembered. They only tell people how often they came back to it.
const REMEMBERED: usize = 10;

/// The revision of a set; 0 where it has none.
pub(super) fn of(view: &DeploymentView, set: &SetFact) -> i64 {
    set.annotations.get(view.names.revision).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The revision of the deployment's template: its own where that is the highest, or one higher than all others.
pub(super) fn current(view: &DeploymentView, group: &Group<'_>) -> i64 {
    let highest = group.old.iter().map(|old| of(view, old.set)).max().unwrap_or(0).max(0);
    let own = group.new.as_ref().map_or(0, |new| of(view, new.set));
    if own > highest { own } else { highest.saturating_add(1) }
}

/// The history of a set that gets another revision than it had.
pub(super) fn history(view: &DeploymentView, set: &SetFact) -> Option<String> {
    let before = set.annotations.get(view.names.revision).filter(|revision| !revision.is_empty())?;
    let known = set.annotations.get(view.names.revision_history).map(String::as_str).unwrap_or_default();
    let mut history: Vec<&str> = known.split(',').filter(|revision| !revision.is_empty()).collect();
    history.push(before);
    let first = history.len().saturating_sub(REMEMBERED);
    Some(history.get(first..).unwrap_or_default().join(","))
}

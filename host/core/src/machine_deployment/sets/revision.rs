//! Revisions of templates: numbers in annotations of sets, and how many old sets are kept for rollbacks.

use std::collections::BTreeMap;

use super::group::{SetGroup, size};
use crate::machine_deployment::effect::DeploymentEffect;
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact};
use crate::machine_deployment::validity::ValidSpec;

/// How many earlier revisions of one template are stored. They only show people how often it was restored.
const REMEMBERED: usize = 10;

/// Parses a revision; 0 without one.
pub fn parse_revision(annotation: Option<&str>) -> i64 {
    annotation.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Returns the stored revision to roll back to: 0 is the one before the current, or the last without a current one.
pub fn find_revision<S>(kept: &BTreeMap<i64, S>, current: Option<i64>, requested: i64) -> Option<(i64, &S)> {
    let found = if requested == 0 {
        kept.range(..current.unwrap_or(i64::MAX)).next_back()
    } else {
        kept.get_key_value(&requested)
    };
    found.map(|(revision, set)| (*revision, set))
}

/// Returns the revision of a set; 0 without one.
pub(crate) fn of(view: &DeploymentView, set: &OwnedSetFact) -> i64 {
    parse_revision(set.annotations.get(view.names.revision).map(String::as_str))
}

/// Returns the revision of the deployment's template: its own if that is the highest, or one higher than all others.
pub(crate) fn current(view: &DeploymentView, group: &SetGroup<'_>) -> i64 {
    let highest = group.old.iter().map(|old| of(view, old.set)).max().unwrap_or(0).max(0);
    let own = group.new.as_ref().map_or(0, |new| of(view, new.set));
    if own > highest { own } else { highest.saturating_add(1) }
}

/// Returns the history of a set that gets another revision.
pub(crate) fn history(view: &DeploymentView, set: &OwnedSetFact) -> Option<String> {
    let before = set.annotations.get(view.names.revision).filter(|revision| !revision.is_empty())?;
    let known = set.annotations.get(view.names.revision_history).map(String::as_str).unwrap_or_default();
    let mut history: Vec<&str> = known.split(',').filter(|revision| !revision.is_empty()).collect();
    history.push(before);
    let first = history.len().saturating_sub(REMEMBERED);
    Some(history.get(first..).unwrap_or_default().join(","))
}

/// Returns deletions of the old sets without Machines that are kept for rollbacks beyond the limit, the lowest
/// revisions first, once the rollout is over.
pub(crate) fn superfluous(
    view: &DeploymentView,
    group: &SetGroup<'_>,
    valid: ValidSpec,
) -> Vec<DeploymentEffect> {
    let spec = &view.deployment.spec;
    let Some(limit) = spec.revision_history_limit.and_then(|limit| u32::try_from(limit).ok()) else {
        return Vec::new();
    };
    let is_over =
        group.new.as_ref().is_some_and(|new| new.available >= valid.desired) && group.has_only_new();
    if !is_over || spec.is_paused {
        return Vec::new();
    }
    let mut old: Vec<_> = group.old.iter().collect();
    old.sort_by_key(|old| (of(view, old.set), old.set.created, old.set.name.clone()));
    let beyond = old.len().saturating_sub(size(limit));
    let idle = old.into_iter().take(beyond).filter(|old| old.has_observed() && old.is_empty());
    idle.map(|old| DeploymentEffect::DeleteSet(old.set.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_before_is_below_the_current_and_others_are_taken_by_their_number() {
        let kept = BTreeMap::from([(1, "a"), (3, "b"), (4, "c")]);
        assert_eq!(find_revision(&kept, Some(4), 0), Some((3, &"b")));
        assert_eq!(find_revision(&kept, Some(1), 0), None);
        assert_eq!(find_revision(&kept, None, 0), Some((4, &"c")));
        assert_eq!(find_revision(&kept, Some(4), 1), Some((1, &"a")));
        assert_eq!(find_revision(&kept, Some(4), 2), None);
    }

    #[test]
    fn what_is_no_number_is_no_revision() {
        assert_eq!([None, Some("x"), Some(""), Some("7")].map(parse_revision), [0, 0, 0, 7]);
    }
}

//! Revisions of templates: numbers in annotations of sets.

use std::collections::BTreeMap;

use super::group::SetGroup;
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact};

/// How many earlier revisions of one template are remembered. They only tell people how often they came back to it.
const REMEMBERED: usize = 10;

/// A revision as it is written; 0 where there is none.
pub fn parse_revision(annotation: Option<&str>) -> i64 {
    annotation.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Which of the revisions that are kept somebody wants back: 0 is the one before the current, or the last where there is no
/// current one.
pub fn find_revision<S>(kept: &BTreeMap<i64, S>, current: Option<i64>, wished: i64) -> Option<(i64, &S)> {
    let found = if wished == 0 {
        kept.range(..current.unwrap_or(i64::MAX)).next_back()
    } else {
        kept.get_key_value(&wished)
    };
    found.map(|(revision, set)| (*revision, set))
}

/// The revision of a set; 0 where it has none.
pub(crate) fn of(view: &DeploymentView, set: &OwnedSetFact) -> i64 {
    parse_revision(set.annotations.get(view.names.revision).map(String::as_str))
}

/// The revision of the deployment's template: its own where that is the highest, or one higher than all others.
pub(crate) fn current(view: &DeploymentView, group: &SetGroup<'_>) -> i64 {
    let highest = group.old.iter().map(|old| of(view, old.set)).max().unwrap_or(0).max(0);
    let own = group.new.as_ref().map_or(0, |new| of(view, new.set));
    if own > highest { own } else { highest.saturating_add(1) }
}

/// The history of a set that gets another revision than it had.
pub(crate) fn history(view: &DeploymentView, set: &OwnedSetFact) -> Option<String> {
    let before = set.annotations.get(view.names.revision).filter(|revision| !revision.is_empty())?;
    let known = set.annotations.get(view.names.revision_history).map(String::as_str).unwrap_or_default();
    let mut history: Vec<&str> = known.split(',').filter(|revision| !revision.is_empty()).collect();
    history.push(before);
    let first = history.len().saturating_sub(REMEMBERED);
    Some(history.get(first..).unwrap_or_default().join(","))
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

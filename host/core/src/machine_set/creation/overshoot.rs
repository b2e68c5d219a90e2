//! Freezes a set that has far more Machines than it may have, as a last resort; and if the settings ask for it, one
//! whose last Machines have all failed to join.
//!
//! Machines in deletion count, so that a fast scale-down freezes a set for a moment, as in MCM.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::machine::MetaChange;

use super::join_failures as joins;
use super::names;
use crate::machine_set::conclusion::{SetCondition, SetConditionKind};
use crate::machine_set::effect::SetProgress;
use crate::machine_set::facts::SetView;
use crate::machine_set::members;

/// The decision about the freeze of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreezeDecision {
    /// There are too many.
    Freeze,
    /// It is to end.
    Thaw,
    /// Everything stays as it is.
    Stay,
}

/// Returns the number of Machines from which on there are too many.
fn high(view: &SetView) -> i64 {
    let allowed = match &view.deployment {
        Some(deployment) => i64::from(deployment.replicas) + i64::from(deployment.surge),
        None => i64::from(view.set.replicas) * 2,
    };
    allowed.max(0) + i64::from(view.settings.safety_up)
}

fn count(view: &SetView, progress: &SetProgress) -> i64 {
    let Some(template) = &view.set.template else { return 0 };
    let has_all = |labels: &BTreeMap<String, String>| {
        template.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
    };
    let counted = members::owned(view, progress).into_iter().filter(|machine| has_all(&machine.labels));
    i64::try_from(counted.count()).unwrap_or(i64::MAX)
}

pub(crate) fn verdict(view: &SetView, progress: &SetProgress) -> FreezeDecision {
    let is_frozen = view.set.is_frozen || view.set.told.is_frozen;
    let (count, high) = (count(view, progress), high(view));
    if view.set.is_thaw_asked && is_frozen {
        FreezeDecision::Thaw
    } else if count >= high || joins::are_too_many(view, progress) {
        FreezeDecision::Freeze
    } else if is_frozen && count <= high - i64::from(view.settings.safety_down) {
        FreezeDecision::Thaw
    } else {
        FreezeDecision::Stay
    }
}

/// Returns the labels and annotations of the set to change, if any.
pub(crate) fn change(view: &SetView, progress: &SetProgress, now: Timestamp) -> Option<MetaChange> {
    let (set, names) = (&view.set, view.names);
    let mut change = MetaChange::default();
    match verdict(view, progress) {
        FreezeDecision::Freeze if !set.is_frozen => {
            change.labels.insert(names.freeze.to_owned(), Some(names.freeze_value.to_owned()));
        }
        FreezeDecision::Thaw if set.is_frozen => {
            change.labels.insert(names.freeze.to_owned(), None);
        }
        FreezeDecision::Freeze | FreezeDecision::Thaw | FreezeDecision::Stay => {}
    }
    if set.is_thaw_asked {
        change.annotations.insert(names.unfreeze.to_owned(), None);
    }
    let joins = joins::counted(view, progress);
    if view.settings.failed_joins.is_some() && joins != set.failed_joins {
        change.annotations.insert(names.failed_joins.to_owned(), joins.map(|joins| joins.to_string()));
    }
    if let Some(ordinal) = names::to_close(view, progress, now) {
        change.annotations.insert(names.closed_ordinal.to_owned(), Some(ordinal.to_string()));
    }
    (change != MetaChange::default()).then_some(change)
}

/// Returns whether the freeze blocks creation.
pub(crate) fn holds_creation(view: &SetView, progress: &SetProgress) -> bool {
    match verdict(view, progress) {
        FreezeDecision::Freeze => true,
        FreezeDecision::Thaw => view.set.is_frozen && !matches!(progress.write_set, Some(Ok(()))),
        FreezeDecision::Stay => view.set.is_frozen,
    }
}

/// Returns the condition for the status.
pub(crate) fn condition(view: &SetView, progress: &SetProgress) -> Option<SetCondition> {
    let holds = match verdict(view, progress) {
        FreezeDecision::Freeze => true,
        FreezeDecision::Thaw => view.set.told.is_frozen && holds_creation(view, progress),
        FreezeDecision::Stay => view.set.told.is_frozen,
    };
    if joins::are_too_many(view, progress) {
        let message = format!(
            "the last Machines of the set have all failed to join: none is created until one joins; find out why, for example \
             by keeping one of them, then set the annotation {}",
            view.names.unfreeze
        );
        return Some(SetCondition { kind: SetConditionKind::Frozen, reason: "MachinesFailToJoin", message });
    }
    let (high, down) = (high(view), view.settings.safety_down);
    let message = format!(
        "the set has had {high} Machines or more, which is too many: none is created until there are {} or fewer, or the \
         annotation {} is set",
        high - i64::from(down),
        view.names.unfreeze
    );
    holds.then_some(SetCondition {
        kind: SetConditionKind::Frozen,
        reason: "OverShootingReplicaCount",
        message,
    })
}

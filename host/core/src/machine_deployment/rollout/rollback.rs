//! Rolls back to an earlier template.

use std::collections::BTreeMap;

use crate::machine_deployment::effect::DeploymentChange;
use crate::machine_deployment::facts::{DeploymentView, OwnedSetFact};
use crate::machine_deployment::sets::group::SetGroup;
use crate::machine_deployment::sets::revision;

/// The decision about a rollback.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Rollback {
    /// The template of this revision is restored.
    To { change: DeploymentChange, revision: i64 },
    /// It is the current one already.
    Unchanged { change: DeploymentChange, revision: i64 },
    /// It is not stored any more.
    NotFound { change: DeploymentChange, because: String },
}

/// Decides about a rollback. Revision 0 is the one before the current. The request is removed in any case.
pub(crate) fn decide(view: &DeploymentView, group: &SetGroup<'_>, wished: i64) -> Rollback {
    let hash_label = view.names.template_hash;
    let mut kept: BTreeMap<i64, &OwnedSetFact> = BTreeMap::new();
    for tally in group.staying() {
        let revision = revision::of(view, tally.set);
        if revision > 0 {
            kept.insert(revision, tally.set);
        }
    }
    let current = group.new.as_ref().map(|new| revision::of(view, new.set));
    let Some((revision, &set)) = revision::find_revision(&kept, current, wished) else {
        let change = DeploymentChange { rollback: Some(None), ..DeploymentChange::default() };
        return Rollback::NotFound { change, because: not_found(view, wished, &kept) };
    };
    if set.template.makes_the_same_as(&view.deployment.spec.template, hash_label) {
        let change = DeploymentChange { rollback: Some(None), ..DeploymentChange::default() };
        return Rollback::Unchanged { change, revision };
    }
    let own = &view.deployment.annotations;
    // The time of the autoscaler's last scale-down is no part of a revision.
    let travels = |key: &str| view.names.travels(key) && key != view.names.replica_change_time;
    let back = set.annotations.iter().filter(|(key, value)| travels(key) && own.get(*key) != Some(*value));
    let annotations = back.map(|(key, value)| (key.clone(), Some(value.clone()))).collect();
    let change =
        DeploymentChange { rollback: Some(Some(set.into())), annotations, ..DeploymentChange::default() };
    Rollback::To { change, revision }
}

fn not_found(view: &DeploymentView, wished: i64, kept: &BTreeMap<i64, &OwnedSetFact>) -> String {
    let which = if wished == 0 { "an earlier revision".to_owned() } else { format!("revision {wished}") };
    let limit = view.deployment.spec.revision_history_limit;
    let limit = limit.map_or(String::new(), |limit| format!(" (spec.revisionHistoryLimit is {limit})"));
    if kept.is_empty() {
        return format!(
            "{which} is not kept{limit}, and neither is any other: write the template that is wanted"
        );
    }
    let kept: Vec<String> = kept.keys().map(ToString::to_string).collect();
    format!(
        "{which} is not kept{limit}: kept are {}; set spec.rollbackTo.revision to one of these, or write the template",
        kept.join(", ")
    )
}

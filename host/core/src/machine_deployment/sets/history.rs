//! Keeps old sets without Machines for rollbacks, up to a limit.

use super::group::{SetGroup, size};
use super::revision;
use crate::machine_deployment::effect::DeploymentEffect;
use crate::machine_deployment::facts::DeploymentView;
use crate::machine_deployment::validity::ValidSpec;

/// Returns deletions of those beyond the limit, the lowest revisions first, once the rollout is over.
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
    old.sort_by_key(|old| (revision::of(view, old.set), old.set.created, old.set.name.clone()));
    let beyond = old.len().saturating_sub(size(limit));
    let idle = old.into_iter().take(beyond).filter(|old| old.is_settled() && old.is_empty());
    idle.map(|old| DeploymentEffect::DeleteSet(old.set.into())).collect()
}

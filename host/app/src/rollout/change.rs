//! The writes of `machinist rollout`: pause, resume, restart, and the return to an earlier template. Pure.
//!
//! To return, the command writes `spec.rollbackTo`, as machine-controller-manager knows it, and not the template: the
//! host restores the template with the annotations that the revision had, and writes an Event, also when it starts
//! later.

use anyhow::{Result, bail};
use jiff::Timestamp;
use machinist_api::names::annotations::RESTARTED_AT;
use machinist_api::{MachineDeployment, MachineSet};
use serde_json::{Value, json};

use crate::owner_tree::{Sets, is_same, name, template_of};

#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Pause,
    Resume,
    /// At this time, which makes another template.
    Restart(Timestamp),
}

impl Change {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Pause => "rollout pause",
            Self::Resume => "rollout resume",
            Self::Restart(_) => "rollout restart",
        }
    }

    /// The word for a successful change.
    pub(super) fn done(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Restart(_) => "restarted",
        }
    }
}

/// The write.
///
/// # Errors
/// When it is so already, or cannot be now; with what to do.
pub(super) fn patch(deployment: &MachineDeployment, change: Change, program: &str) -> Result<Value> {
    let name = name(&deployment.metadata);
    let is_paused = deployment.spec.paused == Some(true);
    let uid = &deployment.metadata.uid;
    if deployment.metadata.deletion_timestamp.is_some() {
        bail!("machinedeployment {name:?} is being deleted");
    }
    match change {
        Change::Pause if is_paused => bail!("machinedeployment {name:?} is already paused"),
        Change::Pause => Ok(json!({ "metadata": { "uid": uid }, "spec": { "paused": true } })),
        Change::Resume if !is_paused => bail!("machinedeployment {name:?} is not paused"),
        Change::Resume => Ok(json!({ "metadata": { "uid": uid }, "spec": { "paused": false } })),
        Change::Restart(_) if is_paused => {
            bail!(
                "can't restart paused machinedeployment {name:?} (run `{program} rollout resume {name}` first)"
            )
        }
        Change::Restart(now) => {
            let now = format!("{now:.0}");
            let template = deployment.spec.template.metadata.as_ref();
            if template.is_some_and(|template| template.annotations().get(RESTARTED_AT) == Some(&now)) {
                bail!(
                    "machinedeployment {name:?} was restarted within this second: wait before you do it again"
                );
            }
            let annotations = json!({ RESTARTED_AT: now });
            Ok(json!({
                "metadata": { "uid": uid },
                "spec": { "template": { "metadata": { "annotations": annotations } } },
            }))
        }
    }
}

/// The write that a return takes.
#[derive(Debug, PartialEq)]
pub(super) enum Undo {
    /// Nothing: the template is in place.
    Unchanged { revision: i64 },
    /// This is to be written.
    To { revision: i64, patch: Value },
}

/// Decides it. Revision 0 is the one before the current.
///
/// # Errors
/// When there is no earlier template, or the deployment cannot return at this moment; the error has the fix.
pub(super) fn undo(
    deployment: &MachineDeployment,
    sets: &[MachineSet],
    wished: i64,
    program: &str,
) -> Result<Undo> {
    let name = name(&deployment.metadata);
    if deployment.metadata.deletion_timestamp.is_some() {
        bail!("machinedeployment {name:?} is being deleted");
    }
    if deployment.spec.paused == Some(true) {
        bail!(
            "you cannot roll back a paused machinedeployment; resume it first with `{program} rollout resume {name}` and \
             try again"
        );
    }
    let sets = Sets::of(deployment, sets);
    let Some((revision, set)) = sets.of_revision(wished) else { bail!(not_found(name, &sets, wished)) };
    if is_same(&template_of(set), &deployment.spec.template) {
        return Ok(Undo::Unchanged { revision });
    }
    let patch = json!({
        "metadata": { "uid": deployment.metadata.uid },
        "spec": { "rollbackTo": { "revision": revision } },
    });
    Ok(Undo::To { revision, patch })
}

/// The error about a revision that is not kept.
pub(super) fn not_found(name: &str, sets: &Sets<'_>, wished: i64) -> String {
    let kept: Vec<String> = sets.kept().keys().map(ToString::to_string).collect();
    match (wished, kept.is_empty()) {
        (_, true) => format!(
            "no rollout history found for machinedeployment {name:?}: no set of it is kept; write the template that is wanted \
             into spec.template"
        ),
        (0, false) => format!(
            "machinedeployment {name:?} has no revision before its current one ({}): kept are {}; spec.revisionHistoryLimit \
             says how many are",
            sets.current_revision().unwrap_or_default(),
            kept.join(", ")
        ),
        (_, false) => format!(
            "unable to find revision {wished} in the history of machinedeployment {name:?}: kept are {}",
            kept.join(", ")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rollout::history::tests::{deployment, sets};

    fn with_spec(spec: &Value) -> MachineDeployment {
        let value = json!({ "metadata": { "name": "w", "uid": "u" }, "spec": spec });
        serde_json::from_value(value).unwrap()
    }

    fn change_of(spec: &Value, change: Change) -> Result<Value, String> {
        patch(&with_spec(spec), change, "machinist").map_err(|error| error.to_string())
    }

    fn restart() -> Change {
        Change::Restart("2026-01-01T00:00:00.7Z".parse().unwrap())
    }

    #[test]
    fn a_rollout_is_held_and_released_once() {
        let patch = |paused: bool| json!({ "metadata": { "uid": "u" }, "spec": { "paused": paused } });
        assert_eq!(change_of(&json!({}), Change::Pause), Ok(patch(true)));
        assert_eq!(change_of(&json!({ "paused": true }), Change::Resume), Ok(patch(false)));
        let already = change_of(&json!({ "paused": true }), Change::Pause);
        assert_eq!(already, Err("machinedeployment \"w\" is already paused".to_owned()));
        let not = change_of(&json!({ "paused": false }), Change::Resume);
        assert_eq!(not, Err("machinedeployment \"w\" is not paused".to_owned()));
    }

    #[test]
    fn a_restart_makes_another_template_of_whole_seconds() {
        let patch = change_of(&json!({}), restart()).unwrap();
        let restarted = json!({ "metadata": { "annotations": { "machinist.dev/restarted-at": "2026-01-01T00:00:00Z" } } });
        assert_eq!(patch, json!({ "metadata": { "uid": "u" }, "spec": { "template": restarted } }));
        let (before, after) = (with_spec(&json!({})), with_spec(&patch["spec"]));
        assert!(!is_same(&before.spec.template, &after.spec.template), "the core makes other Machines of it");
        let twice = change_of(&patch["spec"], restart()).unwrap_err();
        assert!(twice.contains("within this second"), "{twice}");
    }

    #[test]
    fn what_is_paused_or_going_is_not_restarted() {
        let paused = change_of(&json!({ "paused": true }), restart()).unwrap_err();
        assert_eq!(
            paused,
            "can't restart paused machinedeployment \"w\" (run `machinist rollout resume w` first)"
        );
        let mut going = with_spec(&json!({}));
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        for change in [Change::Pause, Change::Resume, restart()] {
            let said = patch(&going, change, "machinist").unwrap_err().to_string();
            assert_eq!(said, "machinedeployment \"w\" is being deleted");
        }
    }

    fn undone(deployment: &MachineDeployment, sets: &[MachineSet], wished: i64) -> Result<Undo, String> {
        undo(deployment, sets, wished, "machinist").map_err(|error| error.to_string())
    }

    fn to(revision: i64) -> Result<Undo, String> {
        let patch = json!({ "metadata": { "uid": "d" }, "spec": { "rollbackTo": { "revision": revision } } });
        Ok(Undo::To { revision, patch })
    }

    #[test]
    fn one_returns_to_the_revision_before_or_to_any_that_is_kept() {
        let (deployment, sets) = (deployment("huge"), sets(&[("small", 1), ("large", 3), ("huge", 4)]));
        assert_eq!(undone(&deployment, &sets, 0), to(3));
        assert_eq!(undone(&deployment, &sets, 1), to(1));
        assert_eq!(undone(&deployment, &sets, 4), Ok(Undo::Unchanged { revision: 4 }));
        let unknown =
            "unable to find revision 2 in the history of machinedeployment \"workers\": kept are 1, 3, 4";
        assert_eq!(undone(&deployment, &sets, 2), Err(unknown.to_owned()));
    }

    #[test]
    fn the_way_back_may_be_none() {
        let first = undone(&deployment("small"), &sets(&[("small", 1)]), 0).unwrap_err();
        assert!(first.contains("no revision before its current one (1): kept are 1"), "{first}");
        let none = undone(&deployment("small"), &[], 0).unwrap_err();
        assert!(
            none.starts_with("no rollout history found for machinedeployment \"workers\": no set"),
            "{none}"
        );
    }

    #[test]
    fn a_template_that_no_set_has_yet_is_left_for_the_last_one() {
        assert_eq!(undone(&deployment("fresh"), &sets(&[("small", 1), ("large", 2)]), 0), to(2));
    }

    #[test]
    fn sets_of_others_and_sets_that_go_are_no_history() {
        let mut sets = sets(&[("small", 1), ("large", 2), ("huge", 3)]);
        sets[0].metadata.owner_references = None;
        sets[1].metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        let said = undone(&deployment("huge"), &sets, 0).unwrap_err();
        assert!(said.contains("kept are 3"), "{said}");
    }

    #[test]
    fn what_is_paused_or_going_is_not_rolled_back() {
        let sets = sets(&[("small", 1), ("large", 2)]);
        let mut paused = deployment("large");
        paused.spec.paused = Some(true);
        let said = undone(&paused, &sets, 0).unwrap_err();
        assert_eq!(
            said,
            "you cannot roll back a paused machinedeployment; resume it first with `machinist rollout resume workers` and \
             try again"
        );
        let mut going = deployment("large");
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        assert_eq!(undone(&going, &sets, 0).unwrap_err(), "machinedeployment \"workers\" is being deleted");
    }
}

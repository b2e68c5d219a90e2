//! Pauses, resumes and restarts a rollout. Pure.

use anyhow::{Result, bail};
use jiff::Timestamp;
use machinist_api::MachineDeployment;
use machinist_api::names::annotations::RESTARTED_AT;
use serde_json::{Value, json};

use crate::owner_tree::name;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::owner_tree::is_same;

    fn deployment(spec: &Value) -> MachineDeployment {
        let value = json!({ "metadata": { "name": "w", "uid": "u" }, "spec": spec });
        serde_json::from_value(value).unwrap()
    }

    fn change_of(spec: &Value, change: Change) -> Result<Value, String> {
        patch(&deployment(spec), change, "machinist").map_err(|error| error.to_string())
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
        let (before, after) = (deployment(&json!({})), deployment(&patch["spec"]));
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
        let mut going = deployment(&json!({}));
        going.metadata.deletion_timestamp =
            Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
        for change in [Change::Pause, Change::Resume, restart()] {
            let said = patch(&going, change, "machinist").unwrap_err().to_string();
            assert_eq!(said, "machinedeployment \"w\" is being deleted");
        }
    }
}

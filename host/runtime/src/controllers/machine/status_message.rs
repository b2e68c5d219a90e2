//! What `lastOperation.description` says for each note of the core.

use machinist_api::compat::{Deleting, StatusMessage};
use machinist_core::machine::{DeletionNote, Note};

/// The sentence, in the words that other programs know.
pub(super) fn status_message(note: &Note, machine: &str) -> String {
    match note {
        Note::Creating => StatusMessage::Creating.to_string(),
        Note::Created => StatusMessage::Created.to_string(),
        Note::CloudWorking { message } => format!("{}: {message}", StatusMessage::Creating),
        Note::CreationFailed { error } => StatusMessage::CreationFailed { error }.to_string(),
        Note::InitializationFailed { error } => StatusMessage::InitializationFailed { error }.to_string(),
        Note::CreationWaits { message } => message.clone(),
        Note::Joined { took } => StatusMessage::Joined { machine, after: *took }.to_string(),
        Note::Rejoined => StatusMessage::Rejoined { machine }.to_string(),
        Note::Unhealthy { because } => StatusMessage::Unhealthy { machine, conditions: because }.to_string(),
        Note::HealthTimeoutReset => StatusMessage::HealthTimeoutReset.to_string(),
        Note::UpdatingInPlace => StatusMessage::UpdatingInPlace { machine }.to_string(),
        Note::UpdatedInPlace => StatusMessage::UpdatedInPlace { machine }.to_string(),
        Note::InPlaceUpdateFailed { because } => {
            StatusMessage::InPlaceUpdateFailed { machine, because }.to_string()
        }
        Note::InPlaceUpdateTimedOut { limit } => {
            StatusMessage::InPlaceUpdateTimedOut { machine, limit: *limit }.to_string()
        }
        Note::DrainFailed { error } => StatusMessage::DrainFailed { error }.to_string(),
        Note::Drained => StatusMessage::NodeDrained.to_string(),
        Note::NodeMissing => StatusMessage::NodeMissing { machine }.to_string(),
        Note::NodeNameTaken => StatusMessage::StaleNode.to_string(),
        Note::JoinTimedOut { limit } => StatusMessage::JoinTimedOut { machine, limit: *limit }.to_string(),
        Note::HealthTimedOut { limit, because } => {
            StatusMessage::HealthTimedOut { machine, limit: *limit, conditions: because }.to_string()
        }
        Note::Deleting(note) => StatusMessage::Deleting(deleting(note, machine)).to_string(),
    }
}

fn deleting<'a>(note: &'a DeletionNote, machine: &'a str) -> Deleting<'a> {
    match note {
        DeletionNote::Begun => Deleting::Begun,
        DeletionNote::FindVmFailed { error } => Deleting::FindVmFailed { error },
        DeletionNote::NodeKnown => Deleting::NodeKnown,
        DeletionNote::NodeConditionFailed { error } => Deleting::NodeConditionFailed { error },
        DeletionNote::DrainFailed { error } => Deleting::DrainFailed { error },
        DeletionNote::NoTargetCluster => Deleting::NoTargetCluster,
        DeletionNote::NoNodeToDrain => Deleting::NoNodeToDrain,
        DeletionNote::Drained => Deleting::Drained,
        DeletionNote::ForceDrained => Deleting::ForceDrained,
        DeletionNote::ForcedDrainFailed { error } => Deleting::ForcedDrainFailed { error },
        DeletionNote::VolumesDetached => Deleting::VolumesDetached,
        DeletionNote::VmWorking { message } => Deleting::VmWorking { message },
        DeletionNote::VmDeletionFailed { error } => Deleting::VmDeletionFailed { error },
        DeletionNote::VmDeletionRefused { error } => Deleting::VmDeletionRefused { error },
        DeletionNote::NodeDeletionFailed { node, error } => Deleting::NodeDeletionFailed { node, error },
        DeletionNote::NodeDeleted { node } => Deleting::NodeDeleted { node },
        DeletionNote::NodeGone => Deleting::NodeGone { machine },
        DeletionNote::NoNodeLabel => Deleting::NoNodeLabel { machine },
    }
}

#[cfg(test)]
mod tests {
    use machinist_api::compat::{marker, stage_left_at};

    use super::*;

    /// All that a deletion may say. A name here that the enum does not have does not compile, and one that is missing shows in
    /// the match of `deleting`.
    fn all() -> Vec<DeletionNote> {
        let error = || "E".to_owned();
        let node = || "n".to_owned();
        vec![
            DeletionNote::Begun,
            DeletionNote::FindVmFailed { error: error() },
            DeletionNote::NodeKnown,
            DeletionNote::NodeConditionFailed { error: error() },
            DeletionNote::DrainFailed { error: error() },
            DeletionNote::NoTargetCluster,
            DeletionNote::NoNodeToDrain,
            DeletionNote::Drained,
            DeletionNote::ForceDrained,
            DeletionNote::ForcedDrainFailed { error: error() },
            DeletionNote::VolumesDetached,
            DeletionNote::VmWorking { message: "M".to_owned() },
            DeletionNote::VmDeletionFailed { error: error() },
            DeletionNote::VmDeletionRefused { error: error() },
            DeletionNote::NodeDeletionFailed { node: node(), error: error() },
            DeletionNote::NodeDeleted { node: node() },
            DeletionNote::NodeGone,
            DeletionNote::NoNodeLabel,
        ]
    }

    #[test]
    fn deletions_speak_in_the_words_that_others_look_for() {
        let texts: Vec<String> =
            all().into_iter().map(|note| status_message(&Note::Deleting(note), "m")).collect();
        let expected = [
            "Set machine status to termination. Now, getting VM Status",
            "Error while getting VM status: E. Set machine status to termination. Now, getting VM Status",
            "Initiate node drain",
            "Drain failed due to failure in update of node conditions - E. Will retry in next sync. Initiate node drain",
            "Drain failed due to - E. Will retry in next sync. Initiate node drain",
            "Running without target cluster, skipping node drain and volume attachment deletion. Initiate VM deletion",
            "Skipping drain as nodeName is not a valid one for machine. Initiate VM deletion",
            "Drain successful. Initiate VM deletion",
            "Force Drain successful. Initiate VM deletion",
            "Drain failed due to - E. However, since it's a force deletion shall continue deletion of VM. Initiate VM deletion",
            "Initiate VM deletion",
            "M. Initiate VM deletion",
            "VM deletion failed due to - E. However, will re-try in the next resync. Initiate VM deletion",
            "VM deletion failed due to - E. Aborting operation. Initiate VM deletion",
            "Deletion of Node Object n failed due to - E. Initiate node object deletion",
            "Deletion of Node Object n is successful. Initiate machine object finalizer removal",
            "No node object found for m. Initiate machine object finalizer removal",
            "Label \"node\" not present on machine m. Initiate machine object finalizer removal",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn each_sentence_names_the_stage_that_its_note_means() {
        for note in all() {
            let text = status_message(&Note::Deleting(note.clone()), "m");
            assert!(text.ends_with(marker(note.next())), "{text}");
            assert_eq!(stage_left_at(&text), note.next(), "{text}");
        }
    }
}

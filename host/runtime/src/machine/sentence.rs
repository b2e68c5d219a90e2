//! What `lastOperation.description` says for each note of the core.

use machinist_api::compat::{Deleting, Sentence};
use machinist_core::machine::{DeletionNote, Note};

/// The sentence, in the words that other programs know.
pub(super) fn sentence(note: &Note, machine: &str) -> String {
    match note {
        Note::Creating => Sentence::Creating.to_string(),
        Note::Created => Sentence::Created.to_string(),
        Note::CloudWorking { message } => format!("{}: {message}", Sentence::Creating),
        Note::CreationFailed { error } => Sentence::CreationFailed { error }.to_string(),
        Note::InitializationFailed { error } => Sentence::InitializationFailed { error }.to_string(),
        Note::CreationWaits { message } => message.clone(),
        Note::Joined { took } => Sentence::Joined { machine, after: *took }.to_string(),
        Note::Rejoined => Sentence::Rejoined { machine }.to_string(),
        Note::Unhealthy { because } => Sentence::Unhealthy { machine, conditions: because }.to_string(),
        Note::HealthTimeoutReset => Sentence::HealthTimeoutReset.to_string(),
        Note::UpdatingInPlace => Sentence::UpdatingInPlace { machine }.to_string(),
        Note::UpdatedInPlace => Sentence::UpdatedInPlace { machine }.to_string(),
        Note::InPlaceUpdateFailed { because } => {
            Sentence::InPlaceUpdateFailed { machine, because }.to_string()
        }
        Note::InPlaceUpdateTimedOut { limit } => {
            Sentence::InPlaceUpdateTimedOut { machine, limit: *limit }.to_string()
        }
        Note::DrainFailed { error } => Sentence::DrainFailed { error }.to_string(),
        Note::NodeMissing => Sentence::NodeMissing { machine }.to_string(),
        Note::JoinTimedOut { limit } => Sentence::JoinTimedOut { machine, limit: *limit }.to_string(),
        Note::HealthTimedOut { limit, because } => {
            Sentence::HealthTimedOut { machine, limit: *limit, conditions: because }.to_string()
        }
        Note::Deleting(note) => Sentence::Deleting(deleting(note, machine)).to_string(),
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
